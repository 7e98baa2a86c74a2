/**
 * A model behind the chat-completions protocol. What it proposes depends on the request alone, so that a request that ran
 * twice would propose the same calls twice; how its answer reaches the process depends on the day.
 */
import { type Chance, chanceOf } from '../chance.ts'
import type { Owner, Turns } from '../machine/turns.ts'
import { type Asked, eventsOf, type Reply, replyTo, sceneOf } from './model-replies.ts'
import { ModelStream } from './model-stream.ts'
import type { Observer } from './observer.ts'

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
    const stream = new ModelStream(this.#turns, owner, signal, chance)
    const ended = (told: number | null): void => this.#observer.see({ kind: 'InferenceEnded', inference, used, told })
    return this.#answer(stream, reply, used, chance, ended)
  }

  #answer(
    stream: ModelStream,
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
          events.map((event) => event.replace(/\}("\}\}\])/, '$1')), // the last bracket of each call
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

function cutAt(events: readonly string[], chance: Chance): readonly string[] {
  const text = events.join('')
  return [text.slice(0, chance.index(text.length - 14))] // before the end mark begins
}
