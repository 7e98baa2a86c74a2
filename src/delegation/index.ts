export {
  type AgentRegistry,
  DELEGATION_MODE,
  type DelegationTarget,
  type ResolvedName,
  targetMetadata,
} from './target.ts'
