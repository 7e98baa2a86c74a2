export { anthropic } from './anthropic.ts'
export type { EndpointOptions } from './endpoint.ts'
export { EventStream } from './event-stream.ts'
export { openAiCompatible } from './openai-compatible.ts'
export type {
  Conversation,
  InferenceOptions,
  InferenceResponse,
  Message,
  Provider,
  ResponseFormat,
  ToolCallRequest,
  ToolChoice,
} from './port.ts'
export { type Script, type ScriptSource, scripted } from './scripted.ts'
export { type ProviderSettings, providerFromSettings } from './settings.ts'
