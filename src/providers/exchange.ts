/**
 * One request, one streamed reply, over the World's network. Owns deadlines, the bound on a reply's size, and the abort
 * signal; leaves the meaning of events to the fold that it is given.
 *
 * Never retries and never follows a redirect. A reply counts only when its protocol's own end mark has arrived: whatever
 * else ends the stream (a dropped connection, a polite end too early, a deadline) is a Fault, and proposes nothing.
 */
import { Bug, Fault, isJsonObject, type Json, readJson } from '../core/index.ts'
import type { World } from '../world/index.ts'
import { EventStream } from './event-stream.ts'
import {
  connectionFault,
  providerFault,
  refused,
  retryAfterMs,
  statusOfError,
  type Target,
  unusable,
} from './faults.ts'
import type { InferenceResponse } from './port.ts'
import { placeOf } from './reply.ts'

export interface WireRequest {
  readonly url: string
  readonly headers: Headers
  readonly body: string
}

export interface StreamLimits {
  readonly firstByteTimeoutMs: number
  readonly idleTimeoutMs: number
  readonly replyBytesMax: number
}

/** Collects the data of events until the protocol's end mark. */
export interface ReplyFold {
  /** Throws a Fault on anything that the protocol does not allow. */
  take(data: string): void
  /** True once the end mark has arrived. */
  readonly complete: boolean
  /** The checked reply. Called once, when complete. */
  reply(): InferenceResponse
}

export interface Exchange {
  readonly target: Target
  readonly request: WireRequest
  readonly limits: StreamLimits
  readonly fold: ReplyFold
}

const ERROR_BYTES_MAX = 64 * 1024
/** How long a finished reply's connection may take to end, so that it can be used again. */
const LINGER_MS = 50

export async function exchange(what: Exchange, world: World, signal: AbortSignal): Promise<InferenceResponse> {
  signal.throwIfAborted()
  const { target, limits } = what
  const stop = new AbortController()
  const forward = (): void => stop.abort(signal.reason)
  signal.addEventListener('abort', forward, { once: true })
  const watch = watchdog(target, limits, stop, world)
  let begun = false
  try {
    const { url, headers, body } = what.request
    const init = { method: 'POST', headers, body, redirect: 'manual', signal: stop.signal } as const
    const response = await world.net.fetch(url, init)
    begun = response.ok
    await receive(response, what, watch.heard, world, stop.signal)
    signal.throwIfAborted()
    return what.fold.reply()
  } catch (error) {
    if (stop.signal.aborted) throw stop.signal.reason // the caller's reason, or a deadline of ours
    if (error instanceof Fault || error instanceof Bug) throw error
    throw connectionFault(target, error, begun)
  } finally {
    watch.cancel()
    signal.removeEventListener('abort', forward)
  }
}

/** Aborts with PROVIDER_TIMEOUT when the first byte, and after it the next one, does not come in time. */
function watchdog(target: Target, limits: StreamLimits, stop: AbortController, world: World) {
  const arm = (ms: number, state: string): (() => void) =>
    world.clock.timer(ms, () => {
      const hint = 'Check that the provider is responsive, or raise the timeout'
      stop.abort(providerFault('PROVIDER_TIMEOUT', target, `${state} within ${ms} ms`, hint))
    })
  let cancel = arm(limits.firstByteTimeoutMs, 'the first byte did not come')
  return {
    heard: (): void => {
      cancel()
      cancel = arm(limits.idleTimeoutMs, 'the stream did not go on')
    },
    cancel: (): void => cancel(),
  }
}

async function receive(
  response: Response,
  what: Exchange,
  heard: () => void,
  world: World,
  stopped: AbortSignal,
): Promise<void> {
  const { target, limits, fold } = what
  if (!response.ok) {
    const text = await errorText(response, stopped)
    throw refused(target, { status: response.status, text, retryAfterMs: retryAfterMs(response.headers, world) })
  }
  const type = response.headers.get('content-type') ?? ''
  if (/^application\/(?:[\w.-]+\+)?json\b/i.test(type)) throw notAStream(target, await errorText(response, stopped))
  if (response.body === null) throw unusable(target, 'the reply has no body')
  const reader = response.body.getReader()
  const events = new EventStream()
  let bytes = 0
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) throw unusable(target, 'the stream ended before the reply was complete')
      heard()
      bytes += value.byteLength
      if (bytes > limits.replyBytesMax) throw unusable(target, `it is longer than ${limits.replyBytesMax} bytes`)
      for (const data of pushed(events, value, target)) {
        fold.take(data)
        if (fold.complete) return await linger(reader, world)
      }
    }
  } finally {
    reader.cancel().catch(() => undefined) // after an error this closes the connection; after the end it does nothing
  }
}

function pushed(events: EventStream, bytes: Uint8Array, target: Target): string[] {
  try {
    return events.push(bytes)
  } catch {
    throw unusable(target, 'the stream is not valid UTF-8')
  }
}

/** The end mark has arrived and nothing after it counts. A connection that ends at once can carry the next request. */
async function linger(reader: ReadableStreamDefaultReader<Uint8Array>, world: World): Promise<void> {
  await new Promise<void>((resolve) => {
    const cancel = world.clock.timer(LINGER_MS, resolve)
    const end = (): void => {
      cancel()
      resolve()
    }
    reader.read().then(end, end)
  })
}

/** The start of an error's body, for the words in it. A body that breaks off is as good as none. */
async function errorText(response: Response, stopped: AbortSignal): Promise<string> {
  if (response.body === null) return ''
  const reader = response.body.getReader()
  const pieces: Uint8Array[] = []
  let bytes = 0
  try {
    while (bytes < ERROR_BYTES_MAX) {
      const { done, value } = await reader.read()
      if (done) break
      pieces.push(value)
      bytes += value.byteLength
    }
  } catch {
    stopped.throwIfAborted()
  } finally {
    reader.cancel().catch(() => undefined)
  }
  return Buffer.concat(pieces).subarray(0, ERROR_BYTES_MAX).toString('utf8')
}

/** Success, but no stream: some gateways send their errors this way, others do not stream at all. */
function notAStream(target: Target, text: string): Fault {
  let value: Json = null
  try {
    value = readJson(text)
  } catch {
    return unusable(target, 'it answered something else than an event stream')
  }
  if (isJsonObject(value) && value.error !== undefined && value.error !== null) return toldError(target, value.error)
  return unusable(
    target,
    'it answered one JSON value and no event stream',
    'Use an endpoint that can stream: replies are always read from the stream',
  )
}

/** An error object inside a reply. */
export function toldError(target: Target, error: Json): Fault {
  return refused(target, { status: statusOfError(error), text: JSON.stringify(error), retryAfterMs: null })
}

/** One event's data as a JSON object, strictly. */
export function eventObject(target: Target, data: string): { readonly [name: string]: Json } {
  let value: Json
  try {
    value = readJson(data)
  } catch (error) {
    throw unusable(target, `a chunk of the stream is not strict JSON${placeOf(error)}`)
  }
  if (!isJsonObject(value)) throw unusable(target, 'a chunk of the stream is not a JSON object')
  return value
}
