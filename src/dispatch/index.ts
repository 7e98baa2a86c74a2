export { type Authority, authorise, type Denied, type Granted, misfitOf, type PendingApproval } from './authorise.ts'
export { authoriseBatch } from './authorise-batch.ts'
export { type DispatchScope, dispatchGrants } from './dispatch-grants.ts'
export { dispatchBatch } from './dispatcher.ts'
