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
