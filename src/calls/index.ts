export { type Approval, type ApprovalNeed, type ApprovalResolution, spendApproval } from './approval.ts'
export { checkArguments, proposedArguments, type SchemaCost, schemaCost } from './arguments.ts'
export { type AuthorisedCall, assertAuthorised, type Grant, spend } from './grant.ts'
export {
  assertPrepared,
  boundTo,
  type CallParts,
  callIdOf,
  defaultContract,
  fingerprintOf,
  invocationView,
  isTerminal,
  type PreparedCall,
  preparedCall,
  sourceOf,
  type ToolContract,
} from './prepared-call.ts'
export { authorizationBinding, type RunContext, runKeyOf, sessionBinding } from './run-context.ts'
export type { ActionName, EffectHandle, ExecutionScope, Toolbox } from './toolbox.ts'
