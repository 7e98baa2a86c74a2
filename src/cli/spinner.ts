/** A sign of life on a terminal, with the time that has passed; nothing elsewhere. */
import type { Cli } from './cli.ts'

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']
const FRAME_MS = 120

/** Shown on the line below the notes, while something is waited for. */
export class Spinner {
  readonly #cli: Cli
  #text = ''
  #frame = 0
  #startedMs = 0
  #cancel: (() => void) | null = null

  constructor(cli: Cli) {
    this.#cli = cli
  }

  start(text: string): void {
    this.#text = text
    this.#startedMs = this.#cli.world.clock.monotonicMs()
    this.#turn()
  }

  say(text: string): void {
    this.#text = text
    this.show()
  }

  show(): void {
    if (this.#cancel === null) return
    const passedMs = this.#cli.world.clock.monotonicMs() - this.#startedMs
    this.#cli.console.progress(`${FRAMES[this.#frame]} ${this.#text} ${seconds(passedMs)}`)
  }

  stop(): void {
    this.#cancel?.()
    this.#cancel = null
    this.#cli.console.progress('')
  }

  #turn(): void {
    if (!this.#cli.console.interactive) return
    this.#cancel?.()
    this.#frame = (this.#frame + 1) % FRAMES.length
    this.#cancel = this.#cli.world.clock.timer(FRAME_MS, () => this.#turn(), false)
    this.show()
  }
}

export function seconds(ms: number): string {
  return `${Math.round(ms / 1000)} s`
}
