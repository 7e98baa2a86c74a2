/**
 * The stream of a chat-completions reply, folded into one checked reply. Owns the meaning of its chunks.
 *
 * A reply is complete at `[DONE]`, and usable only after a `finish_reason`. Deltas of a tool call belong together by their
 * index; an id or name that changes on the way is refused, because then two calls may have been mixed.
 */
import { isJsonObject, type Json, type JsonObject } from '../core/index.ts'
import { NO_USAGE, type Usage } from '../events/index.ts'
import { eventObject, type ReplyFold, toldError } from './exchange.ts'
import { providerFault, type Target, unusable } from './faults.ts'
import type { InferenceResponse } from './port.ts'
import { checkedReply, type Finish, modelName, sumOf, tokenCount, usageOf } from './reply.ts'

interface GrowingCall {
  id: string | null
  name: string | null
  arguments: string
}

export class OpenAiReply implements ReplyFold {
  readonly #target: Target
  readonly #calls: GrowingCall[] = []
  readonly #callAt = new Map<number, GrowingCall>()
  #text = ''
  #refusal = ''
  #finish: string | null = null
  #usage: Usage = NO_USAGE
  #model: string
  #complete = false

  constructor(target: Target) {
    this.#target = target
    this.#model = target.model
  }

  get complete(): boolean {
    return this.#complete
  }

  take(text: string): void {
    if (text.trim() === '[DONE]') {
      this.#complete = true
      return
    }
    const chunk = eventObject(this.#target, text)
    if (isGiven(chunk.error)) throw toldError(this.#target, chunk.error)
    this.#model = modelName(chunk.model, this.#model)
    if (isJsonObject(chunk.usage)) this.#usage = usageIn(chunk.usage)
    if (!isGiven(chunk.choices)) return
    if (!Array.isArray(chunk.choices)) throw this.#broken('the choices of a chunk are not an array')
    for (const choice of chunk.choices as readonly Json[]) this.#choice(choice)
  }

  #choice(choice: Json): void {
    if (!isJsonObject(choice)) throw this.#broken('a choice is not an object')
    if (isGiven(choice.index) && choice.index !== 0) throw this.#broken('it holds more than one choice')
    if (isGiven(choice.error)) throw toldError(this.#target, choice.error)
    if (isJsonObject(choice.delta)) this.#delta(choice.delta)
    else if (isGiven(choice.delta)) throw this.#broken('a delta is not an object')
    if (!isGiven(choice.finish_reason)) return
    const finish = choice.finish_reason
    if (typeof finish !== 'string') throw this.#broken('the finish reason is not a string')
    if (this.#finish !== null && this.#finish !== finish) throw this.#broken('it has two different finish reasons')
    this.#finish = finish
  }

  #delta(delta: JsonObject): void {
    const text = this.#textOf(delta.content)
    const refusal = this.#textOf(delta.refusal)
    if (isGiven(delta.function_call))
      throw this.#broken('it uses the retired function_call form, which has no call ids')
    const calls = isGiven(delta.tool_calls) ? delta.tool_calls : []
    if (!Array.isArray(calls)) throw this.#broken('the tool calls of a delta are not an array')
    if (this.#finish !== null && (text !== '' || refusal !== '' || calls.length > 0)) {
      throw this.#broken('it goes on after its finish reason')
    }
    this.#text += text
    this.#refusal += refusal
    for (const call of calls as readonly Json[]) this.#callDelta(call)
  }

  /** Content is a string, or a list of parts of which the text ones count; a model's thinking is not part of the reply. */
  #textOf(content: Json | undefined): string {
    if (!isGiven(content)) return ''
    if (typeof content === 'string') return content
    if (!Array.isArray(content)) throw this.#broken('the content of a delta is not text')
    let text = ''
    for (const part of content as readonly Json[]) {
      if (!isJsonObject(part)) throw this.#broken('a part of the content is not an object')
      if (part.type === 'thinking' || part.type === 'reasoning') continue
      if (part.type !== 'text' || typeof part.text !== 'string') throw this.#broken('a part of the content is not text')
      text += part.text
    }
    return text
  }

  #callDelta(delta: Json): void {
    if (!isJsonObject(delta)) throw this.#broken('a tool call is not an object')
    if (isGiven(delta.type) && delta.type !== 'function' && delta.type !== '') {
      throw this.#broken('a tool call is not a function call')
    }
    const piece = isGiven(delta.function) ? delta.function : {}
    if (!isJsonObject(piece)) throw this.#broken('the function of a tool call is not an object')
    const id = this.#label(delta.id, 'id')
    const name = this.#label(piece.name, 'name')
    const call = this.#callFor(delta.index, id, name)
    // Some servers repeat the id and name in every delta, some send them empty after the first: only a change is a doubt.
    if (id !== '' && call.id !== null && call.id !== id) throw this.#broken('the id of a tool call changes on the way')
    if (name !== '' && call.name !== null && call.name !== name) {
      throw this.#broken('the name of a tool call changes on the way')
    }
    if (id !== '') call.id = id
    if (name !== '') call.name = name
    if (!isGiven(piece.arguments)) return
    if (typeof piece.arguments !== 'string') throw this.#broken('the arguments of a tool call are not text')
    call.arguments += piece.arguments
  }

  #label(value: Json | undefined, what: string): string {
    if (!isGiven(value)) return ''
    if (typeof value !== 'string') throw this.#broken(`the ${what} of a tool call is not a string`)
    return value
  }

  /** The call at this index. A delta without an index can only be a whole call, which has its own id and name. */
  #callFor(index: Json | undefined, id: string, name: string): GrowingCall {
    const fresh = (): GrowingCall => {
      const call = { id: null, name: null, arguments: '' }
      this.#calls.push(call)
      return call
    }
    if (!isGiven(index)) {
      if (id === '' || name === '') throw this.#broken('a piece of a tool call does not say to which call it belongs')
      return fresh()
    }
    if (typeof index !== 'number' || !Number.isSafeInteger(index) || index < 0) {
      throw this.#broken('the index of a tool call is not a whole number')
    }
    const known = this.#callAt.get(index)
    if (known !== undefined) return known
    const call = fresh()
    this.#callAt.set(index, call)
    return call
  }

  reply(): InferenceResponse {
    return checkedReply(this.#target, {
      text: this.#text === '' ? this.#refusal : this.#text,
      calls: this.#calls,
      finish: this.#finishReason(),
      usage: this.#usage,
      model: this.#model,
    })
  }

  #finishReason(): Finish {
    if (this.#finish === null) throw this.#broken('the stream ended without a finish reason')
    if (this.#finish === 'content_filter') return 'content_filter'
    if (this.#finish === 'length') {
      throw unusable(
        this.#target,
        'it was cut at the token limit',
        'Raise max_output_tokens or the allowance of the run; a cut reply proposes nothing',
      )
    }
    if (this.#finish === 'error') {
      throw providerFault('PROVIDER_ERROR', this.#target, 'it failed in the middle of the reply', 'Try again later')
    }
    if (this.#finish === 'stop') return this.#refusal === '' ? 'stop' : 'refusal'
    if (this.#finish === 'tool_calls') return this.#refusal === '' ? 'tool_calls' : 'refusal'
    throw this.#broken('its finish reason is not one of stop, tool_calls, length and content_filter')
  }

  #broken(state: string): Error {
    return unusable(this.#target, state)
  }
}

function isGiven(value: Json | undefined): value is Exclude<Json, null> {
  return value !== undefined && value !== null
}

function usageIn(usage: JsonObject): Usage {
  const prompt = tokenCount(usage.prompt_tokens)
  const completion = tokenCount(usage.completion_tokens)
  const total = isGiven(usage.total_tokens) ? tokenCount(usage.total_tokens) : sumOf(prompt, completion)
  return usageOf(prompt, completion, total)
}
