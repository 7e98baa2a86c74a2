/**
 * The request of one inference, built by the provider's SDK from our conversation. Owns the mapping to the SDK's call and
 * the capture of what it would send.
 *
 * The SDK never sees the answer. Its stream is already changed where it looks raw: with `includeRawChunks` a chunk has
 * been through JSON.parse (of two equal names the last is left, integers are rounded), text that is not UTF-8 has become
 * replacement characters, a chunk that does not parse is handed on as `undefined`, `[DONE]` is swallowed, a missing call
 * id is invented, and a tool call of a stream that was cut is still emitted. So it gets a fetch that keeps the request and
 * goes no further, and `exchange.ts` reads the bytes.
 */
import type {
  LanguageModelV3,
  LanguageModelV3CallOptions,
  LanguageModelV3FunctionTool,
  LanguageModelV3Message,
  LanguageModelV3ToolChoice,
} from '@ai-sdk/provider'
import { assert, Bug, Fault, isJsonObject, type Json, type JsonObject, readJson } from '../core/index.ts'
import type { Fetch } from '../world/index.ts'
import type { WireRequest } from './exchange.ts'
import { providerFault, type Target } from './faults.ts'
import type { Conversation, InferenceOptions, Message, ResponseFormat, ToolCallRequest, ToolChoice } from './port.ts'

export interface RequestParts {
  readonly target: Target
  readonly conversation: Conversation
  readonly options: InferenceOptions
  /** How the protocol carries the arguments of earlier calls: as the model's own text, or as a value. */
  readonly argumentsAs: 'text' | 'value'
  readonly providerOptions?: Readonly<Record<string, JsonObject>>
  /** Makes the SDK's model around the fetch that captures. */
  readonly model: (fetch: Fetch) => LanguageModelV3
}

/** Thrown by the capturing fetch, so that the SDK goes no further. */
class Captured extends Error {}

export async function wireRequest(parts: RequestParts): Promise<WireRequest> {
  let captured: WireRequest | null = null
  const capture: Fetch = (url, init) => {
    assert(typeof init?.body === 'string', 'the SDK sends its request as text')
    captured = { url: String(url), headers: new Headers(init.headers), body: init.body }
    return Promise.reject(new Captured())
  }
  try {
    await parts.model(capture).doStream(callOptions(parts))
  } catch (error) {
    if (captured !== null) return captured
    if (error instanceof Fault || error instanceof Bug) throw error
    // What the SDK throws holds the conversation, so only the fact is told.
    throw cannotSend(parts.target, 'the request cannot be built from this conversation and these options')
  }
  throw new Bug('the SDK answered without a request')
}

function callOptions({ target, conversation, options, argumentsAs, providerOptions }: RequestParts) {
  const call: LanguageModelV3CallOptions = {
    prompt: conversation.messages.map((message) => promptMessage(target, message, argumentsAs)),
    maxOutputTokens: options.max_tokens,
    temperature: options.temperature,
    responseFormat: responseFormat(options.response_format),
  }
  if (options.tool_definitions !== undefined && options.tool_definitions.length > 0) {
    call.tools = options.tool_definitions.map((tool) => ({
      type: 'function',
      name: tool.name,
      description: tool.description,
      inputSchema: tool.parameters as LanguageModelV3FunctionTool['inputSchema'],
    }))
    if (options.tool_choice !== undefined) call.toolChoice = toolChoice(options.tool_choice)
  }
  if (providerOptions !== undefined) call.providerOptions = providerOptions as Record<string, never>
  return call
}

function promptMessage(target: Target, message: Message, argumentsAs: 'text' | 'value'): LanguageModelV3Message {
  const { role, content } = message
  if (role === 'system') return { role, content }
  if (role === 'user') return { role, content: [{ type: 'text', text: content }] }
  if (role === 'tool') {
    if (message.tool_call_id === undefined) throw cannotSend(target, 'a tool message does not name its call')
    const output = { type: 'text', value: content } as const
    const toolName = message.tool_name ?? ''
    return { role, content: [{ type: 'tool-result', toolCallId: message.tool_call_id, toolName, output }] }
  }
  const calls = (message.tool_calls ?? []).map((call) => ({
    type: 'tool-call' as const,
    toolCallId: call.id,
    toolName: call.name,
    input: argumentsAs === 'text' ? argumentText(call) : argumentValue(target, call),
  }))
  // Protocols refuse an empty text beside calls; a message of nothing but calls has none.
  const text = content === '' && calls.length > 0 ? [] : [{ type: 'text' as const, text: content }]
  return { role, content: [...text, ...calls] }
}

function argumentText(call: ToolCallRequest): string {
  return call.arguments.trim() === '' ? '{}' : call.arguments
}

function argumentValue(target: Target, call: ToolCallRequest): JsonObject {
  let value: Json = null
  try {
    value = readJson(argumentText(call))
  } catch {
    // told below, without the text
  }
  if (!isJsonObject(value)) throw cannotSend(target, 'the arguments of an earlier call are not a JSON object')
  return value
}

function responseFormat(format: ResponseFormat): NonNullable<LanguageModelV3CallOptions['responseFormat']> {
  if (format.type === 'text') return { type: 'text' }
  if (format.type === 'json_object') return { type: 'json' }
  return {
    type: 'json',
    schema: format.schema as Record<string, never>,
    ...(format.name === undefined ? {} : { name: format.name }),
  }
}

function toolChoice(choice: ToolChoice): LanguageModelV3ToolChoice {
  if (choice.type === 'tool') return { type: 'tool', toolName: choice.name }
  return { type: choice.type === 'any' ? 'required' : 'auto' }
}

export function cannotSend(target: Target, state: string): Fault {
  return providerFault(
    'PROVIDER_INVALID_REQUEST',
    target,
    state,
    'Correct the conversation or the options of the request',
  )
}
