/** A model for tests: each inference takes the next reply, or asks a function for it. Usage is 1/1/2 unless said otherwise. */
import type { Conversation, InferenceOptions, InferenceResponse, Provider } from '../../src/providers/index.ts'

export type Reply =
  | Partial<InferenceResponse>
  | Error
  | ((conversation: Conversation, signal: AbortSignal) => Promise<Partial<InferenceResponse>>)

export interface ModelForTest extends Provider {
  readonly asked: { readonly conversation: Conversation; readonly options: InferenceOptions }[]
}

export function modelOf(...replies: readonly Reply[]): ModelForTest {
  const asked: ModelForTest['asked'] = []
  return {
    name: 'test-provider',
    defaultModel: 'test-model',
    asked,
    countInput: () => null,
    complete: async (conversation, options, signal) => {
      signal.throwIfAborted()
      const reply = replies[Math.min(asked.length, replies.length - 1)]
      asked.push({ conversation, options })
      if (reply === undefined) throw new Error('the test has no reply for this inference')
      if (reply instanceof Error) throw reply
      const given = typeof reply === 'function' ? await reply(conversation, signal) : reply
      return {
        content: '',
        tool_calls: [],
        finish_reason: (given.tool_calls?.length ?? 0) > 0 ? 'tool_calls' : 'stop',
        usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
        model: 'test-model',
        ...given,
      }
    },
  }
}

export function callOf(id: string, name: string, args: object = {}): Partial<InferenceResponse> {
  return { tool_calls: [{ id, name, arguments: JSON.stringify(args) }] }
}
