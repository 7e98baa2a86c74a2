/**
 * The world outside: tools and a bank whose effects happen or do not, whatever the process learns of it. What each effect
 * does is chosen by its token, so that the same request meets the same fate.
 */
import type { JsonObject } from '../../../core/index.ts'
import { notDone, type Tool, type ToolAnswer } from '../../../tools/index.ts'
import type { HttpReply, HttpRequest } from '../../../world/index.ts'
import { type Chance, chanceOf } from '../chance.ts'
import { connectionLost } from '../machine/sim-net.ts'
import type { Owner, Turns } from '../machine/turns.ts'
import type { Observer } from './observer.ts'

/** What becomes of an effect. The first two are what should happen. */
const FATES = [
  'works',
  'works slowly',
  'declines',
  'fails before',
  'fails after',
  'says that it failed',
  'never happens and stalls',
  'happens and never answers',
  'answers too late',
] as const
type Fate = (typeof FATES)[number]

export class Effects {
  readonly #seed: number
  readonly #turns: Turns
  readonly #observer: Observer
  #count = 0
  #sent = 0

  constructor(seed: number, turns: Turns, observer: Observer) {
    this.#seed = seed
    this.#turns = turns
    this.#observer = observer
  }

  /** A tool whose effects are counted here. */
  tool(owner: Owner, name: string): Tool {
    return {
      definition: {
        name,
        description: `Has one effect of the kind "${name}".`,
        parameters: {
          type: 'object',
          properties: {
            token: { type: 'string', minLength: 1, maxLength: 200 },
            amount: { type: 'integer', minimum: 0 },
            to: { type: 'string', maxLength: 20 },
          },
          required: ['token', 'amount'],
          additionalProperties: false,
        },
      },
      run: (args, { signal }) => this.run(owner, name, String(args.token), args, signal),
    }
  }

  /** A call leaves for a foreign server; gives the number under which it may arrive. */
  send(owner: Owner, tool: string, token: string, args: JsonObject): number {
    this.#sent += 1
    this.#observer.see({ kind: 'CallSent', life: owner.life, sent: this.#sent, tool, token, args })
    return this.#sent
  }

  /**
   * `isClear` is false for an answer that nobody can understand: whatever it says, it does not count as said. `sent`: as the call was
   * announced when it left.
   */
  run(
    owner: Owner,
    tool: string,
    token: string,
    args: JsonObject,
    signal: AbortSignal,
    { isClear = true, sent }: { readonly isClear?: boolean; readonly sent?: number } = {},
  ): Promise<ToolAnswer> {
    if (!owner.alive) return new Promise(() => undefined) // the dead have no effects
    this.#count += 1
    const effect = this.#count
    const chance = chanceOf(this.#seed, `effect ${tool} ${token}`)
    const fate: Fate = chance.happens(0.75) ? 'works' : chance.pick(FATES)
    const from = sent === undefined ? {} : { sent }
    this.#observer.see({ kind: 'EffectBegan', life: owner.life, effect, tool, token, args, ...from })
    return new Promise((resolve, reject) => {
      this.#meet(effect, fate, chance, { owner, signal, isClear, resolve, reject })
    })
  }

  #meet(effect: number, fate: Fate, chance: Chance, { owner, signal, isClear, resolve, reject }: Meeting): void {
    const turns = this.#turns
    const roadMs = chance.happens(0.1) ? chance.between(100, 8_000) : chance.fraction() * 3
    const happen = (): void => this.#observer.see({ kind: 'EffectHappened', effect })
    const say = (answer: 'done' | 'not done' | 'error' | 'thrown', tell: () => void): void => {
      turns.after(roadMs, owner, `answer of effect ${effect}`, () => {
        this.#observer.see({
          kind: 'EffectAnswered',
          effect,
          answer: isClear ? answer : 'thrown',
          late: signal.aborted,
        })
        tell()
      })
    }
    const done = (): void => say('done', () => resolve('done'))
    /** Whether it happens is up to the world outside: a process that is dead by then changes nothing. */
    const after = (ms: number, next: () => void): void => void turns.after(ms, null, 'effect', next)
    const fates: Record<Fate, () => void> = {
      works: () =>
        after(roadMs, () => {
          happen()
          done()
        }),
      'works slowly': () =>
        after(roadMs + chance.between(1_000, 20_000), () => {
          happen()
          done()
        }),
      declines: () => say('not done', () => resolve(notDone('the bank declined'))),
      'fails before': () => say('thrown', () => reject(new Error('the bank was not reached'))),
      'fails after': () =>
        after(roadMs, () => {
          happen()
          say('thrown', () => reject(new Error('the answer was lost')))
        }),
      'says that it failed': () =>
        after(roadMs, () => {
          if (chance.happens(0.5)) happen()
          say('error', () => resolve({ content: 'it failed', is_error: true }))
        }),
      'never happens and stalls': () => this.#whenStopped(effect, { owner, signal, reject }),
      'happens and never answers': () => {
        after(roadMs, happen)
        this.#whenStopped(effect, { owner, signal, reject })
      },
      'answers too late': () =>
        after(roadMs, () => {
          happen()
          turns.after(chance.between(31_000, 90_000), owner, 'late answer', () => {
            this.#observer.see({
              kind: 'EffectAnswered',
              effect,
              answer: isClear ? 'done' : 'thrown',
              late: signal.aborted,
            })
            resolve('done')
          })
        }),
    }
    fates[fate]()
  }

  #whenStopped(effect: number, { owner, signal, reject }: Pick<Meeting, 'owner' | 'signal' | 'reject'>): void {
    const stop = (): void => {
      if (!owner.alive) return
      this.#observer.see({ kind: 'EffectAnswered', effect, answer: 'thrown', late: true })
      reject(signal.reason)
    }
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
  }

  /** The bank over HTTP, which delegated runs reach too: `http://bank.example/pay?token=…`. */
  async request(owner: Owner, { method, url }: HttpRequest, signal: AbortSignal): Promise<HttpReply> {
    const asked = new URL(url)
    const token = asked.searchParams.get('token') ?? ''
    const args = { method, url }
    try {
      const answer = await this.run(owner, 'http_request', token, args, signal)
      if (typeof answer === 'string') return replyOf(200, answer)
      if (!answer.is_error) return replyOf(503, answer.content)
    } catch {
      // told below, as a connection tells it
    }
    throw connectionLost()
  }
}

interface Meeting {
  readonly owner: Owner
  readonly signal: AbortSignal
  readonly isClear: boolean
  readonly resolve: (answer: ToolAnswer) => void
  readonly reject: (error: unknown) => void
}

export function replyOf(status: number, text: string, type = 'text/plain'): HttpReply {
  const close = async (): Promise<void> => undefined
  const body = async function* (): AsyncGenerator<Uint8Array> {
    yield Buffer.from(text)
  }
  return { status, headers: [['content-type', type]], body: body(), [Symbol.asyncDispose]: close }
}
