/** One held action in memory, and the short memory of those that ended. */
import type { ApprovalResolution } from '../../calls/index.ts'
import type { Hash } from '../../core/index.ts'
import type { Asker, HeldAction, KeptDecision, KeptRequest, Phase, Use, WaitEnd } from './held-action.ts'
import { statusOf } from './held-action.ts'
export interface Entry extends Asker {
  readonly id: string
  /** Frozen; another one when the status changes. */
  action: HeldAction
  readonly use: Use
  readonly bytes: number
  readonly expires_at: HeldAction['expires_at']
  readonly deadlineMs: number
  readonly end: (end: WaitEnd) => void
  readonly ended: Promise<WaitEnd>
  phase: Phase
  /** True once its request is durable: nobody sees it before. */
  shown: boolean
  /** True once somebody was told of it, and so is told of its end. */
  told: boolean
  /** Resolves when it is. */
  opened: Promise<void>
  /** True while a decision is on its way to the disk. */
  deciding: boolean
  decision: KeptDecision | null
  /** Its writes, one after the other. */
  writes: Promise<void>
  stopWatching: () => void
}

export function entryOf(
  action: HeldAction,
  asker: Asker,
  more: { readonly use: Use; readonly bytes: number; readonly deadlineMs: number },
): Entry {
  let end = (_: WaitEnd): void => undefined
  const ended = new Promise<WaitEnd>((resolve) => {
    end = resolve
  })
  const { id, expires_at } = action
  const fresh = { phase: 'pending', shown: false, told: false, deciding: false, decision: null } as const
  const writes = { opened: Promise.resolve(), writes: Promise.resolve() }
  return { id, action, expires_at, ...asker, ...more, ...fresh, ...writes, end, ended, stopWatching: () => undefined }
}

export function requestOf({ action, use, subject, session, run }: Entry): KeptRequest {
  return { version: 1, action: { ...action, status: 'pending' }, use, subject, session, run }
}

/** The event of 8.6. */
export function resolutionOf({ id, action }: Entry, { decision, approver, at }: KeptDecision): ApprovalResolution {
  return { escalation_id: id, agent_id: action.agent_id, decision, approver: { ...approver }, at }
}

/** Changes the phase, and the status with it. */
export function become(entry: Entry, phase: Phase): void {
  entry.phase = phase
  entry.action = Object.freeze({ ...entry.action, status: statusOf(phase) })
}

export interface Ended {
  readonly action: HeldAction
  readonly phase: Phase
  readonly subject: Hash
  readonly session: Hash
  /** The operator's, of a denial. */
  readonly reason: string | null
}

/** The newest ends, bounded and without their snapshots: what is not here is on disk. */
export class RecentEnds {
  readonly #ends = new Map<string, Ended>()
  readonly #max: number

  constructor(max: number) {
    this.#max = max
  }

  get(id: string): Ended | null {
    return this.#ends.get(id) ?? null
  }

  add({ action, phase, subject, session, reason }: Ended): void {
    const bare = Object.freeze({ ...action, context_snapshot: null })
    this.#ends.set(action.id, { action: bare, phase, subject, session, reason })
    const [oldest] = this.#ends.keys()
    if (this.#ends.size > this.#max && oldest !== undefined) this.#ends.delete(oldest)
  }
}
