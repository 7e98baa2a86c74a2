export type {
  ClaimOwner,
  ClaimRequest,
  ClaimStore,
  Existing,
  Finished,
  Fresh,
  Inspection,
  NotFound,
} from './claims.ts'
export { fileClaims } from './file-claims.ts'
export { identityOf } from './identity.ts'
export { invocationLog } from './phases.ts'
export type { Receipt, Snapshot } from './receipt.ts'
export { parseReview, type Review, readReviewFile } from './review.ts'
export { type Ran, runOnce } from './run-once.ts'
export { statusOf } from './state.ts'
