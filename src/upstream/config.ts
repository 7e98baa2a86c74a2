/**
 * The configuration of tool servers: `[servers.NAME]` of `mcp-config.toml`, `[mcp.servers.NAME]` of `symbiont.toml`. Strict,
 * because a misspelt member must not look as if it were in force: what is unknown is refused with its line.
 */
import { parse, TomlError } from 'smol-toml'
import { Fault } from '../core/index.ts'
import { lineOf } from './config-line.ts'
import * as read from './config-values.ts'
import { Unfit } from './config-values.ts'
import type { HttpServer, StdioServer, UpstreamServer } from './server-entry.ts'

export const MCP_CONFIG_FILE = 'mcp-config.toml'
export const SETTINGS_FILE = 'symbiont.toml'
const SERVERS_MAX = 32
const START_TIMEOUT_SECONDS = 10
const CALL_TIMEOUT_SECONDS = 30

/** The servers in the text of a file. `place` is the file's name. Throws `CONFIG_INVALID`. */
export function readUpstreamConfig(text: string, place: string): readonly UpstreamServer[] {
  const prefix = place === SETTINGS_FILE ? ['mcp', 'servers'] : ['servers']
  const document = parsed(text, place)
  if (place !== SETTINGS_FILE) {
    const stranger = Object.keys(document).find((name) => name !== 'servers')
    if (stranger !== undefined) {
      throw unusable(place, lineOf(text, [stranger]), `"${stranger.slice(0, 80)}" is not a known table`)
    }
  }
  const servers = prefix.reduce<unknown>((table, name) => (isTable(table) ? table[name] : undefined), document)
  if (servers === undefined) return []
  if (!isTable(servers)) throw unusable(place, lineOf(text, prefix), `"${prefix.join('.')}" is not a table`)
  const names = Object.keys(servers)
  if (names.length > SERVERS_MAX) throw unusable(place, null, `${names.length} servers are more than ${SERVERS_MAX}`)
  return names.map((name) => serverIn({ text, place, path: [...prefix, name] }, name, servers[name]))
}

/** The servers of several files together. A name that stands in two places is refused: which one was meant? */
export function mergeServers(...lists: readonly (readonly UpstreamServer[])[]): readonly UpstreamServer[] {
  const servers = lists.flat()
  const twice = servers.find(({ name }, at) => servers.findIndex((other) => other.name === name) !== at)
  if (twice === undefined) return servers
  throw new Fault('CONFIG_INVALID', {
    message: `Cannot use the tool server "${twice.name}": both "${MCP_CONFIG_FILE}" and "${SETTINGS_FILE}" have a server of this name`,
    hint: 'Keep one of the two, or rename one',
  })
}

interface Where {
  readonly text: string
  readonly place: string
  readonly path: readonly string[]
}

const COMMON = [
  'transport',
  'expose',
  'risk',
  'approval',
  'error_answers',
  'start_timeout_seconds',
  'call_timeout_seconds',
]
const STDIO = ['command', 'args', 'env', 'env_from', 'cwd']
const HTTP = ['url', 'headers_env']

function serverIn(where: Where, name: string, table: unknown): UpstreamServer {
  if (!isTable(table)) throw refused(where, null, 'is not a table')
  const member = <T>(key: string, reader: (value: unknown) => T): T => {
    try {
      return reader(table[key])
    } catch (error) {
      if (!(error instanceof Unfit)) throw error
      throw refused(where, key, error.message)
    }
  }
  member('name', () => read.serverName(name))
  const transport = member('transport', read.oneOf('stdio', 'stdio', 'http'))
  const [own, other] = transport === 'stdio' ? [STDIO, HTTP] : [HTTP, STDIO]
  for (const key of Object.keys(table)) {
    if (other.includes(key)) throw refused(where, key, `is not for a server whose transport is "${transport}"`)
    if (!COMMON.includes(key) && !own.includes(key)) throw refused(where, key, 'is not a known member')
  }
  const entry = {
    name,
    expose: member('expose', read.expose),
    risk: member('risk', read.oneOf('medium', 'low', 'medium', 'high')),
    approval: member('approval', read.yes),
    errorAnswers: member('error_answers', read.oneOf('unknown', 'unknown', 'known')),
    startTimeoutMs: member('start_timeout_seconds', read.seconds(START_TIMEOUT_SECONDS, 120)) * 1000,
    callTimeoutMs: member('call_timeout_seconds', read.seconds(CALL_TIMEOUT_SECONDS, 3600)) * 1000,
  }
  if (transport === 'http') {
    return {
      ...entry,
      transport,
      url: member('url', read.url),
      headersEnv: member('headers_env', read.headersEnv),
    } satisfies HttpServer
  }
  const env = member('env', read.env)
  const envFrom = member('env_from', read.names)
  const both = envFrom.find((key) => Object.hasOwn(env, key))
  if (both !== undefined) throw refused(where, 'env_from', `names "${both}", which "env" sets`)
  return {
    ...entry,
    transport,
    command: member('command', read.word),
    args: member('args', read.texts),
    env,
    envFrom,
    cwd: member('cwd', read.folder),
  } satisfies StdioServer
}

function parsed(text: string, place: string): Record<string, unknown> {
  try {
    return parse(text, { unsafeKeyBehaviour: 'throw', maxDepth: 16 })
  } catch (cause) {
    if (!(cause instanceof TomlError)) throw unusable(place, null, 'it cannot be read', cause)
    const [reason = ''] = cause.message.replace(/^Invalid TOML document: /, '').split(/\.?\n/)
    throw unusable(place, cause.line, reason, cause)
  }
}

function isTable(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date)
}

function refused({ text, place, path }: Where, key: string | null, state: string): Fault {
  const name = [...path, ...(key === null || key === 'name' ? [] : [key])]
  return unusable(place, lineOf(text, name) ?? lineOf(text, path), `"${name.join('.').slice(0, 120)}" ${state}`)
}

function unusable(place: string, line: number | null, state: string, cause?: unknown): Fault {
  return new Fault('CONFIG_INVALID', {
    message: `Cannot use "${place}": ${line === null ? '' : `line ${line}: `}${state}`,
    hint: 'Correct the named place; docs/mcp-upstream.md lists every member',
    ...(line === null ? {} : { facts: { line } }),
    cause,
  })
}
