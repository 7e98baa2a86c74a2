/**
 * The stream of a messages reply, folded into one checked reply. Owns the meaning of its events.
 *
 * A reply is complete at `message_stop`, and usable only when every block was closed and a stop reason was given. Event
 * and block types that are not known here are skipped, as the protocol asks of its readers: they propose nothing.
 */
import { canonical, isJsonObject, type Json, type JsonObject } from '../core/index.ts'
import type { Usage } from '../events/index.ts'
import { eventObject, type ReplyFold, toldError } from './exchange.ts'
import { providerFault, type Target, unusable } from './faults.ts'
import type { InferenceResponse } from './port.ts'
import { type CallText, checkedReply, type Finish, modelName, sumOf, tokenCount, usageOf } from './reply.ts'

interface Block {
  readonly type: 'text' | 'tool_use' | 'other'
  readonly id: string | null
  readonly name: string | null
  /** The input that the block started with; in a stream it is empty, and the deltas carry the text. */
  readonly input: JsonObject
  text: string
  open: boolean
}

export class AnthropicReply implements ReplyFold {
  readonly #target: Target
  readonly #blocks = new Map<number, Block>()
  #usage: JsonObject = {}
  #model: string
  #stopReason: string | null = null
  #started = false
  #complete = false

  constructor(target: Target) {
    this.#target = target
    this.#model = target.model
  }

  get complete(): boolean {
    return this.#complete
  }

  take(text: string): void {
    const data = eventObject(this.#target, text)
    if (data.type === 'error') throw toldError(this.#target, data.error ?? null)
    if (data.type === 'message_start') this.#start(data.message)
    else if (!this.#started && STEPS.has(data.type)) throw this.#broken('the stream does not begin with its message')
    else if (data.type === 'content_block_start') this.#open(data)
    else if (data.type === 'content_block_delta') this.#grow(data)
    else if (data.type === 'content_block_stop') this.#close(data)
    else if (data.type === 'message_delta') this.#finish(data)
    else if (data.type === 'message_stop') this.#complete = true
  }

  #start(message: Json | undefined): void {
    if (this.#started) throw this.#broken('the stream holds two messages')
    if (!isJsonObject(message)) throw this.#broken('the message is not an object')
    this.#started = true
    this.#model = modelName(message.model, this.#model)
    if (isJsonObject(message.usage)) this.#usage = message.usage
  }

  #open(data: JsonObject): void {
    const index = this.#indexOf(data)
    if (this.#stopReason !== null) throw this.#broken('it goes on after its stop reason')
    if (this.#blocks.has(index)) throw this.#broken('a block of the content starts twice')
    const block = data.content_block
    if (!isJsonObject(block)) throw this.#broken('a block of the content is not an object')
    const type = block.type === 'text' || block.type === 'tool_use' ? block.type : 'other'
    const label = (value: Json | undefined): string | null => (typeof value === 'string' ? value : null)
    if (type === 'tool_use' && block.input !== undefined && block.input !== null && !isJsonObject(block.input)) {
      throw this.#broken('the arguments of a tool call are not a JSON object')
    }
    this.#blocks.set(index, {
      type,
      id: label(block.id),
      name: label(block.name),
      input: isJsonObject(block.input) ? block.input : {},
      text: type === 'text' && typeof block.text === 'string' ? block.text : '',
      open: true,
    })
  }

  #grow(data: JsonObject): void {
    const block = this.#openBlock(data)
    const delta = data.delta
    if (!isJsonObject(delta)) throw this.#broken('a delta is not an object')
    if (delta.type === 'text_delta' || delta.type === 'input_json_delta') {
      const piece = delta.type === 'text_delta' ? delta.text : delta.partial_json
      if (typeof piece !== 'string') throw this.#broken('a delta carries no text')
      if (block.type === 'other') return
      if (block.type !== (delta.type === 'text_delta' ? 'text' : 'tool_use')) {
        throw this.#broken('a delta does not fit the block it belongs to')
      }
      block.text += piece
    }
  }

  #close(data: JsonObject): void {
    this.#openBlock(data).open = false
  }

  #finish(data: JsonObject): void {
    if (isJsonObject(data.usage)) this.#usage = { ...this.#usage, ...given(data.usage) }
    const reason = isJsonObject(data.delta) ? data.delta.stop_reason : undefined
    if (reason === undefined || reason === null) return
    if (typeof reason !== 'string') throw this.#broken('the stop reason is not a string')
    if (this.#stopReason !== null && this.#stopReason !== reason)
      throw this.#broken('it has two different stop reasons')
    this.#stopReason = reason
  }

  #openBlock(data: JsonObject): Block {
    const block = this.#blocks.get(this.#indexOf(data))
    if (block === undefined || !block.open) throw this.#broken('a delta belongs to no open block')
    return block
  }

  #indexOf(data: JsonObject): number {
    const { index } = data
    if (typeof index !== 'number' || !Number.isSafeInteger(index) || index < 0) {
      throw this.#broken('the index of a block is not a whole number')
    }
    return index
  }

  reply(): InferenceResponse {
    const finish = this.#finishReason()
    const blocks = [...this.#blocks.entries()].sort(([left], [right]) => left - right).map(([, block]) => block)
    if (finish !== 'refusal' && blocks.some((block) => block.open)) {
      throw this.#broken('a block of the content does not end')
    }
    return checkedReply(this.#target, {
      text: blocks.map((block) => (block.type === 'text' ? block.text : '')).join(''),
      calls: finish === 'refusal' ? [] : this.#calls(blocks),
      finish,
      usage: usageIn(this.#usage),
      model: this.#model,
    })
  }

  #calls(blocks: readonly Block[]): CallText[] {
    return blocks
      .filter((block) => block.type === 'tool_use')
      .map(({ id, name, input, text }) => {
        if (Object.keys(input).length === 0) return { id, name, arguments: text }
        // Gateways that do not stream arguments put them into the block's start. With deltas besides there would be two.
        if (text.trim() !== '') throw this.#broken('a tool call has its arguments twice')
        return { id, name, arguments: canonical(input) }
      })
  }

  #finishReason(): Finish {
    switch (this.#stopReason) {
      case null:
        throw this.#broken('the stream ended without a stop reason')
      case 'end_turn':
      case 'stop_sequence':
        return 'stop'
      case 'tool_use':
        return 'tool_calls'
      case 'refusal':
        return 'refusal'
      case 'max_tokens':
        throw unusable(
          this.#target,
          'it was cut at the token limit',
          'Raise max_output_tokens or the allowance of the run; a cut reply proposes nothing',
        )
      case 'model_context_window_exceeded':
        throw providerFault(
          'PROVIDER_CONTEXT_OVERFLOW',
          this.#target,
          'it was cut because the context window of the model is full',
          'Shorten the conversation, or lower context_token_budget',
        )
      default:
        throw this.#broken('its stop reason is not one that ends a reply')
    }
  }

  #broken(state: string): Error {
    return unusable(this.#target, state)
  }
}

const STEPS: ReadonlySet<Json | undefined> = new Set([
  'content_block_start',
  'content_block_delta',
  'content_block_stop',
  'message_delta',
  'message_stop',
])

/** Counts in the last event are totals so far, and replace those of the first where they are given. */
function given(usage: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(usage).filter(([, value]) => value !== null))
}

/** Tokens read from and written to the provider's cache were input all the same. */
function usageIn(usage: JsonObject): Usage {
  const cached = (value: Json | undefined): number | null =>
    value === undefined || value === null ? 0 : tokenCount(value)
  const prompt = sumOf(
    tokenCount(usage.input_tokens),
    cached(usage.cache_creation_input_tokens),
    cached(usage.cache_read_input_tokens),
  )
  const completion = tokenCount(usage.output_tokens)
  return usageOf(prompt, completion, sumOf(prompt, completion))
}
