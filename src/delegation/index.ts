export { agentPrompt } from './child-prompt.ts'
export { type Delegation, type DelegationParts, openDelegation } from './delegation.ts'
export {
  type AgentRegistry,
  DELEGATION_MODE,
  type DelegationTarget,
  type ResolvedName,
  targetMetadata,
} from './target.ts'
