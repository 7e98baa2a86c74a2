/**
 * The port to a model: one inference, no more. A provider never executes a tool, never retries, and never repairs what
 * the model wrote: a reply that was cut or malformed proposes nothing and is a Fault (design: the loop is ours).
 */
import type { JsonObject } from '../core/index.ts'
import type { FinishReason, ToolDefinition, Usage } from '../events/index.ts'

export interface ToolCallRequest {
  readonly id: string
  readonly name: string
  /** The model's own text: strict JSON, an object. */
  readonly arguments: string
}

export interface Message {
  readonly role: 'system' | 'user' | 'assistant' | 'tool'
  readonly content: string
  readonly tool_calls?: readonly ToolCallRequest[]
  readonly tool_call_id?: string
  readonly tool_name?: string
}

/** As it is digested and sent: `{"messages":[…]}`. */
export interface Conversation {
  readonly messages: readonly Message[]
}

export type ToolChoice =
  | { readonly type: 'auto' }
  | { readonly type: 'any' }
  | { readonly type: 'tool'; readonly name: string }

export type ResponseFormat =
  | { readonly type: 'text' }
  | { readonly type: 'json_object' }
  | { readonly type: 'json_schema'; readonly schema: JsonObject; readonly name?: string }

export interface InferenceOptions {
  /** Output tokens that were reserved for this inference. */
  readonly max_tokens: number
  readonly temperature: number
  readonly response_format: ResponseFormat
  readonly tool_definitions?: readonly ToolDefinition[]
  readonly tool_choice?: ToolChoice
  readonly model?: string
}

export interface InferenceResponse {
  readonly content: string
  readonly tool_calls: readonly ToolCallRequest[]
  readonly finish_reason: FinishReason
  /** All zero when the provider reported none: then the whole reservation is charged. */
  readonly usage: Usage
  readonly model: string
}

export interface Provider {
  readonly name: string
  readonly defaultModel: string
  /** An exact count of input tokens, or null where the provider has none and the request's bytes are counted instead. */
  countInput(conversation: Conversation, options: InferenceOptions): number | null
  /**
   * One inference. Throws a Fault with a `PROVIDER_*` code; must observe the signal, and then throws its reason.
   */
  complete(conversation: Conversation, options: InferenceOptions, signal: AbortSignal): Promise<InferenceResponse>
}
