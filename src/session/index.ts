export type { Approval, PreparedCall, RunContext, Toolbox } from '../calls/index.ts'
export { type BrokerCall, readBrokerCall } from './broker-call.ts'
export type { ExternalGuard } from './external.ts'
export { type CallOptions, GovernedToolSession, type SessionSetup } from './session.ts'
