/** A server that speaks Anthropic's messages streaming format, scripted by a test. */
import {
  argumentsText,
  type FakeReply,
  inPieces,
  type ModelScript,
  type ModelServer,
  type SpokenReply,
  startModelServer,
} from './model-server.ts'

export function startAnthropicServer(script: ModelScript | FakeReply): Promise<ModelServer> {
  return startModelServer(script, '/v1', anthropicStream)
}

export interface AnthropicEvent {
  readonly type: string
  readonly [member: string]: unknown
}

/** One reply as server-sent events, ended by `message_stop`. */
export function anthropicStream(reply: SpokenReply): string {
  const { prompt, completion } = reply.usage ?? { prompt: 7, completion: 3 }
  const counted = reply.usage !== null
  const calls = reply.calls ?? []
  const events: AnthropicEvent[] = [
    {
      type: 'message_start',
      message: {
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        model: reply.model ?? 'fake-anthropic',
        content: [],
        stop_reason: null,
        ...(counted ? { usage: { input_tokens: prompt, output_tokens: 1 } } : {}),
      },
    },
    { type: 'ping' },
  ]
  let index = 0
  if (reply.text !== undefined && reply.text !== '') {
    events.push({ type: 'content_block_start', index, content_block: { type: 'text', text: '' } })
    for (const text of inPieces(reply.text)) {
      events.push({ type: 'content_block_delta', index, delta: { type: 'text_delta', text } })
    }
    events.push({ type: 'content_block_stop', index })
    index += 1
  }
  for (const call of calls) {
    const block = { type: 'tool_use', id: call.id, name: call.name, input: {} }
    events.push({ type: 'content_block_start', index, content_block: block })
    for (const partial_json of inPieces(argumentsText(call))) {
      events.push({ type: 'content_block_delta', index, delta: { type: 'input_json_delta', partial_json } })
    }
    events.push({ type: 'content_block_stop', index })
    index += 1
  }
  events.push({
    type: 'message_delta',
    delta: { stop_reason: reply.finish ?? (calls.length > 0 ? 'tool_use' : 'end_turn'), stop_sequence: null },
    ...(counted ? { usage: { output_tokens: completion } } : {}),
  })
  events.push({ type: 'message_stop' })
  return anthropicEvents(events)
}

/** Events of your own as server-sent events. A string goes out as it is. */
export function anthropicEvents(events: readonly (AnthropicEvent | string)[]): string {
  return events
    .map((event) =>
      typeof event === 'string' ? `data: ${event}\n\n` : `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`,
    )
    .join('')
}
