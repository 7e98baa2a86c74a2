/**
 * From a claim to its result: the one road for every surface. Whatever the work does, a throw included, the claim lock is
 * released when this settles.
 */
import type { Json } from '../core/index.ts'
import type { EventLog } from '../events/index.ts'
import type { ClaimOwner } from './claims.ts'

/** `result` is what the work returned, and durable. Without it, nothing may be reported as done (laws 3 and 6). */
export type Ran<T> = { readonly kind: 'Recorded'; readonly result: T } | { readonly kind: 'Unresolved' }

export async function runOnce<T extends Json>(owner: ClaimOwner, work: (log: EventLog) => Promise<T>): Promise<Ran<T>> {
  try {
    const result = await work(owner.log)
    const { kind } = await owner.finish(result)
    return kind === 'Recorded' ? { kind, result } : { kind }
  } finally {
    await owner.release()
  }
}
