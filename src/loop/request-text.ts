/**
 * The canonical text of a request to the model, which its reservation is bound to. A conversation grows by a few messages an
 * iteration, and the list of tools not at all: what was written before is not written again.
 */
import { canonical } from '../core/index.ts'
import type { Conversation, InferenceOptions } from '../providers/index.ts'

/** Of values that are frozen through, and so can never have another text. */
const written = new WeakMap<object, string>()

/** The text that `canonical({conversation, options})` gives. The conversation and the list of tools must be frozen through. */
export function requestText(conversation: Conversation, options: InferenceOptions): string {
  const { messages, ...beside } = conversation
  const { tool_definitions, ...rest } = options
  if (Object.keys(beside).length > 0) return canonical({ conversation, options })
  const optionsText =
    tool_definitions === undefined
      ? canonical(rest)
      : `${canonical(rest).slice(0, -1)},"tool_definitions":${textOf(tool_definitions)}}`
  return `{"conversation":{"messages":[${messages.map(textOf).join(',')}]},"options":${optionsText}}`
}

function textOf(frozen: object): string {
  const known = written.get(frozen)
  if (known !== undefined) return known
  const text = canonical(frozen)
  if (Object.isFrozen(frozen)) written.set(frozen, text)
  return text
}
