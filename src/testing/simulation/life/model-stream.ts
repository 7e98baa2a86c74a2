/** How an answer of the model travels: in pieces, with pauses, to its end or not. */
import type { Chance } from '../chance.ts'
import type { Owner, Turns } from '../machine/turns.ts'

/** One answer on its way. */
export class ModelStream {
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
