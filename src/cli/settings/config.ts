/**
 * Configuration is read once: flags, environment, `.env` and `symbiont.toml` become one frozen object, or a Fault that names
 * the place of the value that cannot be used. Nothing below the command line reads any of them again.
 */
import { Option } from 'commander'
import { Fault } from '../../core/index.ts'
import type { World } from '../../world/index.ts'
import { readEnvFile, readProjectFile, SETTINGS_FILE } from '../project/project-files.ts'
import { PROVIDER_VARIABLES, SETTINGS, type Setting, type SettingName, type Settings } from './settings.ts'
import { HEADER_VARIABLE } from './tool-settings.ts'
import { Unfit } from './values.ts'

export interface Config extends Settings {
  /** What `providerFromSettings` looks at. */
  readonly providerVariables: Readonly<Record<string, string | undefined>>
  /** What the origins of `http_request` may take headers from. */
  readonly headerVariables: Readonly<Record<string, string | undefined>>
}

export interface Sources {
  /** Canonical path of the project. */
  readonly root: string
  /** What commander made of argv. */
  readonly flags: object
  readonly env: Readonly<Record<string, string | undefined>>
}

/** The configuration, and what a person should be told about where it came from. */
export async function readConfig(
  world: World,
  sources: Sources,
): Promise<{ readonly config: Config; readonly notes: readonly string[] }> {
  const file = await readProjectFile(world, sources.root, MEMBERS)
  const own = await readEnvFile(world, sources.root)
  const env = { ...own.variables, ...definedOf(sources.env) } // what exists in the environment wins, even empty
  const taken = Object.keys(own.variables).filter((name) => sources.env[name] === undefined)
  const values = Object.entries(ROWS).map(([name, row]) => [
    name,
    givenFor(name as SettingName, row, sources.flags, env, file.members, sources.root),
  ])
  const config = Object.freeze({
    ...(Object.fromEntries(values) as Settings),
    providerVariables: Object.freeze(Object.fromEntries(PROVIDER_VARIABLES.map((name) => [name, env[name]]))),
    headerVariables: Object.freeze(
      Object.fromEntries(Object.entries(env).filter(([name]) => HEADER_VARIABLE.test(name))),
    ),
  })
  refuseContradictions(config)
  const notes = [
    ...sentence('Loaded from .env', taken),
    ...sentence('Not loaded from .env, which may hold keys and the log level only', own.refused),
    ...sentence(`Not read by this version in ${SETTINGS_FILE}`, file.unread),
  ]
  return { config, notes }
}

/** One setting by itself, for commands that need no other: a problem elsewhere is none of theirs. */
export async function readSetting<K extends SettingName>(
  world: World,
  name: K,
  { root, flags, env }: Sources,
): Promise<Settings[K]> {
  const { members } = await readProjectFile(world, root, MEMBERS)
  return givenFor(name, ROWS[name], flags, env, members, root) as Settings[K]
}

/** The options of the command line for these settings. */
export function optionsFor(...names: readonly SettingName[]): readonly Option[] {
  return names.flatMap((name) => {
    const { flag, says, usualText } = ROWS[name]
    return flag === undefined ? [] : [new Option(flag, `${says} (default: ${usualText})`)]
  })
}

const ROWS: { readonly [K in SettingName]: Setting<unknown> } = SETTINGS
const MEMBERS = new Set(Object.values(ROWS).flatMap(({ member }) => (member === undefined ? [] : [member])))
export const SETTING_NAMES = Object.keys(SETTINGS) as readonly SettingName[]

function givenFor(
  name: SettingName,
  row: Setting<unknown>,
  flags: object,
  env: Readonly<Record<string, string | undefined>>,
  members: ReadonlyMap<string, unknown>,
  root: string,
): unknown {
  if (row.flag !== undefined) {
    const option = new Option(row.flag)
    const given = (flags as Record<string, unknown>)[option.attributeName()]
    if (given !== undefined) return read(row, given, null, 'USAGE', `the option "${option.long ?? name}": it`)
  }
  if (row.env !== undefined) {
    const given = env[row.env]
    if (given !== undefined && given.trim() !== '') {
      return read(row, given, null, 'CONFIG_INVALID', `the environment variable "${row.env}": it`)
    }
  }
  if (row.member !== undefined && members.has(row.member)) {
    return read(row, members.get(row.member), root, 'CONFIG_INVALID', `"${SETTINGS_FILE}": "${row.member}"`)
  }
  return row.usual
}

function read(
  row: Setting<unknown>,
  given: unknown,
  base: string | null,
  code: 'USAGE' | 'CONFIG_INVALID',
  place: string,
): unknown {
  try {
    return row.read(given, base)
  } catch (error) {
    if (!(error instanceof Unfit)) throw error
    throw new Fault(code, { message: `Cannot use ${place} ${error.message}`, hint: `What it is: ${row.says}` })
  }
}

function refuseContradictions({ environment, insecureAllowAll }: Settings): void {
  if (environment !== 'production' || !insecureAllowAll) return
  throw new Fault('CONFIG_INVALID', {
    message: 'Cannot switch policy off: SYMBIONT_ENV says that this is production',
    hint: 'Write the policy that permits what is needed, or unset SYMBIONT_ENV on a machine of your own',
  })
}

function definedOf(env: Sources['env']): Record<string, string> {
  return Object.fromEntries(Object.entries(env).filter((pair): pair is [string, string] => pair[1] !== undefined))
}

function sentence(what: string, names: readonly string[]): readonly string[] {
  return names.length === 0 ? [] : [`${what}: ${names.map((name) => name.slice(0, 80)).join(', ')}`]
}
