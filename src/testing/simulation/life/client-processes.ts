/**
 * The processes that tool clients start for themselves, beside the one that serves: on the same machine and the same disk, each
 * for as long as its client keeps its end of the streams open.
 */
import { isFault } from '../../../core/index.ts'
import type { Chance } from '../chance.ts'
import type { Machine } from '../machine/machine.ts'
import type { Outside } from '../machine/sim-net.ts'
import type { Owner } from '../machine/turns.ts'
import { Wire } from '../machine/wire.ts'
import type { Observer } from './observer.ts'
import type { ForeignAndOwn } from './program.ts'
import { heldWhenQuiet } from './quiet.ts'
import type { OwnProcess } from './shore.ts'
import { runStdioProgram } from './stdio-program.ts'

/** They are numbered from here on, so that those that serve are counted as if there were no others. */
const FIRST_LIFE = 1_001
/** Seconds. What a process waits for may stall several times. */
const END_TRIES = 3_600

export interface ClientProcessParts {
  readonly machine: Machine
  readonly observer: Observer
  readonly tools: ForeignAndOwn
  readonly outside: Outside
  /** Of its streams. */
  readonly chance: Chance
}

interface Running {
  readonly owner: Owner
  /** The process's ends of its streams. */
  readonly input: Wire
  readonly output: Wire
  readonly stop: AbortController
  /** What is to be let go of when it is dead. */
  readonly atDeath: (() => void)[]
  serves: boolean
}

export class ClientProcesses {
  readonly #parts: ClientProcessParts
  readonly #running = new Set<Running>()
  #count = 0
  #served = 0
  #killed = 0

  constructor(parts: ClientProcessParts) {
    this.#parts = parts
  }

  /** How many there have been. */
  get count(): number {
    return this.#count
  }

  /** How many of them have opened a session, and how many of these were killed before its end, with or without the machine. */
  get served(): number {
    return this.#served
  }
  get killed(): number {
    return this.#killed
  }

  start(): OwnProcess {
    const { machine, observer, tools, outside, chance } = this.#parts
    const owner: Owner = { life: FIRST_LIFE + this.#count, alive: true }
    const input = Wire.pair(machine.turns, chance, owner)
    const output = Wire.pair(machine.turns, chance, owner)
    const running: Running = {
      owner,
      input: input.server,
      output: output.server,
      stop: new AbortController(),
      atDeath: [],
      serves: false,
    }
    this.#running.add(running)
    observer.see({ kind: 'Started', life: owner.life })
    const around = {
      streams: running,
      ready: () => {
        if (!owner.alive) return
        this.#served += 1
        running.serves = true
        observer.note(`process ${owner.life} serves its client`)
      },
      atDeath: (letGo: () => void) => void running.atDeath.push(letGo),
    }
    runStdioProgram(machine.worldOf(owner, outside), owner, tools, observer, around, running.stop.signal).then(
      () => this.#close(running),
      (error: unknown) => this.#failed(running, error),
    )
    this.#count += 1
    return {
      input: input.client,
      output: output.client,
      stop: () => running.stop.abort(new Error('the process was asked to end')),
      kill: () => this.#crash(running, 'kill'),
    }
  }

  /** All of them: the machine is without power. */
  losePower(): void {
    for (const running of this.#running) this.#crash(running, 'power')
  }

  /** Waits until none is left. */
  async end(): Promise<void> {
    for (let tries = 0; this.#running.size > 0; tries += 1) {
      if (tries === END_TRIES) throw new Error('a process that a client had started does not end')
      await this.#parts.machine.turns.perform(1_000, null, 'somebody waits for the others', () => undefined)
    }
  }

  #crash(running: Running, how: 'kill' | 'power'): void {
    if (!running.owner.alive) return
    if (running.serves) this.#killed += 1
    this.#parts.observer.see({ kind: 'Crashed', life: running.owner.life, how })
    this.#bury(running, how)
  }

  #failed(running: Running, error: unknown): void {
    const { life, alive } = running.owner
    if (!alive) return
    const code = isFault(error) ? error.code : String(error)
    if (running.serves) this.#parts.observer.see({ kind: 'Broke', life, what: `its end failed: ${code}` })
    else if (!running.stop.signal.aborted) this.#parts.observer.see({ kind: 'BootFailed', life, code })
    void this.#close(running) // what has not begun holds nothing either
  }

  /** It has nothing more to do: its client sees the end, and it holds nothing any more. */
  async #close(running: Running): Promise<void> {
    const { owner, input, output } = running
    if (!owner.alive) return
    running.serves = false
    input.destroy()
    output.destroySoon() // what was answered last is still read
    const held = await heldWhenQuiet(this.#parts.machine, this.#parts.observer, owner)
    if (held === null) return
    this.#parts.observer.see({ kind: 'Closed', life: owner.life, held })
    this.#bury(running, 'kill')
  }

  #bury(running: Running, how: 'kill' | 'power'): void {
    this.#running.delete(running)
    this.#parts.machine.end(running.owner, how)
    running.input.destroy()
    running.output.destroy()
    for (const letGo of running.atDeath) letGo()
  }
}
