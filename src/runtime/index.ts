/**
 * The front door of the package. By purpose: `openRuntime` and `serve`; `addKey` and its sisters for who may come in; a
 * `Provider` for the model; `Tool` for what may take effect; `Gate` for who decides. The data of the 38 methods of a
 * `RuntimeApi` are named by their method: `Parameters<RuntimeApi['…']>`, and what its promise holds.
 */
export {
  type AccessSettings,
  ApiKeys,
  addKey,
  type Caller,
  type KeyRecord,
  type KeySummary,
  listKeys,
  type NewKey,
  revokeKey,
} from '../access/index.ts'
export { notConfigured, type RuntimeApi, type RuntimeMethod, unconfiguredApi } from '../api/index.ts'
export type {
  ActionName,
  Approval,
  ApprovalResolution,
  EffectHandle,
  PreparedCall,
  RunContext,
  ToolContract,
} from '../calls/index.ts'
export type {
  Chat,
  ChatHost,
  ClientMessage,
  Coordinator,
  Outbound,
  SdkSession,
  ServerMessage,
} from '../coordinator/index.ts'
export {
  type AgentId,
  CODES,
  type Code,
  type CodeRow,
  type Duration,
  Fault,
  type FaultDetails,
  type Hash,
  type Id,
  type IdKind,
  type InvocationId,
  isFault,
  type Json,
  type JsonObject,
  newId,
  parseId,
  type RunId,
  type Timestamp,
  VERSION,
} from '../core/index.ts'
export {
  type AgentRegistry,
  type DelegationTarget,
  type FoundSource,
  findAgentSource,
  type ResolvedName,
  runnableAgent,
} from '../delegation/index.ts'
export type {
  Comparison,
  Condition,
  EffectName,
  InlinePolicy,
  PolicyBlock,
  PolicyRule,
  Position,
  Scalar,
  SourcePolicy,
} from '../dsl/index.ts'
export {
  type AuditReference,
  DEFAULT_LOOP_CONFIG,
  type FinishReason,
  type LoopConfig,
  type ProposedAction,
  type ToolDefinition,
  type ToolEffect,
  type Usage,
} from '../events/index.ts'
export type { Activity, ActivityReading, RunOutcome } from '../fleet/index.ts'
export type { Receipt, Review, Snapshot } from '../invocations/index.ts'
export {
  type ApprovalAnswer,
  ApprovalQueue,
  type Approver,
  type Asked,
  type CedarGate,
  type CedarGateOptions,
  cedarGate,
  type Decision,
  deny,
  type EscalationOptions,
  escalationGate,
  failClosedGate,
  type Gate,
  type GateQuestion,
  type GivenDecision,
  type HeldAction,
  type HeldOptions,
  type HoldAnswer,
  type HoldRequest,
  heldGate,
  type Notifier,
  type PolicyEntry,
  type PolicyNews,
  type Presented,
  type PresentedCall,
  type QueueChange,
  type QueueLimits,
  type QueueOptions,
  reviewDigest,
  reviewText,
  toolFilterGate,
  type WaitEnd,
  type WatchedGate,
  withoutApprover,
} from '../policy/index.ts'
export {
  anthropic,
  type Conversation,
  type EndpointOptions,
  type InferenceOptions,
  type InferenceResponse,
  type Message,
  openAiCompatible,
  type Provider,
  type ProviderSettings,
  providerFromSettings,
  type ResponseFormat,
  type Script,
  type ScriptSource,
  scripted,
  type ToolCallRequest,
  type ToolChoice,
} from '../providers/index.ts'
export {
  type Answer,
  type AnswerStream,
  type ApprovalDesk,
  type ChatLimits,
  type ClosingDoor,
  type HttpLimits,
  type Log,
  type LogFacts,
  type LogLevel,
  type Mount,
  type OutboundLimits,
  type RateLimit,
  type Route,
  type RouteRequest,
  type RunningServer,
  type StderrLog,
  stderrLog,
  type WrittenAnswer,
} from '../server/index.ts'
export {
  defineTool,
  type FileRoot,
  fileTools,
  type HttpMethod,
  type HttpOrigin,
  httpRequestTool,
  notDone,
  type Resolution,
  type Risk,
  type Tool,
  type ToolAnswer,
  type ToolCall,
  type ToolSpec,
  type TypedCall,
} from '../tools/index.ts'
export type {
  HttpServer,
  ServerEntry,
  StdioServer,
  UpstreamNews,
  UpstreamParts,
  UpstreamServer,
  Upstreams,
} from '../upstream/index.ts'
export {
  type Child,
  type ChildExit,
  type Clock,
  type ControllingTerminal,
  type Fetch,
  type FileFacts,
  type FileKind,
  type Files,
  type HttpReply,
  type HttpRequest,
  type Net,
  nodeWorld,
  type OpenFile,
  type Place,
  type Processes,
  type Program,
  type Random,
  type ServerLimits,
  type SideThread,
  type Threads,
  type World,
} from '../world/index.ts'
export type { AskOptions, Reply } from './ask.ts'
export { openProject, type Project, projectAt } from './project.ts'
export { type ProjectGateOptions, projectGate } from './project-gate.ts'
export { type ReadyMadeTools, readyMadeTools } from './ready-made.ts'
export { type AgentRun, type AgentRunOptions, RUN_SCOPE, runAgent } from './run-agent.ts'
export type { RunResult } from './run-result.ts'
export { type ApprovalSettings, COORDINATOR_LIMITS, openRuntime, type Runtime, type RuntimeOptions } from './runtime.ts'
export { type ServeOptions, type Service, serve } from './serve.ts'
export { TOOL_SESSION_LIMITS, type ToolSessionBounds } from './tool-sessions/bounds.ts'
export { openToolSession, type ToolSessionOptions } from './tool-sessions/open-tool-session.ts'
export type { ClientSessionOptions } from './tool-sessions/tool-clients.ts'
export type { CallerId, ToolSession } from './tool-sessions/tool-session.ts'
export { openUpstreams, type UpstreamOptions } from './upstreams.ts'
