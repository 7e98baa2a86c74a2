/**
 * One simulated life: processes boot, serve, crash and boot again while clients come and go; in the end everybody leaves, a
 * fresh process answers for every id, and the laws look at what is left.
 */
import { nodeWorld } from '../../../world/index.ts'
import { chanceOf } from '../chance.ts'
import { lawsOf } from '../laws/all.ts'
import type { Violation } from '../laws/law.ts'
import type { SimDisk } from '../machine/disk.ts'
import { Machine } from '../machine/machine.ts'
import type { Outside } from '../machine/sim-net.ts'
import { ChatClient } from './chat-client.ts'
import { ClientProcesses } from './client-processes.ts'
import { FOREIGN_SERVER, FOREIGN_TOOL, FOREIGN_URL, ForeignServer, hasForeignServer } from './foreign-server.ts'
import { HttpLine } from './http-line.ts'
import { type AskedBefore, LastClient } from './last-client.ts'
import { Model } from './model.ts'
import { Observer } from './observer.ts'
import { watchOver } from './operator.ts'
import { Effects } from './outside.ts'
import type { ChatStep, Plan, PlannedEvent, ProcessEnd, ToolStep } from './plan.ts'
import { allows, areNone, isUsable, permits, writePolicies } from './policies.ts'
import { Processes } from './processes.ts'
import type { ForeignAndOwn } from './program.ts'
import { BANK_ADDRESS, layOut, needsApproval, OTHER_TOKEN, PROJECT } from './scenario.ts'
import type { OwnProcess, Shore } from './shore.ts'
import { StdioLine } from './stdio-line.ts'
import { ToolClient } from './tool-client.ts'
import { warmUp } from './warm-up.ts'

export interface LivedLife {
  readonly seed: number
  readonly violations: readonly Violation[]
  readonly trace: readonly string[]
  /** The journals that are left, by the name of their file. */
  readonly journals: ReadonlyMap<string, Uint8Array>
  /** Steps of the machine, processes that ran, effects that began. */
  readonly steps: number
  readonly processes: number
  readonly effects: number
  /**
   * How often each thing happened that a life need not meet. `holes`: files that a loss of power left with sectors never written;
   * `policies`: how often somebody wrote others; `breaks`: connections that broke; `requests`: HTTP requests that reached the other
   * side; `foreign effects`: what calls of a foreign server did; `refused changes`: how often a process refused a foreign tool
   * because it looked like another; `stdio processes`: those that a tool client started for itself and that served it; `stdio kills`:
   * how many of these were killed meanwhile, with or without the machine.
   */
  readonly met: Readonly<Record<string, number>>
}

/** What a look at the policies is made of. */
const READS: ReadonlySet<string> = new Set(['open', 'read', 'list', 'lstat'])
/** A life that has not become quiet by then hangs. */
const STEPS_MAX = 40_000
/** Of all lives: in these a stranger comes in the end. */
const STRANGERS = 0.15
const GOVERNED = `${PROJECT}/.symbiont/governed`
const HELD = `${PROJECT}/.symbiont/approvals/held`

export async function live(plan: Plan): Promise<LivedLife> {
  warm ??= warmUp((known) => new LifeRun(known).run())
  await warm
  return await bounded(new LifeRun(plan))
}

/** A life that waits for the real world would wait without a step, and nobody would be told. */
async function bounded(life: LifeRun): Promise<LivedLife> {
  let stopTimer = (): void => undefined
  const late = new Promise<never>((_, reject) => {
    stopTimer = real.timer(LIFE_MS, () => {
      const where = life.trace.at(-1) ?? 'before anything was seen'
      reject(
        new Error(`Cannot simulate: a life did not end within ${LIFE_MS} ms of real time. Its last event: ${where}`),
      )
    })
  })
  try {
    return await Promise.race([life.run(), late])
  } finally {
    stopTimer()
  }
}

/** Real time; a life takes a tenth of a second. */
const LIFE_MS = 180_000

let warm: Promise<unknown> | null = null

const real = nodeWorld().clock

class LifeRun {
  readonly #plan: Plan
  readonly #machine: Machine
  readonly #observer: Observer
  readonly #processes: Processes
  readonly #children: ClientProcesses
  /** What happens before the step of the machine with this number, in order. */
  #due: { readonly at: number; readonly happen: () => void }[]
  readonly #foreign: ForeignServer
  /** The client that starts processes of its own, where there is one. */
  #own: StdioLine | null = null
  #over = false

  constructor(plan: Plan) {
    const { seed, events } = plan
    this.#plan = plan
    const troubles = events.flatMap((event) => (event.kind === 'disk' ? [event.trouble] : []))
    const machine = new Machine(seed, troubles)
    this.#machine = machine
    const { turns } = machine
    const mayTakeLong = troubles.some(({ how }) => how === 'slow') || events.some(({ kind }) => kind === 'suspend')
    const laws = lawsOf({
      project: PROJECT,
      allows,
      permits,
      areNone,
      mayReadStale: troubles.some(({ on, how }) => READS.has(on) && how !== 'slow'),
      clockGoesBack: events.some((event) => event.kind === 'wall' && event.ms < 0),
      needsApproval,
      requestOf: (token) => token.split('/')[0] ?? null,
      bootMayFail: (code) =>
        (machine.disk.hasFailed && /^(?:STORAGE|AGENT|JOURNAL)_/.test(code)) ||
        (code === 'STORAGE_UNSAFE' && secondNames(machine.disk).length > 0) ||
        (code === 'JOURNAL_FAILED' && mayTakeLong), // nobody waits for a record for ever
    })
    const now = (): string => `${String(turns.taken).padStart(6)} ${turns.nowMs.toFixed(1).padStart(10)} ms`
    this.#observer = new Observer(laws, machine.disk, now)
    const effects = new Effects(seed, turns, this.#observer)
    const model = new Model(seed, turns, this.#observer)
    this.#foreign = new ForeignServer(seed, turns, effects, machine.disk)
    const servers = hasForeignServer(seed) ? [FOREIGN_SERVER] : []
    const tools: ForeignAndOwn = { effects, servers, hear: (news) => this.#foreign.hear(news) }
    const outside: Outside = {
      fetch: (owner, _url, body, signal) => model.fetch(owner, body, signal),
      request: (owner, request, signal) =>
        request.url === FOREIGN_URL
          ? this.#foreign.request(owner, request, signal)
          : effects.request(owner, request, signal),
      resolve: (name) => [FOREIGN_URL.includes(name) ? '198.41.0.4' : BANK_ADDRESS],
    }
    this.#processes = new Processes(machine, this.#observer, tools, outside)
    this.#children = new ClientProcesses({
      machine,
      observer: this.#observer,
      tools,
      outside,
      chance: chanceOf(seed, 'pipes'),
    })
    this.#due = events
      .flatMap((event) => ('at' in event ? [{ at: event.at, happen: () => this.#meet(event) }] : []))
      .toSorted((left, right) => left.at - right.at)
    layOut(machine.disk)
    writePolicies(machine.disk, 'ordinary')
    // whoever waits for the last process to end would wait for ever, so then it does not fail
    machine.disk.onCut = () => {
      if (!this.#over) this.#losePower()
    }
  }

  get trace(): readonly string[] {
    return this.#observer.trace
  }

  async run(): Promise<LivedLife> {
    this.#processes.boot()
    await this.#until(Promise.all(this.#clients()))
    this.#due = []
    this.#over = true
    await this.#until(Promise.all([this.#processes.end(), this.#children.end()]))
    this.#machine.calm()
    this.#tidyUp()
    this.#processes.boot()
    await this.#until(this.#settle())
    await this.#until(Promise.all([this.#processes.end(), this.#children.end()]))
    if (chanceOf(this.#plan.seed, 'stranger').happens(STRANGERS)) await this.#meetStranger()
    await this.#observer.settle({ project: PROJECT, publicKey: this.#observer.publicKey })
    return {
      seed: this.#plan.seed,
      violations: this.#observer.violations,
      trace: this.#observer.trace,
      journals: this.#journals(),
      steps: this.#machine.turns.taken,
      processes: this.#processes.count + this.#children.count,
      effects: this.#observer.seen.filter(({ kind }) => kind === 'EffectBegan').length,
      met: {
        holes: this.#machine.disk.holed,
        'foreign effects': this.#foreignEffects(),
        'refused changes': this.#foreign.refused,
        policies: this.#observer.seen.filter(({ kind }) => kind === 'PoliciesWritten').length,
        breaks: this.#machine.net.broken,
        requests: this.#observer.seen.filter((seen) => seen.kind === 'EffectBegan' && seen.tool === 'http_request')
          .length,
        'stdio processes': this.#children.served,
        'stdio kills': this.#children.killed,
      },
    }
  }

  /** Somebody who asked for nothing asks about every chat, and holds a token of his own. */
  async #meetStranger(): Promise<void> {
    this.#processes.token = OTHER_TOKEN
    this.#processes.boot()
    await this.#until(this.#askAsStranger())
    await this.#until(this.#processes.end())
  }

  async #askAsStranger(): Promise<void> {
    this.#over = false
    const stranger = new ChatClient(this.#shore(), 'a stranger')
    const asked = new Map<string, string>()
    for (const seen of this.#observer.seen)
      if (seen.kind === 'Asked' && seen.surface === 'chat' && seen.id !== null && !asked.has(seen.id))
        asked.set(seen.id, seen.request)
    for (const [id, label] of asked) await stranger.inspect(label, id)
    stranger.hangUp()
    this.#over = true
  }

  #foreignEffects(): number {
    const { seen } = this.#observer
    const foreign = new Set(
      seen.flatMap((each) => (each.kind === 'EffectBegan' && each.tool === FOREIGN_TOOL ? [each.effect] : [])),
    )
    return seen.filter((each) => each.kind === 'EffectHappened' && foreign.has(each.effect)).length
  }

  /** A person does what the runtime asks for. */
  #tidyUp(): void {
    for (const name of secondNames(this.#machine.disk)) {
      this.#observer.note(`a person removes ${name}`)
      this.#machine.disk.remove(`${GOVERNED}/${name}`)
    }
  }

  #journals(): ReadonlyMap<string, Uint8Array> {
    const names = this.#machine.disk.visibleNames(GOVERNED).filter((name) => name.endsWith('.jsonl'))
    return new Map(names.map((name) => [name, this.#machine.disk.visible(`${GOVERNED}/${name}`) ?? new Uint8Array()]))
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
    const lastStep = this.#machine.turns.taken + STEPS_MAX
    while (!isDone) {
      while (this.#due[0] !== undefined && this.#due[0].at <= this.#machine.turns.taken) this.#due.shift()?.happen()
      const step = await this.#machine.turns.next()
      if (step === null || this.#machine.turns.taken > lastStep) {
        this.#observer.see({
          kind: 'Broke',
          life: this.#processes.count,
          what: step === null ? 'everybody waits and nothing is under way' : 'it does not come to an end',
        })
        return
      }
    }
    if (failure !== null)
      this.#observer.see({
        kind: 'Broke',
        life: this.#processes.count,
        what: `the simulation failed: ${failure instanceof Error ? failure.stack : failure}`,
      })
  }

  #clients(): Promise<void>[] {
    const { seed, events } = this.#plan
    const chats = new Map<number, ChatStep[]>()
    const tools = new Map<number, ToolStep[]>()
    const own = events.flatMap((event) => (event.kind === 'stdio' ? [event.step] : []))
    for (const event of events) {
      if (event.kind === 'chat') chats.set(event.client, [...(chats.get(event.client) ?? []), event.step])
      if (event.kind === 'tools') tools.set(event.client, [...(tools.get(event.client) ?? []), event.step])
    }
    const shore = this.#shore()
    void watchOver(shore)
    const starts = chanceOf(seed, 'starts')
    const later = (work: () => Promise<void>): Promise<void> =>
      this.#machine.turns.perform(starts.between(0, 300), null, 'a client begins', () => undefined).then(work)
    return [
      ...[...chats].map(([client, steps]) => later(() => new ChatClient(shore, `chat ${client}`).run(steps))),
      ...[...tools].map(([client, steps]) => later(() => this.#overHttp(shore, `tools ${client}`).run(steps))),
      ...(own.length === 0 ? [] : [later(() => this.#runOwn(shore, own))]),
    ]
  }

  #overHttp(shore: Shore, name: string): ToolClient {
    return new ToolClient(shore, name, new HttpLine(shore, name))
  }

  async #runOwn(shore: Shore, steps: readonly ToolStep[]): Promise<void> {
    const line = new StdioLine(shore, 'stdio', (request, process) => this.#planEnds(request, process))
    this.#own = line
    await new ToolClient(shore, 'stdio', line).run(steps)
    await line.leave() // the end of a client is the end of its streams
    this.#own = null
  }

  /** What was planned for the process that is sent this request. */
  #planEnds(request: number, process: OwnProcess): void {
    for (const event of this.#plan.events) {
      if (event.kind !== 'end' || event.request !== request) continue
      const at = this.#machine.turns.taken + event.after
      const happen = (): void => this.#end(process, event.how)
      this.#due = [...this.#due, { at, happen }].toSorted((left, right) => left.at - right.at)
    }
  }

  #end(process: OwnProcess, how: ProcessEnd): void {
    if (how === 'stopped') process.stop()
    else if (how === 'killed') process.kill()
    else this.#own?.die()
  }

  /** Whoever is on the machine is gone. A client that was on it comes back with it. */
  #losePower(): void {
    this.#children.losePower()
    this.#own?.lose()
    this.#processes.crash('power')
  }

  #shore(): Shore {
    const run = this
    return {
      seed: this.#plan.seed,
      token: this.#processes.token,
      turns: this.#machine.turns,
      observer: this.#observer,
      connect: () => this.#machine.net.connect(),
      start: () => this.#children.start(),
      isHeld: () => this.#machine.disk.visibleNames(HELD).length > 0,
      get over() {
        return run.#over
      },
    }
  }

  #meet(event: PlannedEvent): void {
    switch (event.kind) {
      case 'crash':
        if (event.how === 'power') this.#losePower()
        else this.#processes.crash('kill')
        break
      case 'stop':
        this.#processes.stop(event.drainMs)
        break
      case 'wall':
        this.#observer.note(`somebody sets the clock: ${event.ms} ms`)
        this.#machine.wall.offsetMs += event.ms
        break
      case 'policies':
        writePolicies(this.#machine.disk, event.policies)
        this.#observer.see({ kind: 'PoliciesWritten', policies: event.policies, usable: isUsable(event.policies) })
        break
      case 'ledger':
        this.#observer.note('the tool of the foreign server looks like another one from now on')
        this.#foreign.change()
        break
      case 'suspend':
        this.#observer.note(`the machine sleeps for ${event.ms} ms`)
        this.#machine.turns.leap(event.ms)
        this.#foreign.slept(event.ms)
        break
      case 'chat':
      case 'tools':
      case 'stdio':
      case 'end':
      case 'disk':
        break
    }
  }

  /** What a process without trouble answers about every id that was ever sent. */
  async #settle(): Promise<void> {
    const asked = new Map<string, AskedBefore>()
    for (const seen of this.#observer.seen) {
      if (seen.kind !== 'Asked' || seen.id === null || seen.surface === 'mcp' || asked.has(seen.id)) continue
      asked.set(seen.id, { surface: seen.surface, label: seen.request, caller: seen.caller ?? null })
    }
    this.#over = false
    const shore = this.#shore()
    const operator = watchOver(shore)
    const last = new LastClient(shore)
    for (const [id, before] of asked) {
      const answer = await last.answerAbout(id, before)
      if (answer === null) throw new Error(`nobody answered about ${before.label}`)
      this.#observer.see({ kind: 'Settled', surface: before.surface, id, request: before.label, answer })
    }
    await last.leave()
    this.#over = true
    await operator
  }
}

/** A process that died while it made the signing key left the key a second name, and nobody uses it until that one is removed. */
function secondNames(disk: SimDisk): readonly string[] {
  return disk.visibleNames(GOVERNED).filter((name) => name.startsWith('.audit-signing.key.'))
}
