/**
 * The two files of settings that a project may hold. `symbiont.toml` is shared and committed, so an unknown member is refused:
 * a misspelt setting must not look as if it were in force. Tables of other Symbiont runtimes that this one does not
 * read are let through and named. `.env` is private: owned, 0600, and only names from a short list are taken from it.
 */
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { Fault, isJsonObject, type Json } from '../../core/index.ts'
import { readPrivateFile } from '../../store/index.ts'
import type { World } from '../../world/index.ts'

export const SETTINGS_FILE = 'symbiont.toml'
export const ENV_FILE = '.env'
const BYTES_MAX = 256 * 1024

export interface ProjectFile {
  /** By `table.member`. */
  readonly members: ReadonlyMap<string, unknown>
  /** Members that stand there and are not read by this version. */
  readonly unread: readonly string[]
}

/** What other runtimes read: whole tables, and members of tables. */
const UNREAD = new Set(['schemapin', 'sandbox', 'storage', 'http', 'managed_cli', 'runtime.mode', 'runtime.hot_reload'])
/** Tables that another reader of the same file is strict about. */
const ELSEWHERE = new Set(['mcp.servers'])
/** What may stand there only with the one value that this runtime has. */
const FIXED: Readonly<Record<string, readonly string[]>> = {
  'policy.engine': ['cedar'],
  'policy.enforcement': ['strict'],
  'policy.policy_dir': ['policies', 'policies/', './policies', './policies/'],
}

/** Reads `symbiont.toml`, whose members may be these. A file that is not there says nothing. */
export async function readProjectFile(world: World, root: string, known: ReadonlySet<string>): Promise<ProjectFile> {
  const text = await readText(world, join(root, SETTINGS_FILE))
  const members = new Map<string, unknown>()
  const unread: string[] = []
  if (text === null) return { members, unread }
  for (const [table, content] of Object.entries(await parseToml(text))) {
    if (UNREAD.has(table)) {
      unread.push(`[${table}]`)
      continue
    }
    if (!isJsonObject(content as Json)) throw unusable(`"${table}" is no table that it may hold`)
    for (const [name, value] of Object.entries(content as object)) {
      const place = `${table}.${name}`
      if (known.has(place)) members.set(place, value)
      else if (UNREAD.has(place)) unread.push(place)
      else if (!ELSEWHERE.has(place)) requireFixed(place, value)
    }
  }
  return { members, unread }
}

function requireFixed(place: string, value: unknown): void {
  const allowed = Object.hasOwn(FIXED, place) ? FIXED[place] : undefined
  if (allowed === undefined) throw unusable(`"${place.slice(0, 80)}" is not a known member`)
  if (!allowed.includes(value as string)) throw unusable(`"${place}" must be "${allowed[0]}"`)
}

async function readText(world: World, path: string): Promise<string | null> {
  const real = await world.files.realpath(path)
  await using file = real === null ? null : await world.files.open(real, 'read')
  if (file === null) return null
  if ((await file.facts()).kind !== 'file') throw unusable('it is not a regular file')
  const size = file.sizeNow()
  if (size > BYTES_MAX) throw unusable(`it holds ${size} bytes and ${BYTES_MAX} are allowed`)
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(await file.readAll(BYTES_MAX))
  } catch (cause) {
    throw unusable('it is not UTF-8', cause)
  }
}

async function parseToml(text: string): Promise<Record<string, unknown>> {
  const { parse, TomlError } = await import('smol-toml')
  try {
    return parse(text, { unsafeKeyBehaviour: 'throw', maxDepth: 32 })
  } catch (cause) {
    if (!(cause instanceof TomlError)) throw unusable('it cannot be read', cause)
    const [reason = ''] = cause.message.replace(/^Invalid TOML document: /, '').split(/\.?\n/)
    throw unusable(`line ${cause.line}, column ${cause.column}: ${reason}`, cause)
  }
}

function unusable(state: string, cause?: unknown): Fault {
  return new Fault('CONFIG_INVALID', {
    message: `Cannot use "${SETTINGS_FILE}": ${state}`,
    hint: 'Correct the named place; docs/configuration.md lists every member',
    cause,
  })
}

export interface EnvFile {
  readonly variables: Readonly<Record<string, string>>
  /** Names that stand there and were not taken. */
  readonly refused: readonly string[]
}

/**
 * Keys, headers for tools, and the log level, and nothing else. An address is not among them: who can write one could send a key of the
 * environment elsewhere.
 */
const TAKEN = /^(?:[A-Z][A-Z0-9_]*_API_KEY|SYMBI_HTTP_[A-Z0-9_]+|SYMBIONT_MASTER_KEY|SYMBIONT_LOG_LEVEL)$/

/** Reads `.env`, or throws `STORAGE_UNSAFE` when others could read or write it. A file that is not there says nothing. */
export async function readEnvFile(world: World, root: string): Promise<EnvFile> {
  const rule = { what: `file "${ENV_FILE}" of the project`, bytesMax: BYTES_MAX }
  const bytes = await readPrivateFile(world, join(root, ENV_FILE), rule)
  const variables: Record<string, string> = {}
  const refused: string[] = []
  if (bytes === null) return { variables, refused }
  for (const [name, value] of Object.entries(parseEnv(Buffer.from(bytes).toString('utf8')))) {
    if (value !== undefined && TAKEN.test(name)) variables[name] = value
    else refused.push(name)
  }
  return { variables, refused }
}
