/**
 * The gate over a policy folder that may change while it is open.
 *
 * Each question looks at the folder first, at the price of one stat for each folder and file, so a change is in force at
 * the next decision. A grant already given is not touched: it belongs to the decision that it came from.
 *
 * - A folder that is bad at the start denies everything, until it is mended.
 * - A folder that turns bad later changes nothing: the last good policies stay in force, and the problem is reported once.
 *   One that could not be read is read again for each question, since it may be readable without having changed.
 * - Policies that all disappear deny everything, replies included: whether somebody revoked them or a mount was lost, the
 *   answer must not become wider than it was. A folder that never had policies is the ordinary fail-closed default.
 */
import type { ActionName } from '../../calls/index.ts'
import { type Fault, instantOf, isFault } from '../../core/index.ts'
import type { World } from '../../world/index.ts'
import { type CedarGate, cedarGate } from '../cedar/cedar-gate.ts'
import type { PolicyEntry } from '../cedar/policy-set.ts'
import { denyEverythingGate, failClosedGate, permissiveGate } from '../fixed-gates.ts'
import { type ApprovalAnswer, type Decision, deny, type Gate, type GateQuestion, mayAllow } from '../gate.ts'
import { type LoadOptions, unusableGate } from './load-policies.ts'
import { type PolicyReading, readPolicyFolder } from './policy-folder.ts'

export type PolicyNews =
  /** These policies are in force now; `policies` is 0 for the fail-closed default. */
  | { readonly kind: 'Loaded'; readonly policies: number; readonly files: readonly string[] }
  /** The folder is bad, and the policies from before stay in force. */
  | { readonly kind: 'Kept'; readonly problem: Fault }
  /** The folder is bad, there are no policies from before, and everything is denied. */
  | { readonly kind: 'Refused'; readonly problem: Fault }
  /** All policies are gone, and everything is denied. */
  | { readonly kind: 'Emptied' }

export interface WatchOptions extends LoadOptions {
  /** Told once for every change of the folder, the first reading included. */
  readonly report: (news: PolicyNews) => void
}

export interface WatchedGate extends Gate, Disposable {
  /** Which gate answers at the moment: `cedar`, `fail-closed`, `deny-everything` or `permissive`. */
  readonly current: string
}

/** Reads the folder once, and resolves with a gate whatever it finds. */
export async function watchedGate(world: World, options: WatchOptions): Promise<WatchedGate> {
  const gate = new Watched(world, options)
  await gate.refresh()
  return gate
}

/** A file system may stamp two writes within this time alike. */
const STAMP_NS = 50_000_000n

class Watched implements WatchedGate {
  readonly name = 'watched-policies'
  readonly #world: World
  readonly #options: WatchOptions
  #inner: Gate
  #cedar: CedarGate | null = null
  /** True once policies were in force: from then on their absence is a loss. */
  #hadPolicies = false
  #seen: PolicyReading | null = null
  /** False while a later write could have left the same marks. */
  #settled = false
  /** What was reported last, so that one change is reported once. */
  #told = ''
  #refreshing: Promise<void> | null = null

  constructor(world: World, options: WatchOptions) {
    this.#world = world
    this.#options = options
    this.#inner =
      options.insecureAllowAll === undefined
        ? denyEverythingGate('the policies are not read yet')
        : permissiveGate(options.insecureAllowAll.warn)
  }

  get current(): string {
    return this.#inner.name
  }

  async approve(question: GateQuestion, signal: AbortSignal): Promise<ApprovalAnswer> {
    await this.refresh()
    return this.#inner.approve(question, signal)
  }

  async decide(question: GateQuestion, signal: AbortSignal): Promise<Decision> {
    await this.refresh()
    if (signal.aborted) return deny('the question was cancelled before policy answered')
    return this.#inner.decide(question, signal)
  }

  /** A gate that has no preview denies nothing before a person was asked. */
  async preview(question: GateQuestion, signal: AbortSignal): Promise<Decision> {
    await this.refresh()
    if (signal.aborted) return deny('the question was cancelled before policy answered')
    return (await this.#inner.preview?.(question, signal)) ?? { kind: 'Allow', policies: [] }
  }

  async mayAllow(actions: readonly ActionName[], signal: AbortSignal): Promise<readonly boolean[]> {
    await this.refresh()
    return await mayAllow(this.#inner, actions, signal)
  }

  /** After this, what answers was read after the call began, or is known to be unchanged. */
  async refresh(): Promise<void> {
    if (this.#options.insecureAllowAll !== undefined) return
    // A reading that began before this question may have missed what the asker already saw.
    if (this.#refreshing !== null) await this.#refreshing
    if (this.#isFresh()) return
    this.#refreshing ??= this.#read().finally(() => {
      this.#refreshing = null
    })
    await this.#refreshing
  }

  [Symbol.dispose](): void {
    this.#inner = denyEverythingGate('the policies were closed')
    this.#cedar?.[Symbol.dispose]()
    this.#cedar = null
  }

  #isFresh(): boolean {
    return this.#seen !== null && this.#settled && !this.#seen.marks.changed()
  }

  async #read(): Promise<void> {
    const { folder, surface } = this.#options
    const startedNs = instantOf(this.#world.clock.wall())
    this.#seen = null // until this reading is in force, whatever happens to it
    const reading = await readPolicyFolder(this.#world, folder, surface)
    // what the system refused once it may give the next time, and no mark tells of that
    const refused = reading.kind === 'Bad' && isFault(reading.problem, 'POLICY_UNREADABLE')
    const settled = !refused && startedNs - reading.marks.newestNs > STAMP_NS
    const news = this.#take(reading)
    this.#seen = reading
    this.#settled = settled
    const key = `${news.kind} ${reading.marks.text()}`
    if (key === this.#told) return
    this.#told = key
    this.#options.report(news)
  }

  #take(reading: PolicyReading): PolicyNews {
    if (reading.kind === 'Bad') return this.#refuse(reading.problem)
    if (reading.kind === 'None') return this.#empty()
    try {
      const cedar = this.#cedarWith(reading.entries)
      this.#inner = cedar
      this.#hadPolicies = true
      return { kind: 'Loaded', policies: cedar.activeCount(), files: reading.files }
    } catch (error) {
      if (isFault(error)) return this.#refuse(error)
      throw error
    }
  }

  #cedarWith(entries: readonly PolicyEntry[]): CedarGate {
    if (this.#cedar === null) {
      const engine = this.#options.engine === undefined ? {} : { engine: this.#options.engine }
      this.#cedar = cedarGate({ policies: entries, default: 'deny', ...engine })
    } else {
      this.#cedar.replaceAll(entries)
    }
    return this.#cedar
  }

  #refuse(problem: Fault): PolicyNews {
    if (this.#hadPolicies) return { kind: 'Kept', problem }
    this.#inner = unusableGate(problem)
    return { kind: 'Refused', problem }
  }

  #empty(): PolicyNews {
    if (this.#hadPolicies) {
      this.#inner = denyEverythingGate('all policies are gone, so no action is allowed')
      return { kind: 'Emptied' }
    }
    this.#inner = failClosedGate()
    return { kind: 'Loaded', policies: 0, files: [] }
  }
}
