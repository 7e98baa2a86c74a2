/** The processes of a life, one after the other: how each comes up, dies, or ends in good order. */
import { isFault } from '../../../core/index.ts'
import type { Machine } from '../machine/machine.ts'
import type { Outside } from '../machine/sim-net.ts'
import type { Owner } from '../machine/turns.ts'
import type { Observer } from './observer.ts'
import { type ForeignAndOwn, type Program, startProgram } from './program.ts'
import { heldWhenQuiet } from './quiet.ts'
import { TOKEN } from './scenario.ts'

const BOOT_MS = 50
/** After a boot that failed, somebody tries again. */
const RETRY_MS = 1_000

/** Tenths of a second. The disk may stall a boot several times, for 45 s each. */
const BOOT_TRIES = 6_000

export class Processes {
  readonly #machine: Machine
  readonly #observer: Observer
  readonly #tools: ForeignAndOwn
  /** What is to be let go of when the process is dead. */
  #atDeath: (() => void)[] = []
  readonly #outside: Outside
  #owner: Owner | null = null
  #program: Program | null = null
  #stopping = false
  #count = 0
  /** Whose holder may connect, from the next boot on. */
  token = TOKEN

  constructor(machine: Machine, observer: Observer, tools: ForeignAndOwn, outside: Outside) {
    this.#machine = machine
    this.#observer = observer
    this.#tools = tools
    this.#outside = outside
  }

  /** How many there have been. */
  get count(): number {
    return this.#count
  }

  boot(): void {
    this.#count += 1
    const owner: Owner = { life: this.#count, alive: true }
    this.#owner = owner
    this.#program = null
    const world = this.#machine.worldOf(owner, this.#outside)
    const atDeath = (letGo: () => void): void => void this.#atDeath.push(letGo)
    startProgram(world, owner, this.#tools, this.#observer, { token: this.token, atDeath }).then(
      (program) => {
        if (!owner.alive) return
        this.#program = program
        this.#observer.see({ kind: 'Booted', life: owner.life })
      },
      (error: unknown) => {
        if (!owner.alive) return
        const code = isFault(error) ? error.code : String(error)
        this.#observer.see({ kind: 'BootFailed', life: owner.life, code })
        this.#bury(owner, 'kill')
        this.#bootAfter(RETRY_MS)
      },
    )
  }

  crash(how: 'kill' | 'power'): void {
    const owner = this.#owner
    if (owner === null || !owner.alive) return
    this.#observer.see({ kind: 'Crashed', life: owner.life, how })
    this.#bury(owner, how)
    this.#bootAfter(BOOT_MS)
  }

  /** In good order, and then a new process. */
  stop(drainMs: number): void {
    if (this.#program === null || this.#stopping) return
    this.#stopping = true
    this.#observer.note('the service is asked to stop')
    void this.#closed(drainMs).then((isClosed) => {
      if (isClosed) this.#bootAfter(BOOT_MS)
    })
  }

  /** The last process that is there ends; one that has not come up yet is waited for. */
  async end(): Promise<void> {
    const { turns } = this.#machine
    for (;;) {
      for (let tries = 0; this.#program === null && tries < BOOT_TRIES; tries += 1) {
        await turns.perform(100, null, 'somebody waits for a process', () => undefined)
      }
      if (this.#program === null) throw new Error('no process came up')
      if (this.#stopping) {
        await turns.perform(1_000, null, 'somebody waits for the stop', () => undefined)
        continue
      }
      this.#stopping = true
      if (await this.#closed(30_000)) return
    }
  }

  /** False when it did not come to its end; when the process died meanwhile, this never resolves. */
  async #closed(drainMs: number): Promise<boolean> {
    const { program, owner } = { program: this.#program, owner: this.#owner }
    if (program === null || owner === null) return false
    try {
      await program.close(drainMs)
    } catch (error) {
      this.#observer.note(`the service did not close well: ${String(error)}`)
    }
    if (!owner.alive) return false
    const held = await heldWhenQuiet(this.#machine, this.#observer, owner)
    if (held === null) return false
    const chats = program.runtime.coordinator.holders
    this.#observer.see({ kind: 'Closed', life: owner.life, held: { ...held, chats } })
    this.#bury(owner, 'kill')
    return true
  }

  #bury(owner: Owner, how: 'kill' | 'power'): void {
    this.#machine.end(owner, how)
    for (const letGo of this.#atDeath.splice(0)) letGo()
    this.#program = null
    this.#stopping = false
  }

  #bootAfter(ms: number): void {
    this.#machine.turns.after(ms, null, 'boot', () => this.boot())
  }
}
