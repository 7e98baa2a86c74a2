export {
  AGENT_EXTENSIONS,
  type AgentFile,
  type AgentFolder,
  readAgentFolder,
} from './agent-folder.ts'
export { agentPrompt } from './child-prompt.ts'
export { delegatingToolbox } from './delegating-toolbox.ts'
export { type Delegation, type DelegationParts, openDelegation } from './delegation.ts'
export { type FoundSource, findAgentSource } from './find-agent.ts'
export { AGENTS_FOLDER } from './limits.ts'
export { shownName } from './places.ts'
export { buildRegistry } from './registry.ts'
export { runnableAgent } from './runnable-agent.ts'
export {
  type AgentRegistry,
  DELEGATION_MODE,
  type DelegationTarget,
  type ResolvedName,
  targetMetadata,
} from './target.ts'
export { describerOf, type Judged, judgeOf } from './usable-agent.ts'
