export type { Admission, ExecutionIdentity } from './admission.ts'
export type {
  AgentAcknowledged,
  AgentEvent,
  AgentExecutionRecord,
  AgentHistory,
  AgentState,
  AgentStatus,
  AgentSummary,
  CreateAgent,
  ExecuteAgent,
  ExecuteWorkflow,
  ExecutionMode,
  ExecutionStarted,
  Heartbeat,
  PushEvent,
  ResourceUsage,
  UpdateAgent,
} from './agents.ts'
export type {
  AddMapping,
  ChannelAction,
  ChannelAudit,
  ChannelAuditEntry,
  ChannelDeleted,
  ChannelDetail,
  ChannelHealth,
  ChannelPlatform,
  ChannelState,
  ChannelSummary,
  IdentityMapping,
  RegisterChannel,
  UpdateChannel,
} from './channels.ts'
export type { Capacity, RunLink, RunPermission, RunQuestion, RunRecovery, RunView } from './evidence.ts'
export type {
  ComponentHealth,
  HealthResponse,
  HealthStatus,
  Metrics,
  SchedulerHealth,
  StatusResponse,
  SystemHealth,
} from './health.ts'
export type { DeliveryStatus, Message, MessageStatus, ReceivedMessages, SendMessage } from './messages.ts'
export {
  type CompleteRuntimeApi,
  METHOD_NAMES,
  OPTIONAL_METHOD_NAMES,
  type OptionalMethods,
  type RequiredMethods,
  type RuntimeApi,
  type RuntimeMethod,
} from './runtime-api.ts'
export type {
  CreateSchedule,
  JobStatus,
  NextRuns,
  RunEntry,
  RunStatus,
  ScheduleAction,
  ScheduleCreated,
  ScheduleDeleted,
  ScheduleDetail,
  ScheduleHistory,
  ScheduleSummary,
  UpdateSchedule,
} from './schedules.ts'
export { notConfigured, unconfiguredApi, withDefaults } from './unconfigured.ts'
