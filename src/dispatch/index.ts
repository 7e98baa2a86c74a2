export { authorise, type Denied, type Granted, misfitOf } from './authorise.ts'
export { authoriseBatch } from './authorise-batch.ts'
export { dispatchGrants } from './dispatch-grants.ts'
export { dispatchBatch } from './dispatcher.ts'
