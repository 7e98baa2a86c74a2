/**
 * One simulated life: processes boot, serve, crash and boot again while clients come and go; in the end everybody leaves, a
 * fresh process answers for every id, and the laws look at what is left.
 */
import { isFault } from '../../../core/index.ts'
import { neverStopped, nodeWorld, type World } from '../../../world/index.ts'
import { chanceOf } from '../chance.ts'
import { lawsOf } from '../laws/all.ts'
import type { Violation } from '../laws/law.ts'
import type { ClientAnswer } from '../laws/seen.ts'
import { SimDisk } from '../machine/disk.ts'
import { simClock, type Wall } from '../machine/sim-clock.ts'
import { type Outside, SimNet } from '../machine/sim-net.ts'
import { type Owner, Turns } from '../machine/turns.ts'
import { ChatClient } from './chat-client.ts'
import { Model } from './model.ts'
import { Observer } from './observer.ts'
import { watchOver } from './operator.ts'
import { Effects } from './outside.ts'
import type { ChatStep, Plan, PlannedEvent, ToolStep } from './plan.ts'
import { type Program, startProgram } from './program.ts'
import { allows, layOut, needsApproval, PROJECT } from './scenario.ts'
import type { Shore } from './shore.ts'
import { callOf, ToolClient } from './tool-client.ts'

export interface LivedLife {
  readonly seed: number
  readonly violations: readonly Violation[]
  readonly trace: readonly string[]
  /** The journals that are left, by the name of their file. */
  readonly journals: ReadonlyMap<string, Uint8Array>
  /** Steps of the machine, processes that ran, effects that began. */
  readonly steps: number
  readonly lives: number
  readonly effects: number
}

/** A life that has not become quiet by then hangs. */
const STEPS_MAX = 40_000
const GOVERNED = `${PROJECT}/.symbiont/governed`
const HELD = `${PROJECT}/.symbiont/approvals/held`

export async function live(plan: Plan): Promise<LivedLife> {
  warm ??= warmUp()
  await warm
  return await new LifeRun(plan).run()
}

let warm: Promise<unknown> | null = null

/**
 * What is loaded at its first use comes from the real disk, in real time, and a life that meets it is another one each time. So
 * one life is lived until it is the same twice, before the first that counts.
 */
async function warmUp(): Promise<void> {
  await Promise.all([import('@ai-sdk/openai-compatible'), import('fastify'), import('ws')])
  const events: PlannedEvent[] = [
    { kind: 'chat', client: 0, step: { do: 'send', request: 0 } },
    { kind: 'chat', client: 0, step: { do: 'await' } },
    { kind: 'tools', client: 0, step: { do: 'list' } },
    { kind: 'tools', client: 0, step: { do: 'call', call: 0, identified: true, wait: true } },
  ]
  for (let before = '', tries = 0; tries < WARM_MAX; tries += 1) {
    const { trace } = await new LifeRun({ seed: 0, events }).run()
    const now = trace.join('\n')
    if (now === before) return
    before = now
    await real.sleep(LOADING_MS, neverStopped())
  }
}

const WARM_MAX = 20
const LOADING_MS = 30
const real = nodeWorld().clock

class LifeRun {
  readonly #plan: Plan
  readonly #turns: Turns
  readonly #disk: SimDisk
  readonly #net: SimNet
  readonly #observer: Observer
  readonly #effects: Effects
  readonly #outside: Outside
  readonly #wall: Wall = { offsetMs: 0 }
  readonly #due: (PlannedEvent & { readonly at: number })[]
  #owner: Owner | null = null
  #program: Program | null = null
  #lives = 0
  #over = false
  #stopping = false

  constructor(plan: Plan) {
    const { seed, events } = plan
    this.#plan = plan
    this.#turns = new Turns(chanceOf(seed, 'turns'))
    const troubles = events.flatMap((event) => (event.kind === 'disk' ? [event.trouble] : []))
    this.#disk = new SimDisk(this.#turns, chanceOf(seed, 'disk'), troubles)
    this.#net = new SimNet(this.#turns, chanceOf(seed, 'network'))
    const laws = lawsOf({
      project: PROJECT,
      allows,
      needsApproval,
      requestOf: (token) => token.split('/')[0] ?? null,
      bootMayFail: (code) => troubles.some(({ how }) => how !== 'slow') && code.startsWith('STORAGE_'),
    })
    const now = (): string => `${String(this.#turns.taken).padStart(6)} ${this.#turns.nowMs.toFixed(1).padStart(10)} ms`
    this.#observer = new Observer(laws, this.#disk, now)
    this.#effects = new Effects(seed, this.#turns, this.#observer)
    const model = new Model(seed, this.#turns, this.#observer)
    this.#outside = {
      fetch: (owner, _url, body, signal) => model.fetch(owner, body, signal),
      request: (owner, request, signal) => this.#effects.request(owner, request, signal),
      resolve: () => ['203.0.113.5'],
    }
    this.#due = events.flatMap((event) => ('at' in event ? [event] : [])).toSorted((left, right) => left.at - right.at)
    layOut(this.#disk)
  }

  async run(): Promise<LivedLife> {
    this.#boot()
    const clients = this.#clients()
    await this.#until(Promise.all(clients))
    this.#due.length = 0
    this.#over = true
    await this.#until(this.#end())
    this.#disk.calm()
    this.#boot()
    await this.#until(this.#settle())
    await this.#until(this.#end())
    await this.#observer.settle({ project: PROJECT, publicKey: this.#observer.publicKey })
    return {
      seed: this.#plan.seed,
      violations: this.#observer.violations,
      trace: this.#observer.trace,
      journals: this.#journals(),
      steps: this.#turns.taken,
      lives: this.#lives,
      effects: this.#observer.seen.filter(({ kind }) => kind === 'EffectBegan').length,
    }
  }

  #journals(): ReadonlyMap<string, Uint8Array> {
    const names = this.#disk.visibleNames(GOVERNED).filter((name) => name.endsWith('.jsonl'))
    return new Map(names.map((name) => [name, this.#disk.visible(`${GOVERNED}/${name}`) ?? new Uint8Array()]))
  }

  /** Takes steps until the work is done, and lets happen what was planned meanwhile. */
  async #until(work: Promise<unknown>): Promise<void> {
    let isDone = false
    let failure: unknown = null
    work.then(
      () => {
        isDone = true
      },
      (error: unknown) => {
        isDone = true
        failure = error
      },
    )
    const lastStep = this.#turns.taken + STEPS_MAX
    while (!isDone) {
      while (this.#due[0] !== undefined && this.#due[0].at <= this.#turns.taken)
        this.#meet(this.#due.shift() as PlannedEvent)
      const step = await this.#turns.next()
      if (step === null || this.#turns.taken > lastStep) {
        this.#observer.see({
          kind: 'Broke',
          life: this.#lives,
          what: step === null ? 'everybody waits and nothing is under way' : 'it does not come to an end',
        })
        return
      }
    }
    if (failure !== null)
      this.#observer.see({
        kind: 'Broke',
        life: this.#lives,
        what: `the simulation failed: ${failure instanceof Error ? failure.stack : failure}`,
      })
  }

  #clients(): Promise<void>[] {
    const { seed, events } = this.#plan
    const chats = new Map<number, ChatStep[]>()
    const tools = new Map<number, ToolStep[]>()
    for (const event of events) {
      if (event.kind === 'chat') chats.set(event.client, [...(chats.get(event.client) ?? []), event.step])
      if (event.kind === 'tools') tools.set(event.client, [...(tools.get(event.client) ?? []), event.step])
    }
    const shore = this.#shore()
    void watchOver(shore)
    const starts = chanceOf(seed, 'starts')
    const later = (work: () => Promise<void>): Promise<void> =>
      this.#turns.perform(starts.between(0, 300), null, 'a client begins', () => undefined).then(work)
    return [
      ...[...chats].map(([client, steps]) => later(() => new ChatClient(shore, `chat ${client}`).run(steps))),
      ...[...tools].map(([client, steps]) => later(() => new ToolClient(shore, `tools ${client}`).run(steps))),
    ]
  }

  #shore(): Shore {
    const run = this
    return {
      seed: this.#plan.seed,
      turns: this.#turns,
      observer: this.#observer,
      connect: () => this.#net.connect(),
      isHeld: () => this.#disk.visibleNames(HELD).length > 0,
      get over() {
        return run.#over
      },
    }
  }

  #boot(): void {
    this.#lives += 1
    const owner: Owner = { life: this.#lives, alive: true }
    this.#owner = owner
    this.#program = null
    const world = this.#worldOf(owner)
    startProgram(world, owner, this.#effects, this.#observer).then(
      (program) => {
        if (!owner.alive) return program.letGo()
        this.#program = program
        this.#observer.see({ kind: 'Booted', life: owner.life })
      },
      (error: unknown) => {
        if (!owner.alive) return
        const code = isFault(error) ? error.code : String(error)
        this.#observer.see({ kind: 'BootFailed', life: owner.life, code })
        this.#bury(owner, 'kill')
        this.#turns.after(1_000, null, 'boot', () => this.#boot())
      },
    )
  }

  #worldOf(owner: Owner): World {
    const random = chanceOf(this.#plan.seed, `random of ${owner.life}`)
    return {
      clock: simClock(this.#turns, this.#wall, owner),
      random: { bytes: (count) => random.bytes(count) },
      files: this.#disk.filesOf(owner),
      net: this.#net.netOf(owner, this.#outside),
      processes: {
        pid: 1000 + owner.life,
        platform: 'linux',
        usage: () => ({ memoryBytes: 0, cpuMicros: 0 }),
        spawn: () => Promise.reject(new Error('a simulated process starts no others')),
        terminal: async () => null,
      },
      threads: { spare: 0 },
    }
  }

  #meet(event: PlannedEvent): void {
    switch (event.kind) {
      case 'crash':
        this.#crash(event.how)
        break
      case 'stop':
        this.#stop(event.drainMs)
        break
      case 'wall':
        this.#observer.note(`somebody sets the clock: ${event.ms} ms`)
        this.#wall.offsetMs += event.ms
        break
      case 'suspend':
        this.#observer.note(`the machine sleeps for ${event.ms} ms`)
        this.#turns.leap(event.ms)
        break
      case 'chat':
      case 'tools':
      case 'disk':
        break
    }
  }

  #crash(how: 'kill' | 'power'): void {
    const owner = this.#owner
    if (owner === null || !owner.alive) return
    this.#observer.see({ kind: 'Crashed', life: owner.life, how })
    this.#bury(owner, how)
    this.#turns.after(50, null, 'boot', () => this.#boot())
  }

  #bury(owner: Owner, how: 'kill' | 'power'): void {
    this.#turns.bury(owner)
    this.#disk.crash(how, owner)
    this.#net.crash(owner)
    this.#program?.letGo()
    this.#program = null
    this.#stopping = false
  }

  /** In good order, and then a new process. */
  #stop(drainMs: number): void {
    if (this.#program === null || this.#stopping) return
    this.#stopping = true
    this.#observer.note('the service is asked to stop')
    void this.#closed(drainMs).then((isClosed) => {
      if (isClosed) this.#turns.after(100, null, 'boot', () => this.#boot())
    })
  }

  /** False when the process died meanwhile: then this never happens at all. */
  async #closed(drainMs: number): Promise<boolean> {
    const { program, owner } = { program: this.#program, owner: this.#owner }
    if (program === null || owner === null) return false
    try {
      await program.service.close({ drainMs })
    } catch (error) {
      this.#observer.note(`the service did not close well: ${String(error)}`)
    }
    if (!owner.alive) return false
    await this.#turns.perform(120_000, null, 'quiet', () => undefined)
    if (!owner.alive) return false
    this.#observer.see({ kind: 'Closed', life: owner.life, held: this.#heldBy(owner, program) })
    this.#bury(owner, 'kill')
    return true
  }

  #heldBy(owner: Owner, { runtime }: Program): Readonly<Record<string, number>> {
    const { files, locks } = this.#disk.heldBy(owner)
    const { connections, listening } = this.#net.heldBy(owner)
    const waiting = this.#turns.waiting(owner)
    for (const what of [...files, ...locks, ...waiting]) this.#observer.note(`still held: ${what}`)
    return {
      files: files.length,
      locks: locks.length,
      connections,
      listening: listening ? 1 : 0,
      steps: waiting.length,
      chats: runtime.coordinator.holders,
    }
  }

  /** The last process that is there ends; one that has not come up yet is waited for. */
  async #end(): Promise<void> {
    for (;;) {
      for (let tries = 0; this.#program === null && tries < 600; tries += 1) {
        await this.#turns.perform(100, null, 'somebody waits for a process', () => undefined)
      }
      if (this.#program === null) throw new Error('no process came up')
      if (this.#stopping) {
        await this.#turns.perform(1_000, null, 'somebody waits for the stop', () => undefined)
        continue
      }
      this.#stopping = true
      if (await this.#closed(30_000)) return
    }
  }

  /** What a process without trouble answers about every id that was ever sent. */
  async #settle(): Promise<void> {
    const asked = new Map<string, { readonly surface: 'chat' | 'identified'; readonly label: string }>()
    for (const seen of this.#observer.seen) {
      if (seen.kind !== 'Asked' || seen.id === null || seen.surface === 'mcp' || asked.has(seen.id)) continue
      asked.set(seen.id, { surface: seen.surface, label: seen.request })
    }
    this.#over = false
    const shore = this.#shore()
    const operator = watchOver(shore)
    const last = new Last(this.#plan.seed, shore)
    for (const [id, { surface, label }] of asked) {
      const answer = await last.answerAbout(surface, id, label)
      if (answer === null) throw new Error(`nobody answered about ${label}`)
      this.#observer.see({ kind: 'Settled', surface, id, request: label, answer })
    }
    last.leave()
    this.#over = true
    await operator
  }
}

/** The last client, who asks about everything. */
class Last {
  readonly #seed: number
  readonly #shore: Shore
  readonly #chat: ChatClient
  #tools: ToolClient

  constructor(seed: number, shore: Shore) {
    this.#seed = seed
    this.#shore = shore
    this.#chat = new ChatClient(shore, 'the last one')
    this.#tools = new ToolClient(shore, 'the last one')
  }

  async answerAbout(surface: 'chat' | 'identified', id: string, label: string): Promise<ClientAnswer | null> {
    if (surface === 'chat') return await this.#chat.inspect(label, id)
    for (;;) {
      const answer = await this.#tools.make(callOf(this.#seed, label, label), id, label)
      if (answer?.kind !== 'Refused' || answer.code !== 'TOOL_SESSION_CLOSED') return answer
      this.#tools = new ToolClient(this.#shore, 'the last one') // a call before it ended the session
    }
  }

  leave(): void {
    this.#chat.hangUp()
  }
}
