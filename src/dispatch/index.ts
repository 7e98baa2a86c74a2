export { type Authority, authorise, type Denied, type Granted, misfitOf, type Verdict } from './authorise.ts'
export { type DispatchScope, dispatchGrants } from './dispatch-grants.ts'
export { dispatchBatch } from './dispatcher.ts'
export { evaluateBatch, type JudgedBatch } from './evaluate-batch.ts'
