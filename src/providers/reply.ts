/**
 * What makes a reply a proposal. Every maker of the port passes what the model wrote through `checkedReply`, so the same
 * words mean the same thing from every provider: a call has an id of its own, a name, and arguments that are a strict JSON
 * object, or the whole reply proposes nothing. Nothing is invented, rounded, renamed or repaired.
 */
import { Fault, isJsonObject, readJson } from '../core/index.ts'
import { type FinishReason, NO_USAGE, type Usage } from '../events/index.ts'
import { type Target, unusable } from './faults.ts'
import type { InferenceResponse } from './port.ts'

/** How the model ended, once both protocols are spelled alike. A length that cut the reply is a Fault before this. */
export type Finish = Exclude<FinishReason, 'max_tokens'>

export interface CallText {
  readonly id: string | null
  readonly name: string | null
  readonly arguments: string
}

export interface ReplyParts {
  readonly text: string
  readonly calls: readonly CallText[]
  readonly finish: Finish
  readonly usage: Usage
  readonly model: string
}

export function checkedReply(target: Target, parts: ReplyParts): InferenceResponse {
  const { finish, usage, model } = parts
  // What a filter cut is a fragment, and a refusal is no proposal: neither may carry calls, however whole they look.
  if (finish === 'content_filter') return { content: '', tool_calls: [], finish_reason: finish, usage, model }
  if (finish === 'refusal') return { content: parts.text, tool_calls: [], finish_reason: finish, usage, model }
  if (finish === 'tool_calls' && parts.calls.length === 0) {
    throw unusable(target, 'it ended for tool calls and holds none')
  }
  const ids = new Set<string>()
  const tool_calls = parts.calls.map((call, index) => {
    const which = `tool call ${index + 1} of ${parts.calls.length}`
    if (call.id === null || call.id.trim() === '') throw unusable(target, `${which} has no id`)
    if (ids.has(call.id)) throw unusable(target, `${which} has the id of another call`)
    ids.add(call.id)
    if (call.name === null || call.name.trim() === '') throw unusable(target, `${which} has no name`)
    return { id: call.id, name: call.name, arguments: argumentText(target, which, call.arguments) }
  })
  // A server may say "stop" after calls (a forced tool does): what counts is that the reply is complete.
  return {
    content: parts.text,
    tool_calls,
    finish_reason: tool_calls.length > 0 ? 'tool_calls' : 'stop',
    usage,
    model,
  }
}

/** The model's own text, unchanged. Blank text is how models spell "no arguments", and reads as such everywhere here. */
function argumentText(target: Target, which: string, text: string): string {
  if (text.trim() === '') return '{}'
  let value: unknown
  try {
    value = readJson(text, { depthMax: 64, bytesMax: 1024 * 1024 })
  } catch (error) {
    throw unusable(target, `the arguments of ${which} are not strict JSON${placeOf(error)}`)
  }
  if (!isJsonObject(value)) throw unusable(target, `the arguments of ${which} are not a JSON object`)
  return text
}

/** Where strict reading stopped, without repeating what stands there. */
export function placeOf(error: unknown): string {
  if (!(error instanceof Fault)) return ''
  const { line, column } = error.facts
  return line === undefined || column === undefined ? '' : ` (line ${line}, column ${column})`
}

const U32_MAX = 0xffffffff

/** A count of tokens, or null where there is none that can be believed. */
export function tokenCount(value: unknown): number | null {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0) return null
  return Math.min(value, U32_MAX)
}

/** Usage counts whole or not at all: one missing or fractional part and it is unknown, which charges the reservation. */
export function usageOf(prompt: number | null, completion: number | null, total: number | null): Usage {
  if (prompt === null || completion === null || total === null) return NO_USAGE
  return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: total }
}

export function sumOf(...counts: readonly (number | null)[]): number | null {
  let sum = 0
  for (const count of counts) {
    if (count === null) return null
    sum += count
  }
  return Math.min(sum, U32_MAX)
}

/** The model's name as the reply gives it, or the one that was asked for. */
export function modelName(value: unknown, asked: string): string {
  return typeof value === 'string' && value.trim() !== '' && value.length <= 256 ? value : asked
}
