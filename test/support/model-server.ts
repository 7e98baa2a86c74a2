/**
 * The network side of a model provider, for tests: a real HTTP server on loopback that answers each request as a script
 * decides. Owns sockets and recording; the two protocols (`openai-server.ts`, `anthropic-server.ts`) own the format.
 */
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'

export interface ReceivedRequest {
  readonly method: string
  /** Path and query. */
  readonly path: string
  readonly headers: IncomingHttpHeaders
  /** The body as a value; the text where it is not JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of foreign protocols
  readonly body: any
  /** Settles when the exchange is over: true when the whole answer went out, false when the client left before. */
  readonly closed: Promise<boolean>
}

export interface FakeCall {
  readonly id: string
  readonly name: string
  /** Text goes out as it is; an object as compact JSON. */
  readonly arguments: string | object
}

export interface FakeUsage {
  readonly prompt: number
  readonly completion: number
}

/** A well-formed reply in the server's own protocol. */
export interface SpokenReply {
  readonly text?: string
  readonly calls?: readonly FakeCall[]
  /** The protocol's own word; by default the one that fits. */
  readonly finish?: string
  /** Null: the server reports none. Default 7 and 3. */
  readonly usage?: FakeUsage | null
  readonly model?: string
  /** Sends the bytes in pieces of this size, each in a packet of its own as far as the system allows. */
  readonly pieceBytes?: number
}

/** Bytes as they are. `end` is how the connection ends after them: politely, by a reset, or not at all. */
export interface RawReply {
  readonly raw: string | Uint8Array
  readonly end?: 'end' | 'destroy' | 'stay-open'
  readonly contentType?: string
}

export interface StatusReply {
  readonly status: number
  readonly body?: string | object
  readonly headers?: Readonly<Record<string, string>>
}

/** Takes the request and never answers. */
export interface SilentReply {
  readonly silent: true
}

export type FakeReply = SpokenReply | RawReply | StatusReply | SilentReply
/** Decides one reply. `index` counts requests from 0. */
export type ModelScript = (request: ReceivedRequest, index: number) => FakeReply | Promise<FakeReply>

export interface ModelServer extends AsyncDisposable {
  /** What goes into a provider's `baseUrl`. */
  readonly baseUrl: string
  readonly requests: readonly ReceivedRequest[]
  /** Resolves when so many requests have arrived. */
  asked(count: number): Promise<void>
  close(): Promise<void>
}

/** `script` may also be one reply for every request. */
export async function startModelServer(
  script: ModelScript | FakeReply,
  basePath: string,
  speak: (reply: SpokenReply) => string,
): Promise<ModelServer> {
  const decide: ModelScript = typeof script === 'function' ? script : () => script
  const requests: ReceivedRequest[] = []
  const sockets = new Set<Socket>()
  const waiting: (() => void)[] = []
  const server = createServer((incoming, response) => {
    answer(incoming, response).catch(() => response.destroy())
  })
  async function answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const closed = new Promise<boolean>((resolve) => {
      response.once('close', () => resolve(response.writableFinished))
    })
    const request = { ...(await received(incoming)), closed }
    requests.push(request)
    for (const told of waiting.splice(0)) told()
    await send(await decide(request, requests.length - 1), response, speak)
  }
  server.on('connection', (socket) => {
    socket.setNoDelay(true)
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const close = async (): Promise<void> => {
    for (const socket of sockets) socket.destroy()
    await new Promise<void>((resolve) => server.close(() => resolve()))
  }
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}${basePath}`,
    requests,
    asked: async (count) => {
      while (requests.length < count) await new Promise<void>((resolve) => waiting.push(resolve))
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}

async function received(incoming: IncomingMessage): Promise<Omit<ReceivedRequest, 'closed'>> {
  const pieces: Buffer[] = []
  for await (const piece of incoming) pieces.push(piece as Buffer)
  const text = Buffer.concat(pieces).toString('utf8')
  let body: unknown = text
  try {
    body = JSON.parse(text)
  } catch {
    // kept as text
  }
  return { method: incoming.method ?? '', path: incoming.url ?? '', headers: incoming.headers, body }
}

async function send(reply: FakeReply, response: ServerResponse, speak: (reply: SpokenReply) => string): Promise<void> {
  if ('silent' in reply) return
  if ('status' in reply) {
    const isText = typeof reply.body === 'string'
    response.writeHead(reply.status, { 'content-type': isText ? 'text/plain' : 'application/json', ...reply.headers })
    response.end(isText ? reply.body : JSON.stringify(reply.body ?? {}))
    return
  }
  const raw: RawReply = 'raw' in reply ? reply : { raw: speak(reply) }
  response.writeHead(200, { 'content-type': raw.contentType ?? 'text/event-stream' })
  response.flushHeaders()
  const bytes = Buffer.from(raw.raw as Uint8Array)
  const size = 'pieceBytes' in reply && reply.pieceBytes !== undefined ? reply.pieceBytes : Math.max(1, bytes.length)
  for (let at = 0; at < bytes.length; at += size) {
    await new Promise<void>((resolve) => response.write(bytes.subarray(at, at + size), () => resolve()))
  }
  if (raw.end === 'destroy') response.destroy()
  else if (raw.end !== 'stay-open') response.end()
}

export function argumentsText(call: FakeCall): string {
  return typeof call.arguments === 'string' ? call.arguments : JSON.stringify(call.arguments)
}

/** Cuts text into three pieces, as models stream it; never inside a surrogate pair. */
export function inPieces(text: string): string[] {
  const points = [...text]
  const size = Math.max(1, Math.ceil(points.length / 3))
  const pieces: string[] = []
  for (let at = 0; at < points.length; at += size) pieces.push(points.slice(at, at + size).join(''))
  return pieces
}
