/**
 * What a provider gave back, read once and strictly. A provider may be foreign code: what is no reply proposes nothing, and
 * what could not be written into the journal ends the run before the journal is touched, so that its end can be recorded.
 */
import { recordableUsage } from '../budget/index.ts'
import { canonical, copyOf, fits, shapes } from '../core/index.ts'
import { finishReasonShape, NO_USAGE, type Usage } from '../events/index.ts'
import type { InferenceResponse } from '../providers/index.ts'

const { list, open, text } = shapes

const replyShape = open({
  content: text,
  tool_calls: list(open({ id: text, name: text, arguments: text })),
  finish_reason: finishReasonShape,
})
type Told = Pick<InferenceResponse, 'content' | 'tool_calls' | 'finish_reason'>

/** A decision repeats a call up to three times in one entry, and an entry holds 1 MiB. */
const REPLY_BYTES_MAX = 256 * 1024
const CALLS_MAX = 128
/** An id stands in several entries beside its call. */
const ID_UNITS_MAX = 256

export interface ReadReply extends Told {
  readonly usage: Usage
  /** Why nothing may come of it, or null. */
  readonly flaw: string | null
}

export function readReply(given: unknown): ReadReply {
  const copy = copyOrNull(given)
  const usage = recordableUsage((copy as { usage?: Usage } | null)?.usage ?? NO_USAGE)
  if (!fits<Told>(replyShape, copy)) return { ...NOTHING, usage, flaw: 'what the provider answered is not a reply' }
  const { content, finish_reason } = copy
  const tool_calls = copy.tool_calls.map(({ id, name, arguments: args }) => ({ id, name, arguments: args }))
  const flaw = flawOf({ content, tool_calls })
  return flaw === null ? { content, tool_calls, finish_reason, usage, flaw } : { ...NOTHING, usage, flaw }
}

const NOTHING: Told = { content: '', tool_calls: [], finish_reason: 'stop' }

/** A getter that answers differently the second time is asked once. What cannot be copied is no data. */
function copyOrNull(given: unknown): unknown {
  try {
    return copyOf(given)
  } catch {
    return null
  }
}

function flawOf(reply: Pick<Told, 'content' | 'tool_calls'>): string | null {
  const { content, tool_calls } = reply
  const texts = [content, ...tool_calls.flatMap((call) => [call.id, call.name, call.arguments])]
  if (!texts.every((one) => one.isWellFormed())) return 'the reply of the model is not well-formed Unicode'
  if (tool_calls.length > CALLS_MAX)
    return `the model proposed ${tool_calls.length} calls, and ${CALLS_MAX} are allowed`
  if (tool_calls.some(({ id }) => id.length > ID_UNITS_MAX))
    return `a call of the model has an id of more than ${ID_UNITS_MAX} characters`
  const bytes = Buffer.byteLength(canonical(reply))
  if (bytes <= REPLY_BYTES_MAX) return null
  return `the reply of the model is ${bytes} bytes long, and ${REPLY_BYTES_MAX} are allowed`
}
