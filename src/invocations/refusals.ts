/** The Faults of this folder that say why an id is not free, not known, or not reviewable. */
import { Fault } from '../core/index.ts'
import type { Name } from './identity.ts'

export function conflict({ id }: Name): Fault {
  return new Fault('INVOCATION_CONFLICT', {
    message: `Cannot use invocation id "${id}": it belongs to another caller or other content`,
    hint: 'Send the original request, or choose a new id',
  })
}

export function notFound({ id }: Name): Fault {
  return new Fault('INVOCATION_NOT_FOUND', {
    message: `Cannot inspect invocation "${id}": no claim has this id in this scope`,
    hint: 'Check the scope, the id and the project',
  })
}

export function ownerAlive({ id }: Name): Fault {
  return new Fault('OWNER_ALIVE', {
    message: `Cannot inspect invocation "${id}": its owner is still at work`,
    hint: 'Wait until the run has ended, or stop its process',
  })
}

/** The claim is gone and its receipt is still there: the id was used, so it never runs again. */
export function evidenceLost({ id }: Name): Fault {
  return new Fault('EVIDENCE_LOST', {
    message: `Cannot use invocation id "${id}": its claim is gone, and a reconciliation of it exists`,
    hint: 'Restore the claim from a backup, or choose a new id',
  })
}

export function takenMeanwhile({ id }: Name): Fault {
  return new Fault('STORAGE_BUSY', {
    message: `Cannot claim invocation "${id}": another program created it at the same moment, without the store lock`,
    hint: 'Try the same id again; let one runtime serve the project',
  })
}

export function nothingToReview({ id }: Name): Fault {
  return new Fault('CLAIM_INVALID', {
    message: `Cannot inspect invocation "${id}": its claim ends before it names a journal`,
    hint: 'Its run never began. The id stays closed; send the work under a new id',
  })
}

export function alreadyRecorded({ id }: Name): Fault {
  return new Fault('ALREADY_RECORDED', {
    message: `Cannot reconcile invocation "${id}": its result is recorded and proved by its journal`,
    hint: 'Send the original request again to get the result',
  })
}

export function staleReview({ id }: Name): Fault {
  return new Fault('REVIEW_STALE', {
    message: `Cannot reconcile invocation "${id}": the review speaks about other evidence`,
    hint: 'Inspect the invocation again, and review what is there now',
  })
}

export function differentReview({ id }: Name): Fault {
  return new Fault('REVIEW_DIFFERENT', {
    message: `Cannot reconcile invocation "${id}": another review of it is already recorded`,
    hint: 'A reconciliation is never replaced; inspect the invocation to see it',
  })
}

export function contradicted({ id }: Name): Fault {
  return new Fault('EVIDENCE_INVALID', {
    message: `Cannot use the saved result of invocation "${id}": it is not what its signed journal says`,
    hint: 'Somebody changed the claim. Keep it, and read the journal with "symbi audit show"',
  })
}

/** A sync of it failed in this process: another one would say that all is well, and the next loss of power could show otherwise. */
export function doubtful({ id }: Name): Fault {
  return new Fault('STORAGE_FAILED', {
    message: `Cannot tell how invocation "${id}" ended: the disk failed while that was made durable, and what it shows since may vanish`,
    hint: 'Look after the disk, start the runtime again, and ask with the same id',
  })
}
