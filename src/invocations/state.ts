/** What a claim that nobody holds says about its invocation. Computes only: the files were read by somebody else. */
import type { JsonObject } from '../core/index.ts'
import type { ClaimLines } from './claim-file.ts'
import type { Existing } from './claims.ts'
import type { Receipt } from './receipt.ts'

/** `needsReconciling` is what the journal says; `resolution` was verified against the bytes as they are now. */
export function stateOf(
  { claim, audit, result, torn }: ClaimLines,
  needsReconciling: boolean,
  resolution: Receipt | null,
): Existing {
  if (resolution !== null && audit !== null) return { kind: 'Reconciled', audit, resolution }
  if (torn || claim === null || audit === null) return { kind: 'Unresolved', audit: null }
  if (result === null || needsReconciling) return { kind: 'Unresolved', audit } // law 3
  return { kind: 'Recorded', audit, result: result.payload }
}

/** The form in which HTTP and the command line show a state. */
export function statusOf(state: Existing): JsonObject {
  switch (state.kind) {
    case 'InProgress':
      return { status: 'in_progress' }
    case 'Unresolved':
      return { status: 'unresolved', audit: state.audit }
    case 'Recorded':
      return { status: 'recorded', audit: state.audit, result: state.result }
    case 'Reconciled':
      return { status: 'reconciled', audit: state.audit, resolution: state.resolution }
  }
}
