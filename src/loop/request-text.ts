/**
 * The requests that one run sends to its model: each a frozen conversation, and the canonical text that its reservation is
 * bound to. A conversation grows by a few messages an iteration, and the list of tools not at all: what was frozen and written
 * before is neither looked through nor written again.
 */
import { canonical, canonicalOnce, deepFreeze } from '../core/index.ts'
import type { Conversation, InferenceOptions, Message } from '../providers/index.ts'
import { tokensOf } from './context.ts'

export class Requests {
  /** Those of the last request, frozen through, and their texts with commas between. */
  #messages: readonly Message[] = []
  #text = ''
  #tokens = 0

  /** The tokens of these messages, as `tokensOf` counts them. */
  tokensOf(messages: readonly Message[]): number {
    const known = this.#known(messages)
    return (known === 0 ? 0 : this.#tokens) + tokensOf(messages.slice(known))
  }

  /**
   * A frozen copy of these messages, because what was digested must not change while the provider reads it; and the text that
   * `canonical({conversation, options})` gives.
   */
  next(messages: readonly Message[], options: InferenceOptions): { conversation: Conversation; text: string } {
    const frozen = Object.freeze([...messages])
    const known = this.#known(frozen)
    let text = known === 0 ? '' : this.#text
    for (let index = known; index < frozen.length; index += 1) {
      const message = canonicalOnce(deepFreeze(frozen[index] as Message))
      text += index === 0 ? message : `,${message}`
    }
    this.#tokens = this.tokensOf(frozen)
    this.#messages = frozen
    this.#text = text
    return {
      conversation: Object.freeze({ messages: frozen }),
      text: `{"conversation":{"messages":[${text}]},"options":${optionsText(options)}}`,
    }
  }

  /** How many messages of the last request these begin with: all or none. */
  #known(messages: readonly Message[]): number {
    return continues(messages, this.#messages) ? this.#messages.length : 0
  }
}

/** Whether these begin with the very same messages: they are frozen, so they still have the same text. */
function continues(messages: readonly Message[], before: readonly Message[]): boolean {
  if (before.length > messages.length) return false
  for (let index = 0; index < before.length; index += 1) if (messages[index] !== before[index]) return false
  return true
}

/** Quick where the tools are frozen through. */
function optionsText({ tool_definitions, ...rest }: InferenceOptions): string {
  const text = canonical(rest)
  if (tool_definitions === undefined) return text
  return `${text.slice(0, -1)},"tool_definitions":${canonicalOnce(tool_definitions)}}`
}
