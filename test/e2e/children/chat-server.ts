/**
 * A server in a process of its own, for tests that end it without a word. Its model charges twice and then answers; each
 * charge happens in another process, which counts. Arguments: the project's folder, and where a charge goes. It opens the
 * project when it is told to, so that the next server can be loaded while one still holds the project.
 */
import { once } from 'node:events'
import { type Conversation, openRuntime, type Provider, serve, type Tool } from '../../../src/runtime/index.ts'

const [project = '', effects = '', mode = 'answer'] = process.argv.slice(2)

const charge: Tool = {
  definition: {
    name: 'charge',
    description: 'Charges once.',
    parameters: {
      type: 'object',
      properties: { chat: { type: 'string' }, step: { type: 'string' } },
      required: ['chat', 'step'],
      additionalProperties: false,
    },
  },
  run: async (args, { signal }) => {
    const response = await fetch(effects, { method: 'POST', body: JSON.stringify(args), signal })
    return `charged ${await response.text()}`
  },
}

const provider: Provider = {
  name: 'child',
  defaultModel: 'child',
  countInput: () => null,
  complete: async ({ messages }: Conversation, _options, signal) => {
    if (mode === 'stall')
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    const chat = messages.findLast(({ role }) => role === 'user')?.content ?? ''
    const done = messages
      .slice(messages.findLastIndex(({ role }) => role === 'user'))
      .filter(({ role }) => role === 'tool')
    const step = `charge-${done.length + 1}`
    const more = done.length < 2
    return {
      content: more ? '' : `charged for ${chat}`,
      tool_calls: more ? [{ id: step, name: 'charge', arguments: JSON.stringify({ chat, step }) }] : [],
      finish_reason: more ? 'tool_calls' : 'stop',
      usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
      model: 'child',
    }
  },
}

await once(process.stdin, 'data')
process.stdin.pause()
const runtime = await openRuntime({ project, provider, tools: [charge] })
const service = await serve(runtime, {
  log: { write: () => undefined },
  port: 0,
  rateLimit: null,
  legacyToken: 'child',
})
let asked = 0
process.on('SIGTERM', () => {
  asked += 1
  void (asked === 1 ? service.close() : service.cancelNow()).then(() => process.exit(0))
  process.stdout.write(`term ${asked}\n`)
})
process.stdout.write(`${service.server.chatUrl}?token=child\n`)
