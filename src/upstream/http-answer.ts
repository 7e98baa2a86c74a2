/**
 * An answer over HTTP, read before the SDK's transport reads it: strict JSON, one value or one stream of events, bounded, and
 * with the answer that was asked for in it. The transport then gets bytes of which nothing can surprise it.
 */
import { Fault, isJsonObject, type Json } from '../core/index.ts'
import { EventStream } from '../providers/index.ts'
import type { HttpReply } from '../world/index.ts'
import { readMessage } from './frames.ts'
import type { WireResponse } from './http-wire.ts'
import { FRAME_BYTES_MAX, UNASKED_BYTES_MAX, UNASKED_MESSAGES_MAX } from './limits.ts'

export interface Answering {
  /** The id of the request that waits for its answer, or null. */
  readonly asked: unknown
  /** Whether nobody waits for it any more. */
  isTakenBack(): boolean
  /** Told when the answer is there, before anybody else sees it. */
  ends(response: WireResponse): Promise<void>
}

export async function answerOf(reply: HttpReply, answering: Answering): Promise<Response> {
  const { status } = reply
  const kind = (headerOf(reply, 'content-type') ?? '').split(';')[0]?.trim().toLowerCase()
  const misfit =
    status >= 300 && status < 400
      ? `it answered with a redirect (${status})`
      : status < 200 || status >= 400
        ? `it answered with the status ${status}`
        : headerOf(reply, 'content-encoding') !== null
          ? 'its answer is encoded'
          : null
  if (misfit !== null) {
    await reply[Symbol.asyncDispose]()
    await answering.ends({ status, headers: reply.headers, body: null, error: misfit })
    throw failure(misfit)
  }
  const headers = keptHeaders(reply)
  if (answering.asked === null) {
    await reply[Symbol.asyncDispose]() // nothing that it says now belongs to a question
    return new Response(null, { status: status === 200 ? 202 : status, headers })
  }
  if (kind !== 'text/event-stream') {
    const body = await wholeBody(reply)
    await reply[Symbol.asyncDispose]()
    if (kind !== 'application/json') throw failure('it answered with something else than JSON or events')
    check(readMessage(body), answering.asked)
    await answering.ends({ status, headers: reply.headers, body, error: null })
    return new Response(Buffer.from(body), { status, headers })
  }
  return new Response(events(reply, answering), { status, headers })
}

/** What the SDK's transport looks at; the rest is nobody's business. */
function keptHeaders(reply: HttpReply): Headers {
  const headers = new Headers()
  for (const name of ['content-type', 'mcp-session-id']) {
    const value = headerOf(reply, name)
    if (value !== null) headers.set(name, value)
  }
  return headers
}

/**
 * The events of a stream, one after the other, each read before it is handed on. After the answer nothing more is waited for: a
 * stream that its server never ends would hold a connection for each call. What came along with the answer still counts.
 */
function events(reply: HttpReply, answering: Answering): ReadableStream<Uint8Array> {
  const stream = new EventStream()
  const seen: Uint8Array[] = []
  let bytes = 0
  let messages = 0
  let answered = false
  let waiting: string[] = []
  const pieces = reply.body[Symbol.asyncIterator]()
  const next = async (): Promise<string | null> => {
    for (;;) {
      const data = waiting.shift()
      if (data !== undefined) return data
      if (answered) return null
      const piece = await pieces.next()
      if (piece.done === true) return null
      bytes += piece.value.length
      if (bytes > UNASKED_BYTES_MAX) throw failure('it does not stop sending')
      seen.push(piece.value)
      waiting = pushed(stream, piece.value).filter((event) => event !== '') // an event without data is a sign of life
    }
  }
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const data = await next()
        if (data === null) {
          if (!answered) throw failure('its stream ended without an answer')
          await reply[Symbol.asyncDispose]()
          controller.close()
          return
        }
        messages += 1
        if (messages > UNASKED_MESSAGES_MAX) throw failure('it does not stop sending')
        const message = readMessage(data)
        if (isAnswer(message) && !answered) {
          check(message, answering.asked)
          answered = true
          await answering.ends({ status: reply.status, headers: reply.headers, body: Buffer.concat(seen), error: null })
        }
        controller.enqueue(Buffer.from(`data: ${JSON.stringify(message)}\n\n`))
      } catch (error) {
        await reply[Symbol.asyncDispose]()
        if (!answered) {
          const words = error instanceof Fault ? error.message : 'the stream failed'
          await answering
            .ends({ status: reply.status, headers: reply.headers, body: null, error: words.slice(0, 500) })
            .catch(() => undefined)
        }
        if (answering.isTakenBack()) controller.close()
        else controller.error(error)
      }
    },
    cancel: () => reply[Symbol.asyncDispose](),
  })
}

function pushed(stream: EventStream, bytes: Uint8Array): string[] {
  try {
    return stream.push(bytes)
  } catch {
    throw failure('its stream is not valid UTF-8')
  }
}

function isAnswer(message: Json): boolean {
  return isJsonObject(message) && message.method === undefined
}

/** Over HTTP the answer comes on the request that it belongs to: any other id there is a mix-up. */
function check(message: Json, asked: unknown): void {
  if (!isJsonObject(message)) throw failure('its answer is not one message')
  if (message.id !== asked) throw failure('it answered another question than the one that was asked')
}

async function wholeBody(reply: HttpReply): Promise<Uint8Array> {
  const pieces: Uint8Array[] = []
  let bytes = 0
  for await (const piece of reply.body) {
    bytes += piece.length
    if (bytes > FRAME_BYTES_MAX) throw failure(`its answer is longer than ${FRAME_BYTES_MAX} bytes`)
    pieces.push(piece)
  }
  return Buffer.concat(pieces)
}

function headerOf({ headers }: HttpReply, name: string): string | null {
  return headers.find(([own]) => own === name)?.[1] ?? null
}

function failure(state: string): Fault {
  return new Fault('UPSTREAM_FAILED', { message: `Cannot read the answer: ${state}` })
}
