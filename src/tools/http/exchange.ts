/** One request and its answer, with the record of both: the intent before anything is sent, the receipt when it is known. */
import { Bug, digest, Fault, hexHash, isFault, newId, VERSION } from '../../core/index.ts'
import type { HttpReply, HttpRequest, World } from '../../world/index.ts'
import type { ToolCall } from '../tool.ts'
import { bodyIn, type ReadBody, readBody } from './body.ts'
import { shownHeaders } from './headers.ts'
import { masked } from './masked.ts'

const TIME_MS_MAX = 60_000

/** `own` are the headers of the origin: sent, and not told. Throws when no complete answer came. */
export async function exchange(
  asked: HttpRequest,
  own: Readonly<Record<string, string>>,
  world: Pick<World, 'clock' | 'net' | 'random'>,
  { signal, effects, deadlineMs }: ToolCall,
): Promise<object> {
  const request_id: string = newId('invocation', world.random)
  const { method, url, headers, body } = asked
  await effects.record({
    NetworkRequestStarted: {
      request_id,
      method,
      url,
      request_hash: digest({
        method,
        url,
        headers,
        sent_by_origin: Object.keys(own).sort(),
        body: hexHash(body ?? ''),
      }),
      request_bytes: body?.length ?? 0,
    },
  })
  const outcome = await answerTo(asked, own, world, signal, deadlineMs)
  const { status } = outcome
  if (outcome.kind === 'Answered') {
    const { headers: told, read } = outcome
    const hashes = { response_hash: digestOf(read), response_headers_hash: digest(told) }
    const response_bytes = read.bytes.length
    await effects.record({ NetworkRequestFinished: { request_id, status, ...hashes, response_bytes, error: null } })
    return answer(asked, outcome, Object.values(own))
  }
  const nothing = { response_hash: null, response_headers_hash: null, response_bytes: 0 }
  const receipt = { NetworkRequestFinished: { request_id, status, ...nothing, error: outcome.reason } }
  await effects.record(receipt).catch(() => undefined) // after a cancel nobody takes it; unknown it is either way
  if (outcome.error instanceof Bug) throw outcome.error
  signal.throwIfAborted()
  throw new Fault('CONNECTION_LOST', {
    message: `No complete answer came from "${new URL(url).origin}" (${outcome.reason}): what it did is not known`,
    cause: outcome.error,
  })
}

type Outcome =
  | {
      readonly kind: 'Answered'
      readonly status: number
      readonly headers: HttpReply['headers']
      readonly read: ReadBody
    }
  /** `status` is there when the answer began. */
  | { readonly kind: 'Lost'; readonly status: number | null; readonly reason: string; readonly error: unknown }

async function answerTo(
  asked: HttpRequest,
  own: Readonly<Record<string, string>>,
  world: Pick<World, 'clock' | 'net'>,
  signal: AbortSignal,
  deadlineMs: number,
): Promise<Outcome> {
  using time = limitedBy(world, Math.min(TIME_MS_MAX, deadlineMs - world.clock.monotonicMs()), signal)
  const headers = { 'user-agent': `symbi-runtime/${VERSION}`, 'accept-encoding': 'identity', ...asked.headers, ...own }
  let status: number | null = null
  try {
    await using reply = await world.net.request({ ...asked, headers }, time.signal)
    status = reply.status
    return { kind: 'Answered', status, headers: reply.headers, read: await readBody(reply.body) }
  } catch (error) {
    return { kind: 'Lost', status, reason: reasonOf(error, signal), error }
  }
}

function answer(
  { method, url }: HttpRequest,
  { status, headers: told, read }: Extract<Outcome, { kind: 'Answered' }>,
  secrets: readonly string[],
): object {
  const headers = shownHeaders(told)
  const { text, charset } = bodyIn(read, headers['content-type'])
  return {
    method,
    url,
    status,
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, masked(value, secrets)])),
    bytes: read.bytes.length,
    cut: read.cut,
    ...(text === null ? { text: null, body_hash: digestOf(read) } : { text: masked(text, secrets, read.cut) }),
    ...(charset === null ? {} : { charset }),
  }
}

function digestOf({ bytes }: ReadBody): string {
  return `sha256:${hexHash(bytes)}`
}

/** One word for the journal: no address, and no text of a stranger. */
function reasonOf(error: unknown, signal: AbortSignal): string {
  if (signal.aborted) return 'cancelled'
  if (isFault(error, 'RUN_TIMEOUT')) return 'timeout'
  return isFault(error, 'CONNECTION_LOST') ? String(error.facts.errno ?? 'lost') : 'failed'
}

function limitedBy(
  { clock }: Pick<World, 'clock'>,
  leftMs: number,
  signal: AbortSignal,
): { readonly signal: AbortSignal } & Disposable {
  const stop = new AbortController()
  const forget = clock.timer(leftMs, () => {
    stop.abort(
      new Fault('RUN_TIMEOUT', { message: 'Cannot wait for the answer any longer: the time of the request is over' }),
    )
  })
  return { signal: AbortSignal.any([signal, stop.signal]), [Symbol.dispose]: forget }
}
