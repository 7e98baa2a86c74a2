/**
 * The queue of held actions: who waits for a person, and what the person said (8.6).
 *
 * One resolution an action, and it is durable before anybody hears of it. At the deadline the answer is no, even to a
 * decision that is ready. Nothing is locked while a file is written: every step is taken in memory first, in one go, so
 * that of two who decide the second finds the first. What an earlier process held has expired when the queue opens.
 */
import type { ApprovalResolution } from '../../calls/index.ts'
import { assert, cutText, fit } from '../../core/index.ts'
import type { World } from '../../world/index.ts'
import {
  type Approver,
  approverShape,
  type GivenDecision,
  type HeldAction,
  isHandle,
  type KeptDecision,
  nextPhase,
  type Presented,
  type QueueChange,
  statusOf,
} from './held-action.ts'
import { askerOf } from './held-call.ts'
import { LiveActions } from './live-actions.ts'
import { tellNotifiers } from './notifier.ts'
import type { HoldAnswer, HoldRequest, PresentedCall, QueueOptions } from './queue-calls.ts'
import { become, type Entry, resolutionOf } from './queue-entry.ts'
import { refusalOf, unresolvable } from './queue-faults.ts'
import { QueueFiles } from './queue-files.ts'
import { hasLapsed } from './queue-limits.ts'

const REASON_UNITS_MAX = 1024

export class ApprovalQueue implements AsyncDisposable {
  readonly world: World
  readonly #files: QueueFiles
  readonly #live: LiveActions
  readonly #options: QueueOptions
  #closed = false

  private constructor(world: World, files: QueueFiles, options: QueueOptions) {
    this.world = world
    this.#files = files
    this.#live = new LiveActions(world, files, options)
    this.#options = options
    const { notifiers = [], report } = options
    const resolve: ApprovalQueue['resolve'] = (id, given, approver) => this.resolve(id, given, approver)
    if (notifiers.length > 0) this.#live.subscribe(tellNotifiers(notifiers, { resolve, report }))
  }

  /** Throws `STORAGE_*` when the folder cannot be trusted. Makes nothing in a project that never held an action. */
  static async open(world: World, folder: string, options: QueueOptions = {}): Promise<ApprovalQueue> {
    const files = new QueueFiles(world, folder)
    const queue = new ApprovalQueue(world, files, options)
    for (const { request, decision, ended } of await files.bury(
      world.clock.wall(),
      options.report ?? (() => undefined),
    )) {
      const action = { ...request.action, status: statusOf(ended) }
      queue.#live.recent.add({ ...request, action, phase: ended, reason: decision?.reason ?? null })
    }
    return queue
  }

  /** What waits for a decision, the oldest first. */
  list(): readonly HeldAction[] {
    this.#live.lapse()
    return this.#live.all().flatMap(({ phase, shown, action }) => (shown && phase === 'pending' ? [action] : []))
  }

  /** Also of those that ended lately, then without the snapshot; null for what never was, was withdrawn, or is long over. */
  find(id: string): HeldAction | null {
    this.#live.lapse()
    const entry = this.#live.shown(id)
    if (entry !== null) return entry.action
    const end = this.#live.recent.get(id)
    return end === null || end.phase === 'withdrawn' ? null : end.action
  }

  /** Whether an approval was used up by a call; false of what is long over. */
  isSpent(id: string): boolean {
    return this.#live.recent.get(id)?.phase === 'spent'
  }

  /** As `find`, but complete, and from the files where memory does not reach. */
  async recall(id: string): Promise<HeldAction | null> {
    const found = this.find(id)
    if (found?.context_snapshot != null || !isHandle(id)) return found
    const end = await this.#files.recall(id)
    if (end === null) return found // its end may not have been moved yet
    return end.ended === 'withdrawn' ? null : { ...end.request.action, status: statusOf(end.ended) }
  }

  /**
   * Throws `APPROVAL_NOT_FOUND`, `APPROVAL_RESOLVED` or `APPROVAL_EXPIRED`; and `STORAGE_*` when the decision cannot be
   * kept, after which the answer is no.
   */
  async resolve(id: string, given: GivenDecision, approver: Approver): Promise<ApprovalResolution> {
    fit(approverShape, approver, 'the approver')
    this.#live.lapse()
    const entry = this.#live.shown(id)
    if (entry === null) throw unresolvable(id, this.#live.recent.get(id)?.phase ?? null)
    if (entry.phase !== 'pending' || entry.deciding) throw unresolvable(id, 'denied')
    const { decision } = given
    const reason = given.reason === undefined ? null : cutText(given.reason, REASON_UNITS_MAX)
    const kept: KeptDecision = { decision, reason, approver: { ...approver }, at: this.world.clock.wall() }
    entry.deciding = true
    entry.decision = kept
    try {
      await this.#live.write(entry, () => this.#files.keepDecision(id, kept))
    } catch (error) {
      this.#live.finish(entry, 'expired') // what may or may not be on the disk is no approval
      throw error
    } finally {
      entry.deciding = false
    }
    if (hasLapsed(this.world.clock, entry)) this.#live.finish(entry, 'expired')
    return this.#resolved(entry, kept)
  }

  /** The listener is called in the order of the changes; what it throws is its own affair. */
  subscribe(listener: (change: QueueChange) => void): () => void {
    return this.#live.subscribe(listener)
  }

  /** Removes what a session still holds, pending or approved. `session` is its `sessionBinding`, or its run key. */
  async withdraw(session: string): Promise<void> {
    for (const entry of this.#live.all()) {
      if (entry.session === session || entry.run === session) this.#live.finish(entry, 'withdrawn')
    }
    await this.#live.settled()
  }

  /**
   * For gates. Resolves when the request is durable and was announced. Rejects with `STORAGE_*`. While somebody waits for
   * the decision, the signal withdraws the request at once.
   */
  async hold(request: HoldRequest, signal: AbortSignal): Promise<HoldAnswer> {
    if (this.#closed) return { kind: 'NotHeld', reason: 'nobody can approve the call any more' }
    this.#live.lapse()
    const { subject, session } = askerOf(request)
    const same = request.use === 'presented' ? this.#live.like(subject, session) : null
    const entry = same ?? this.#live.begin(request, signal)
    if (typeof entry === 'string') return { kind: 'NotHeld', reason: entry }
    await entry.opened
    if (entry.phase === 'expired') return { kind: 'NotHeld', reason: 'timeout' }
    if (entry.phase === 'withdrawn' && entry.use === 'presented') {
      return { kind: 'NotHeld', reason: 'the session has ended' } // while it was written: its handle would lead nowhere
    }
    return { kind: 'Held', action: entry.action, ended: entry.ended }
  }

  /** For gates: what a handle is worth for this call. An approval is spent by it, durably, before the answer is given. */
  async present(handle: string, presented: PresentedCall): Promise<Presented> {
    this.#live.lapse()
    const asker = askerOf(presented)
    const entry = this.#live.shown(handle)
    const known = entry ?? this.#live.recent.get(handle)
    // One answer for what never was and for what belongs to others: a handle says nothing about another session.
    if (known === null || known.session !== asker.session || known.phase === 'withdrawn') {
      return { kind: 'Refused', reason: 'the approval handle is not known in this session' }
    }
    if (known.subject !== asker.subject) return { kind: 'Refused', reason: 'the approval handle is for another call' }
    if (known.phase === 'pending') return { kind: 'Pending', action: known.action }
    if (entry === null)
      return { kind: 'Refused', reason: refusalOf(known.phase, this.#live.recent.get(handle)?.reason) }
    const { decision } = entry
    assert(entry.phase === 'approved' && decision !== null, 'what is live and not pending is approved')
    await this.#live.spend(entry, presented.call.fingerprint)
    if (hasLapsed(this.world.clock, entry)) return { kind: 'Refused', reason: refusalOf('expired', null) }
    const leftMs = entry.deadlineMs - this.world.clock.monotonicMs()
    return { kind: 'Approved', resolution: resolutionOf(entry, decision), leftMs }
  }

  /** What is held has expired, and everything about it is written. Idempotent. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true
    for (const entry of this.#live.all()) this.#live.finish(entry, 'expired')
    await this.#live.settled()
    await this.#files.close()
  }

  #resolved(entry: Entry, kept: KeptDecision): ApprovalResolution {
    const phase = nextPhase(entry.phase, kept.decision)
    if (phase === null) throw unresolvable(entry.id, entry.phase) // it ended while the decision was written
    const resolution = resolutionOf(entry, kept)
    become(entry, phase)
    this.#live.tell('resolved', entry)
    const { audit } = this.#options
    if (audit !== undefined) this.#live.owe((async () => audit(resolution))(), 'the audit of an approval failed')
    if (phase === 'denied' || entry.use === 'waits')
      this.#live.finish(entry, phase === 'denied' ? 'denied' : 'approved')
    return resolution
  }
}
