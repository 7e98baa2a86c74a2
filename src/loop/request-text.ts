/**
 * The canonical text of a request to the model, which its reservation is bound to. A conversation grows by a few messages an
 * iteration, and the list of tools not at all: what was written before is not written again.
 */
import { canonical, canonicalOnce } from '../core/index.ts'
import type { Conversation, InferenceOptions } from '../providers/index.ts'

/** The text that `canonical({conversation, options})` gives; quickly where messages and tools are frozen through. */
export function requestText(conversation: Conversation, options: InferenceOptions): string {
  const { messages, ...beside } = conversation
  const { tool_definitions, ...rest } = options
  if (Object.keys(beside).length > 0) return canonical({ conversation, options })
  const optionsText =
    tool_definitions === undefined
      ? canonical(rest)
      : `${canonical(rest).slice(0, -1)},"tool_definitions":${canonicalOnce(tool_definitions)}}`
  return `{"conversation":{"messages":[${messages.map(canonicalOnce).join(',')}]},"options":${optionsText}}`
}
