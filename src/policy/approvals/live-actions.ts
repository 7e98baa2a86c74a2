/**
 * The live actions of a queue, and how each comes to its end. A step is taken in memory at once and in one go; its record
 * follows, one write after the other for each action, and has an owner here until it is done.
 */
import { assert, canonical, type Hash } from '../../core/index.ts'
import type { World } from '../../world/index.ts'
import type { KeptEnd, Phase, QueueChange, WaitEnd } from './held-action.ts'
import { askedByOf, askerOf, kindOf, snapshotOf, summaryOf } from './held-call.ts'
import type { HoldRequest, QueueOptions } from './queue-calls.ts'
import { become, type Entry, entryOf, RecentEnds, requestOf, resolutionOf } from './queue-entry.ts'
import type { QueueFiles } from './queue-files.ts'
import { expiryOf, hasLapsed, QUEUE_LIMITS, type QueueLimits } from './queue-limits.ts'

export class LiveActions {
  readonly recent: RecentEnds
  readonly #limits: QueueLimits
  readonly #world: World
  readonly #files: QueueFiles
  readonly #options: QueueOptions
  readonly #live = new Map<string, Entry>()
  readonly #listeners = new Set<{ readonly tell: (change: QueueChange) => void }>()
  /** What is still being written for actions that have ended, and audits under way. */
  readonly #owed = new Set<Promise<void>>()
  #bytes = 0

  constructor(world: World, files: QueueFiles, options: QueueOptions) {
    this.#world = world
    this.#files = files
    this.#options = options
    this.#limits = { ...QUEUE_LIMITS, ...options.limits }
    this.recent = new RecentEnds(this.#limits.recentMax)
  }

  all(): readonly Entry[] {
    return [...this.#live.values()]
  }

  /** Null until its request is durable. */
  shown(id: string): Entry | null {
    const entry = this.#live.get(id)
    return entry?.shown === true ? entry : null
  }

  like(subject: Hash, session: Hash): Entry | null {
    for (const entry of this.#live.values()) {
      if (entry.use === 'presented' && entry.subject === subject && entry.session === session) return entry
    }
    return null
  }

  /** A new action, on its way to the disk, or why there is none. */
  begin(request: HoldRequest, signal: AbortSignal): Entry | string {
    const { call, run, reason, use, lifetimeMs } = request
    const expiry = expiryOf(this.#world.clock, lifetimeMs)
    if (expiry === null) return 'timeout'
    const { deadlineMs, ...times } = expiry
    const asker = askerOf(request)
    const id = this.#freshId()
    const context_snapshot = snapshotOf(id, call, run)
    const bytes = Buffer.byteLength(canonical(context_snapshot))
    const full = this.#full(asker.session, bytes)
    if (full !== null) return full
    const about = { id, agent_id: run.agent_id, kind: kindOf(call), summary: summaryOf(call), reason, context_snapshot }
    const asked_by = askedByOf(run)
    const who = Object.keys(asked_by).length === 0 ? {} : { asked_by }
    const action = Object.freeze({ ...about, ...who, ...times, status: 'pending' as const })
    const entry = entryOf(action, asker, { use, bytes, deadlineMs })
    this.#live.set(id, entry)
    this.#bytes += bytes
    this.#watch(entry, lifetimeMs, signal)
    entry.opened = this.write(entry, () => this.#open(entry))
    entry.opened.catch(() => undefined) // told to all who wait for it
    return entry
  }

  /** The deadline is over on either clock. */
  lapse(): void {
    for (const entry of this.#live.values()) {
      if (hasLapsed(this.#world.clock, entry)) this.finish(entry, 'expired')
    }
  }

  /** Ends the action now; its record follows. A second end is none. */
  finish(entry: Entry, phase: Exclude<KeptEnd['ended'], 'spent'>): void {
    if (this.#live.get(entry.id) !== entry) return
    this.#end(entry, phase, null).catch(() => undefined) // reported by its owner
    if (entry.told && phase === 'expired') this.tell('expired', entry)
    if (entry.told && phase === 'withdrawn') this.tell('withdrawn', entry)
  }

  /** Uses the approval up, for this one call. Resolves when that is durable; what cannot be kept is used up all the same. */
  async spend(entry: Entry, fingerprint: Hash): Promise<void> {
    await this.#end(entry, 'spent', fingerprint)
  }

  write(entry: Entry, step: () => Promise<void>): Promise<void> {
    const mine = entry.writes.then(step)
    entry.writes = mine.catch(() => undefined) // the next step sees for itself what is there
    return mine
  }

  /** No promise is without an owner: what fails here is reported. */
  owe(work: Promise<void>, what: string): void {
    const owed = work
      .catch((error: unknown) => this.#options.report?.(what, error))
      .finally(() => this.#owed.delete(owed))
    this.#owed.add(owed)
  }

  async settled(): Promise<void> {
    while (this.#owed.size > 0) await Promise.all(this.#owed)
  }

  subscribe(tell: (change: QueueChange) => void): () => void {
    const own = { tell }
    this.#listeners.add(own)
    return () => void this.#listeners.delete(own)
  }

  tell(kind: QueueChange['kind'], entry: Entry): void {
    const { action } = entry
    entry.told = true
    for (const { tell } of [...this.#listeners]) {
      try {
        tell({ kind, action })
      } catch (error) {
        this.#options.report?.('a listener of the approvals failed', error)
      }
    }
  }

  async #end(entry: Entry, phase: KeptEnd['ended'], spentFor: Hash | null): Promise<void> {
    if (!this.#live.delete(entry.id)) return
    this.#bytes -= entry.bytes
    entry.stopWatching()
    become(entry, phase)
    this.recent.add({ ...entry, reason: entry.decision?.reason ?? null })
    entry.end(waitEndOf(entry, phase))
    const { decision } = entry
    const at = this.#world.clock.wall()
    const end = { version: 1, request: requestOf(entry), decision, ended: phase, at, spent_for: spentFor } as const
    // What was not shown by then was not kept either, and there is nothing to end.
    const kept = this.write(entry, async () => (entry.shown ? await this.#files.keepEnd(end) : undefined))
    const settled = kept.then(() =>
      this.write(entry, async () => (entry.shown ? await this.#files.settle(entry.id) : undefined)),
    )
    this.owe(settled, 'the end of a held action cannot be kept')
    await kept
  }

  /** What ends it without a decision. Somebody who waits keeps the process; of who comes back, only the time counts. */
  #watch(entry: Entry, lifetimeMs: number, signal: AbortSignal): void {
    const waits = entry.use === 'waits'
    const stopTimer = this.#world.clock.timer(lifetimeMs, () => this.finish(entry, 'expired'), waits)
    const leave = (): void => this.finish(entry, 'withdrawn')
    if (waits) signal.addEventListener('abort', leave, { once: true })
    entry.stopWatching = () => {
      stopTimer()
      signal.removeEventListener('abort', leave)
    }
  }

  async #open(entry: Entry): Promise<void> {
    try {
      const fresh = await this.#files.keepRequest(requestOf(entry))
      assert(fresh, '64 random bits name one action')
    } catch (error) {
      this.finish(entry, 'withdrawn') // nothing of it was shown
      throw error
    }
    entry.shown = true
    if (entry.phase === 'pending' && hasLapsed(this.#world.clock, entry)) this.finish(entry, 'expired')
    else if (entry.phase === 'pending') this.tell('held', entry)
  }

  #freshId(): string {
    for (;;) {
      const id = Buffer.from(this.#world.random.bytes(8)).toString('hex')
      if (!this.#live.has(id) && this.recent.get(id) === null) return id
    }
  }

  #full(session: Hash, bytes: number): string | null {
    const { perSessionMax, heldMax, snapshotBytesMax, snapshotsBytesMax } = this.#limits
    if (bytes > snapshotBytesMax) return `the call is too large to be reviewed: ${bytes} of ${snapshotBytesMax} bytes`
    let own = 0
    for (const entry of this.#live.values()) own += entry.session === session ? 1 : 0
    if (own >= perSessionMax) return `${perSessionMax} calls of this session wait for an approval already`
    if (this.#live.size >= heldMax || this.#bytes + bytes > snapshotsBytesMax)
      return 'too many calls wait for an approval'
    return null
  }
}

function waitEndOf(entry: Entry, phase: Phase): WaitEnd {
  if (phase === 'approved' && entry.decision !== null) {
    return { kind: 'Approved', resolution: resolutionOf(entry, entry.decision) }
  }
  if (phase === 'denied') return { kind: 'Denied', reason: entry.decision?.reason ?? null }
  return { kind: phase === 'withdrawn' ? 'Withdrawn' : 'Expired' }
}
