/**
 * Where the chat server is, and the credential for it. A token comes from a file or from the environment, never from the
 * command line, where every user of the machine could read it.
 */
import { Fault, isFault, isJsonObject, messageOf, readJson } from '../core/index.ts'
import { readPrivateFile } from '../store/index.ts'
import { kindInWords } from '../world/index.ts'
import type { Cli } from './cli.ts'
import { type ProjectPaths, projectPaths } from './project/project-paths.ts'
import { projectWords } from './terminal.ts'
import { typed } from './typed.ts'

const TOKEN_BYTES_MAX = 8192
const CHAT_PATH = '/ws/chat'

export interface Where {
  readonly project: string
  readonly url?: string
  readonly tokenFile?: string
}

/** Throws `UNAUTHORIZED` when there is no token, and `CONFIG_INVALID` when one cannot be used. */
export async function findToken(cli: Cli, where: Where): Promise<string> {
  if (where.tokenFile !== undefined) return usable(await readTokenFile(cli, where.tokenFile), 'the token file')
  const { SYMBI_TOKEN: named } = cli.env
  if (named !== undefined && named.trim() !== '') return usable(named, 'SYMBI_TOKEN')
  const paths = await projectPaths(cli.world, where.project)
  const rule = { what: 'chat token of the project', bytesMax: TOKEN_BYTES_MAX }
  const bytes = await readPrivateFile(cli.world, paths.chatTokenFile, rule)
  if (bytes !== null) return usable(Buffer.from(bytes).toString(), 'the chat token of the project')
  throw new Fault('UNAUTHORIZED', {
    message: 'Cannot connect to the server: there is no token for it',
    hint: 'Make a key with "symbi keys add", and give its token in a file with --token-file, or in SYMBI_TOKEN',
  })
}

/** Links are followed, because mounted secrets consist of them. */
async function readTokenFile({ world, console }: Cli, path: string): Promise<string> {
  const unusable = (state: string, cause?: unknown): Fault =>
    new Fault('CONFIG_INVALID', {
      message: `Cannot use the token file "${path}": ${state}`,
      hint: 'Give a file that holds the token and nothing else, with mode 0600',
      cause,
    })
  try {
    const real = await world.files.realpath(path)
    await using file = real === null ? null : await world.files.open(real, 'read')
    if (file === null) throw unusable('it does not exist')
    const { kind, mode } = await file.facts()
    if (kind !== 'file') throw unusable(`it is ${kindInWords(kind)}`)
    if ((mode & 0o077) !== 0) console.note(`warning: other users may read the token file "${path}" (chmod 600)`)
    return Buffer.from(await file.readAll(TOKEN_BYTES_MAX)).toString()
  } catch (error) {
    throw isFault(error, 'CONFIG_INVALID') ? error : unusable(messageOf(error), error)
  }
}

/** A token travels in a header, so it is visible ASCII. What it is stays unsaid. */
function usable(text: string, what: string): string {
  const token = text.trim()
  if (/^[\x21-\x7e]{1,8192}$/.test(token)) return token
  throw new Fault('CONFIG_INVALID', {
    message: `Cannot use ${what}: ${token === '' ? 'it is empty' : 'it is not one token of printable characters'}`,
    hint: 'Put there what "symbi keys add" printed, on one line',
  })
}

/** The address of the chat: the one that was given, or the one that the project's server wrote down. */
export async function findUrl(cli: Cli, where: Where): Promise<string> {
  if (where.url !== undefined) return chatUrl(where.url, '--url')
  const paths = await projectPaths(cli.world, where.project)
  const url = await announced(cli, paths)
  if (url !== null) return chatUrl(url, 'the address that the server wrote down')
  throw new Fault('CONNECTION_LOST', {
    message: 'Cannot find the server of this project: none has written down its address',
    hint: `Start it with ${typed('up', ...projectWords(where.project))}, or give an address with --url`,
  })
}

async function announced({ world }: Cli, paths: ProjectPaths): Promise<string | null> {
  const bytes = await readPrivateFile(world, paths.serverNote, { what: 'server note', bytesMax: 4096 })
  if (bytes === null) return null
  try {
    const note = readJson(bytes)
    return isJsonObject(note) && typeof note.url === 'string' ? note.url : null
  } catch {
    return null // half written or foreign: as good as none
  }
}

const SCHEMES: Readonly<Record<string, string>> = { 'http:': 'ws:', 'https:': 'wss:', 'ws:': 'ws:', 'wss:': 'wss:' }

function chatUrl(text: string, from: string): string {
  const unusable = (state: string): Fault =>
    new Fault('USAGE', {
      message: `Cannot use ${from}: ${state}`,
      hint: 'Give an address such as ws://127.0.0.1:8080/ws/chat, and the token in a file or in SYMBI_TOKEN',
    })
  const url = URL.canParse(text) ? new URL(text) : null
  const scheme = url === null ? undefined : SCHEMES[url.protocol]
  if (url === null || scheme === undefined) throw unusable('it is no WebSocket address')
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw unusable('it holds more than scheme, host, port and path') // a credential in it would be seen by other users
  }
  const host = url.host.replace(/^0\.0\.0\.0(?=:|$)/, '127.0.0.1').replace(/^\[::\]/, '[::1]')
  return `${scheme}//${host}${url.pathname === '/' ? CHAT_PATH : url.pathname}`
}

/** The address of the HTTP API of the same server. */
export async function findApiUrl(cli: Cli, where: Where): Promise<string> {
  const url = new URL(await findUrl(cli, where))
  const scheme = url.protocol === 'wss:' ? 'https:' : 'http:'
  return `${scheme}//${url.host}${url.pathname.replace(/(?:\/ws\/chat)?\/?$/, '')}`
}

/** True where the token would cross a network in the clear. */
export function isExposed(url: string): boolean {
  const { protocol, hostname } = new URL(url)
  return (protocol === 'ws:' || protocol === 'http:') && !/^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)
}
