/**
 * A model behind the chat-completions protocol. What it proposes depends on the request alone, so that a request that ran
 * twice would propose the same calls twice; how its answer reaches the process depends on the day.
 */
import { type Chance, chanceOf } from '../chance.ts'
import type { Owner, Turns } from '../machine/turns.ts'
import type { Observer } from './observer.ts'
import { AGENT, BANK } from './scenario.ts'

interface Asked {
  readonly messages: readonly { readonly role: string; readonly content: unknown }[]
  readonly tools?: readonly { readonly function: { readonly name: string } }[]
}

interface Call {
  readonly id: string
  readonly name: string
  readonly arguments: string
}

interface Reply {
  readonly content: string
  readonly calls: readonly Call[]
}

export class Model {
  readonly #seed: number
  readonly #turns: Turns
  readonly #observer: Observer
  #count = 0

  constructor(seed: number, turns: Turns, observer: Observer) {
    this.#seed = seed
    this.#turns = turns
    this.#observer = observer
  }

  fetch(owner: Owner, body: string, signal: AbortSignal): Promise<Response> {
    const asked = JSON.parse(body) as Asked
    const { label, iteration } = sceneOf(asked)
    this.#count += 1
    const inference = this.#count
    const chance = chanceOf(this.#seed, `answer ${inference}`)
    const used = 20 + chance.index(400)
    this.#observer.see({ kind: 'InferenceBegan', life: owner.life, inference, subject: label })
    const reply = replyTo(this.#seed, label, iteration, Boolean(asked.tools?.length))
    const stream = new Stream(this.#turns, owner, signal, chance)
    const ended = (told: number | null): void => this.#observer.see({ kind: 'InferenceEnded', inference, used, told })
    return this.#answer(stream, reply, used, chance, ended)
  }

  #answer(
    stream: Stream,
    reply: Reply,
    used: number,
    chance: Chance,
    ended: (told: number | null) => void,
  ): Promise<Response> {
    const fate = chance.happens(0.93) ? 'well' : chance.pick(FATES)
    const events = eventsOf(reply, used)
    switch (fate) {
      case 'well':
        return stream.sends(events, 'end', () => ended(used))
      case 'stalls':
        return stream.stalls(() => ended(null))
      case 'stalls in the middle':
        return stream.sends(events.slice(0, chance.index(events.length)), 'nothing', () => ended(null))
      case 'cut':
        return stream.sends(cutAt(events, chance), chance.pick(['end', 'reset'] as const), () => ended(null))
      case 'refuses':
        return stream.refuses(chance.pick([400, 401, 429, 500, 503]), () => ended(null))
      case 'says nothing of its use':
        return stream.sends(
          events.filter((event) => !event.includes('"usage":{')),
          'end',
          () => ended(null),
        )
      case 'was too long':
        return stream.sends(
          events.map((event) => event.replace(/"finish_reason":"\w+"/, '"finish_reason":"length"')),
          'end',
          () => ended(used),
        )
      case 'answers twice':
        return stream.sends([...events.slice(0, -1), ...events], 'end', () => ended(used))
      case 'breaks its arguments':
        return stream.sends(
          events.map((event) => event.replaceAll('\\"}', '\\"')),
          'end',
          () => ended(used),
        )
    }
  }
}

const FATES = [
  'stalls',
  'stalls in the middle',
  'cut',
  'refuses',
  'says nothing of its use',
  'was too long',
  'answers twice',
  'breaks its arguments',
] as const

/** The last thing that a person or a parent asked, and how often the model has answered since. */
function sceneOf({ messages }: Asked): { readonly label: string; readonly iteration: number } {
  const at = messages.findLastIndex(
    ({ role, content }) => role === 'user' && /\b(?:please|task) \S+/.test(String(content)),
  )
  const label = /\b(?:please|task) (\S+)/.exec(String(messages[at]?.content))?.[1] ?? 'nobody'
  return { label, iteration: messages.slice(at + 1).filter(({ role }) => role === 'assistant').length + 1 }
}

function replyTo(seed: number, label: string, iteration: number, mayCall: boolean): Reply {
  const chance = chanceOf(seed, `model ${label} ${iteration}`)
  const isChild = label.includes('/')
  const last = chanceOf(seed, `model ${label}`).between(isChild ? 2 : 1, isChild ? 2 : 4)
  if (!mayCall || iteration >= last) return { content: `answer to ${label}`, calls: [] }
  const calls = Array.from({ length: chance.pick([1, 1, 1, 2, 3]) }, (_, index) =>
    callOf(chance, `${label}/${iteration}/${index}`, isChild),
  )
  return { content: '', calls }
}

function callOf(chance: Chance, token: string, isChild: boolean): Call {
  const id = `call-${token}`
  const call = (name: string, args: object): Call => ({ id, name, arguments: JSON.stringify(args) })
  const http = (): Call =>
    call('http_request', { method: 'POST', url: `${BANK}/pay?token=${encodeURIComponent(token)}` })
  const kind = chance.pick(isChild ? CHILD_KINDS : KINDS)
  switch (kind) {
    case 'charge':
      return call('charge', { token, amount: chance.pick([1, 2, 5, 50, 100, 101]) })
    case 'notify':
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
      return { ...call('notify', { token, amount: 2 }), id: 'the same' }
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

function eventsOf({ content, calls }: Reply, used: number): readonly string[] {
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

function cutAt(events: readonly string[], chance: Chance): readonly string[] {
  const text = events.join('')
  return [text.slice(0, chance.index(text.length - 14))] // before the end mark begins
}

/** One answer on its way. */
class Stream {
  readonly #turns: Turns
  readonly #owner: Owner
  readonly #signal: AbortSignal
  readonly #chance: Chance

  constructor(turns: Turns, owner: Owner, signal: AbortSignal, chance: Chance) {
    this.#turns = turns
    this.#owner = owner
    this.#signal = signal
    this.#chance = chance
  }

  stalls(ended: () => void): Promise<Response> {
    ended()
    return new Promise((_, reject) => this.#onStop(() => reject(this.#signal.reason)))
  }

  refuses(status: number, ended: () => void): Promise<Response> {
    return this.#later(() => {
      ended()
      return new Response(JSON.stringify({ error: { message: 'refused', type: 'simulated' } }), {
        status,
        headers: { 'content-type': 'application/json' },
      })
    })
  }

  /** `ended` is called before the last piece leaves. */
  sends(events: readonly string[], then: 'end' | 'reset' | 'nothing', ended: () => void): Promise<Response> {
    return this.#later(() => {
      let open = true
      const body = new ReadableStream<Uint8Array>({
        start: (controller) => {
          this.#onStop(() => {
            if (open) controller.error(this.#signal.reason)
            open = false
          })
          const last = (): void => {
            ended()
            if (!open) return
            if (then === 'nothing') return
            open = false
            if (then === 'end') controller.close()
            else controller.error(new TypeError('terminated'))
          }
          const send = (at: number): void => {
            const event = events[at]
            if (event === undefined) {
              last()
              return
            }
            this.#turns.after(this.#pauseMs(), this.#owner, 'model', () => {
              if (open) controller.enqueue(Buffer.from(event))
              send(at + 1)
            })
          }
          send(0)
        },
        cancel: () => {
          open = false
        },
      })
      return new Response(body, { status: 200, headers: { 'content-type': 'text/event-stream' } })
    })
  }

  #later(answer: () => Response): Promise<Response> {
    return new Promise((resolve, reject) => {
      this.#onStop(() => reject(this.#signal.reason))
      this.#turns.after(this.#pauseMs(), this.#owner, 'model', () => resolve(answer()))
    })
  }

  #pauseMs(): number {
    return this.#chance.happens(0.05) ? this.#chance.between(100, 20_000) : this.#chance.fraction() * 4
  }

  #onStop(stop: () => void): void {
    if (this.#signal.aborted) stop()
    else this.#signal.addEventListener('abort', stop, { once: true })
  }
}
