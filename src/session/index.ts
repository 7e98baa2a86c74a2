export type { ActionName, AuthorisedCall, EffectHandle, ExecutionScope, Toolbox } from '../calls/index.ts'
export type { Observation } from '../events/index.ts'
export {
  type ClaimOwner,
  type ClaimRequest,
  type ClaimStore,
  type Existing,
  type Finished,
  type Fresh,
  fileClaims,
  type Inspection,
  type NotFound,
  type Receipt,
  type Review,
  type Snapshot,
} from '../invocations/index.ts'
export { type BrokerCall, readBrokerCall } from './broker-call.ts'
export type { IdentifiedOutcome } from './call-result.ts'
export type { ExternalGuard } from './external.ts'
export { CALL_SCOPE, type CallIdentity } from './identified-call.ts'
export { type CallOptions, GovernedToolSession, type SessionSetup } from './session.ts'
