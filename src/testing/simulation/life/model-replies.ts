/** What the model proposes: the same for the same request and iteration, with tokens that nobody else uses. */
import { type Chance, chanceOf } from '../chance.ts'
import { FOREIGN_TOOL, hasForeignServer } from './foreign-server.ts'
import { AGENT, bankUrl, notice } from './scenario.ts'

export interface Asked {
  readonly messages: readonly { readonly role: string; readonly content: unknown }[]
  readonly tools?: readonly { readonly function: { readonly name: string } }[]
}

interface Call {
  readonly id: string
  readonly name: string
  readonly arguments: string
}

export interface Reply {
  readonly content: string
  readonly calls: readonly Call[]
}

/** The last thing that a person or a parent asked, and how often the model has answered since. */
export function sceneOf({ messages }: Asked): { readonly label: string; readonly iteration: number } {
  const at = messages.findLastIndex(
    ({ role, content }) => role === 'user' && /\b(?:please|task) \S+/.test(String(content)),
  )
  const label = /\b(?:please|task) (\S+)/.exec(String(messages[at]?.content))?.[1] ?? 'nobody'
  return { label, iteration: messages.slice(at + 1).filter(({ role }) => role === 'assistant').length + 1 }
}

export function replyTo(seed: number, label: string, iteration: number, mayCall: boolean): Reply {
  const chance = chanceOf(seed, `model ${label} ${iteration}`)
  const isChild = label.includes('/')
  const last = chanceOf(seed, `model ${label}`).between(isChild ? 2 : 1, isChild ? 2 : 4)
  if (!mayCall || iteration >= last) return { content: `answer to ${label}`, calls: [] }
  const calls = Array.from({ length: chance.pick([1, 1, 1, 2, 3]) }, (_, index) => {
    const token = `${label}/${iteration}/${index}`
    const call = callOf(chance, token, isChild)
    if (isChild || !hasForeignServer(seed) || !chanceOf(seed, `foreign ${token}`).happens(0.3)) return call
    return { id: call.id, name: FOREIGN_TOOL, arguments: JSON.stringify({ token, amount: 1 }) }
  })
  return { content: '', calls }
}

function callOf(chance: Chance, token: string, isChild: boolean): Call {
  const id = `call-${token}`
  const call = (name: string, args: object): Call => ({ id, name, arguments: JSON.stringify(args) })
  const http = (): Call =>
    call('http_request', { method: chance.pick(['GET', 'GET', 'POST'] as const), url: bankUrl(token) })
  const kind = chance.pick(isChild ? CHILD_KINDS : KINDS)
  switch (kind) {
    case 'charge':
      return call('charge', { token, amount: chance.pick([1, 2, 5, 50, 100, 101]) })
    case 'notify':
      return call('notify', notice(chance, token, 1))
    case 'wire':
    case 'erase':
      return call(kind, { token, amount: 1 })
    case 'http':
      return http()
    case 'delegate':
      return call('delegate', { agent: AGENT, task: `task ${token}` })
    case 'unknown agent':
      return call('delegate', { agent: 'nobody', task: `task ${token}` })
    case 'health':
      return call('system_health', {})
    case 'unknown tool':
      return call('format_disk', { token })
    case 'wrong arguments':
      return call('charge', { token, amount: 'all of it' })
    case 'same id':
      return { ...call('notify', notice(chance, token, 2)), id: 'the same' }
  }
}

const KINDS = [
  'charge',
  'charge',
  'charge',
  'notify',
  'notify',
  'wire',
  'erase',
  'http',
  'delegate',
  'delegate',
  'unknown agent',
  'health',
  'unknown tool',
  'wrong arguments',
  'same id',
] as const
const CHILD_KINDS = ['http', 'http', 'http', 'health', 'unknown tool', 'erase', 'delegate'] as const

export function eventsOf({ content, calls }: Reply, used: number): readonly string[] {
  const head = { id: 'reply', object: 'chat.completion.chunk', created: 1, model: 'simulated' }
  const choice = (delta: object, finish: string | null = null) => ({
    ...head,
    choices: [{ index: 0, delta, finish_reason: finish }],
  })
  const chunks: object[] = [choice({ role: 'assistant', content })]
  calls.forEach(({ id, name, arguments: args }, index) => {
    const half = Math.floor(args.length / 2)
    chunks.push(
      choice({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: args.slice(0, half) } }] }),
    )
    chunks.push(choice({ tool_calls: [{ index, function: { arguments: args.slice(half) } }] }))
  })
  chunks.push(choice({}, calls.length > 0 ? 'tool_calls' : 'stop'))
  chunks.push({ ...head, choices: [], usage: { prompt_tokens: used - 10, completion_tokens: 10, total_tokens: used } })
  return [...chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`), 'data: [DONE]\n\n']
}
