/**
 * Surfaces that are told of each action while it waits for its decision: they show it, and may resolve it. They hear of it
 * from the queue, so whoever held the call, and whether somebody waits for the answer or comes back for it, is all the same.
 */
import type { ApprovalResolution } from '../../calls/index.ts'
import { Fault, messageOf } from '../../core/index.ts'
import type { Approver, GivenDecision, HeldAction, QueueChange } from './held-action.ts'

export interface Asked {
  readonly action: HeldAction
  /** As `ApprovalQueue.resolve`, for this action. */
  resolve(given: GivenDecision, approver: Approver): Promise<ApprovalResolution>
}

export interface Notifier {
  /** For reports. */
  readonly name: string
  /** The signal is aborted when the wait ends; what has not ended by then is dropped. What it throws decides nothing. */
  notify(asked: Asked, signal: AbortSignal): Promise<void>
}

export interface Telling {
  readonly resolve: (id: string, given: GivenDecision, approver: Approver) => Promise<ApprovalResolution>
  /** Told of notifiers that failed. */
  readonly report?: ((what: string, error: unknown) => void) | undefined
}

/**
 * A listener for the changes of a queue, which tells the notifiers side by side and waits for none. Every action that was
 * held changes once more before its queue is closed, so no wait is forgotten.
 */
export function tellNotifiers(
  notifiers: readonly Notifier[],
  { resolve, report }: Telling,
): (change: QueueChange) => void {
  const waits = new Map<string, AbortController>()
  return ({ kind, action }) => {
    if (kind !== 'held') {
      waits.get(action.id)?.abort(new Fault('RUN_CANCELLED', { message: 'The wait for an approval is over' }))
      waits.delete(action.id)
      return
    }
    const over = new AbortController()
    waits.set(action.id, over)
    const asked: Asked = { action, resolve: (given, approver) => resolve(action.id, given, approver) }
    for (const notifier of notifiers) void notified(notifier, asked, over.signal, report)
  }
}

async function notified(
  notifier: Notifier,
  asked: Asked,
  signal: AbortSignal,
  report: Telling['report'],
): Promise<void> {
  try {
    await notifier.notify(asked, signal)
  } catch (error) {
    if (!signal.aborted) report?.(`the notifier "${notifier.name}" failed: ${messageOf(error)}`, error)
  }
}
