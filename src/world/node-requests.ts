/**
 * One HTTP request to addresses that somebody has checked. `node:http` speaks the protocol; the name of the server is looked
 * up in the answer that was checked and not in the system, so it cannot lead elsewhere the second time.
 */
import { lookup as lookUp } from 'node:dns/promises'
import type { ClientRequest, IncomingMessage } from 'node:http'
import { isIP, type LookupFunction } from 'node:net'
import { Fault } from '../core/index.ts'
import type { HttpReply, HttpRequest } from './world.ts'

const HEADER_BYTES_MAX = 16 * 1024

export async function resolve(name: string, signal: AbortSignal): Promise<readonly string[]> {
  const found = lookUp(name, { all: true, verbatim: true }).catch((error: unknown) => {
    if (errnoOf(error) === 'ENOTFOUND') return []
    throw lost('Cannot find the server', error)
  })
  found.catch(() => undefined) // when the signal was faster, nobody waits for it
  return (await orAborted(found, signal)).map(({ address }) => address)
}

export async function request(asked: HttpRequest, signal: AbortSignal): Promise<HttpReply> {
  const url = new URL(asked.url)
  const { request: send } = await (url.protocol === 'https:' ? import('node:https') : import('node:http'))
  signal.throwIfAborted()
  const sent = send(url, {
    method: asked.method,
    headers: asked.headers,
    agent: false, // nothing is kept open, and no connection of another call is used
    lookup: lookupIn(asked.addresses),
    maxHeaderSize: HEADER_BYTES_MAX,
    insecureHTTPParser: false,
    rejectUnauthorized: true, // whatever the environment says
    signal,
  })
  sent.on('error', () => undefined) // also what goes wrong after the answer has ended
  try {
    const answer = await answerTo(sent, asked.body)
    return replyOf(sent, answer, signal)
  } catch (error) {
    sent.destroy()
    signal.throwIfAborted()
    throw lost('Cannot get an answer', error)
  }
}

function answerTo(sent: ClientRequest, body: Uint8Array | null): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    sent.once('error', reject)
    sent.once('response', resolve)
    // Without a listener Node ends the connection; with one the reason is ours to tell.
    sent.once('upgrade', () => reject(Object.assign(new Error('another protocol'), { code: 'EPROTO' })))
    if (body === null) sent.end()
    else sent.end(body)
  })
}

function replyOf(sent: ClientRequest, answer: IncomingMessage, signal: AbortSignal): HttpReply {
  answer.on('error', () => undefined) // told to whoever reads the body
  return {
    status: answer.statusCode ?? 0,
    headers: pairsOf(answer.rawHeaders),
    body: piecesOf(answer, signal),
    [Symbol.asyncDispose]: async () => {
      answer.destroy()
      sent.destroy()
    },
  }
}

async function* piecesOf(answer: IncomingMessage, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  try {
    for await (const piece of answer) yield piece as Buffer
  } catch (error) {
    signal.throwIfAborted()
    throw lost('Cannot read the answer to its end', error)
  }
}

function pairsOf(raw: readonly string[]): readonly (readonly [string, string])[] {
  const pairs: [string, string][] = []
  for (let at = 0; at + 1 < raw.length; at += 2) pairs.push([(raw[at] ?? '').toLowerCase(), raw[at + 1] ?? ''])
  return pairs
}

function lookupIn(addresses: readonly string[]): LookupFunction {
  const all = addresses.map((address) => ({ address, family: isIP(address) }))
  return (_name, options, callback) => {
    const [first] = all
    if (options.all === true) callback(null, all)
    else if (first !== undefined) callback(null, first.address, first.family)
    else callback(Object.assign(new Error('no address'), { code: 'ENOTFOUND' }), '', 0)
  }
}

function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(signal.reason)
    if (signal.aborted) return stop()
    signal.addEventListener('abort', stop, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop))
  })
}

function errnoOf(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code
  return typeof code === 'string' ? code : 'UNKNOWN'
}

/** The system's own message names addresses; the code is enough. */
function lost(what: string, cause: unknown): Fault {
  const errno = errnoOf(cause)
  return new Fault('CONNECTION_LOST', { message: `${what}: the network answered ${errno}`, facts: { errno }, cause })
}
