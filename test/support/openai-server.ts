/** A server that speaks the chat-completions streaming format, scripted by a test. */
import {
  argumentsText,
  type FakeReply,
  inPieces,
  type ModelScript,
  type ModelServer,
  type SpokenReply,
  startModelServer,
} from './model-server.ts'

export function startOpenAiServer(script: ModelScript | FakeReply): Promise<ModelServer> {
  return startModelServer(script, '/v1', openAiStream)
}

/** One reply as server-sent events, ended by `[DONE]`. */
export function openAiStream(reply: SpokenReply): string {
  const calls = reply.calls ?? []
  const chunks: object[] = [choice(reply, { role: 'assistant', content: '' })]
  for (const piece of inPieces(reply.text ?? '')) chunks.push(choice(reply, { content: piece }))
  calls.forEach((call, index) => {
    const head = { index, id: call.id, type: 'function', function: { name: call.name, arguments: '' } }
    chunks.push(choice(reply, { tool_calls: [head] }))
    for (const piece of inPieces(argumentsText(call))) {
      chunks.push(choice(reply, { tool_calls: [{ index, function: { arguments: piece } }] }))
    }
  })
  chunks.push(choice(reply, {}, reply.finish ?? (calls.length > 0 ? 'tool_calls' : 'stop')))
  if (reply.usage !== null) {
    const { prompt, completion } = reply.usage ?? { prompt: 7, completion: 3 }
    const usage = { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion }
    chunks.push({ ...head(reply), choices: [], usage })
  }
  return openAiEvents(chunks)
}

/** Chunks of your own as server-sent events. A string goes out as it is. */
export function openAiEvents(chunks: readonly (object | string)[], done = true): string {
  const lines = chunks.map((chunk) => `data: ${typeof chunk === 'string' ? chunk : JSON.stringify(chunk)}\n\n`)
  return lines.join('') + (done ? 'data: [DONE]\n\n' : '')
}

function head(reply: SpokenReply): object {
  return { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: reply.model ?? 'fake-openai' }
}

function choice(reply: SpokenReply, delta: object, finish: string | null = null): object {
  return { ...head(reply), choices: [{ index: 0, delta, finish_reason: finish }] }
}
