/**
 * RuntimeApi: the runtime as its adapters see it. HTTP routes, the coordinator's tools and the shell are all adapters over
 * this one port; an embedding may answer it in its own way.
 *
 * Owns the method names and their types. Leaves the answers to whoever makes it (`fleet` for this process), and the
 * mapping of faults to statuses to the doors. Every method rejects with a Fault, and observes its signal.
 */
import type { AgentId, JsonObject } from '../core/index.ts'
import type { Admission, ExecutionIdentity } from './admission.ts'
import type {
  AgentAcknowledged,
  AgentHistory,
  AgentStatus,
  AgentSummary,
  CreateAgent,
  ExecuteAgent,
  ExecuteWorkflow,
  ExecutionStarted,
  Heartbeat,
  PushEvent,
  UpdateAgent,
} from './agents.ts'
import type {
  AddMapping,
  ChannelAction,
  ChannelAudit,
  ChannelDeleted,
  ChannelDetail,
  ChannelHealth,
  ChannelSummary,
  IdentityMapping,
  RegisterChannel,
  UpdateChannel,
} from './channels.ts'
import type { Capacity, RunQuestion, RunView } from './evidence.ts'
import type { SchedulerHealth } from './health.ts'
import type { MessageStatus, ReceivedMessages, SendMessage } from './messages.ts'
import type {
  CreateSchedule,
  NextRuns,
  ScheduleAction,
  ScheduleCreated,
  ScheduleDeleted,
  ScheduleDetail,
  ScheduleHistory,
  ScheduleSummary,
  UpdateSchedule,
} from './schedules.ts'

/** What every runtime can be asked. */
export interface RequiredMethods {
  /** The health of all components. Any JSON object: an embedding may have components of its own. */
  getSystemHealth(signal: AbortSignal): Promise<JsonObject>
  executeWorkflow(request: ExecuteWorkflow, signal: AbortSignal): Promise<JsonObject>
  getAgentStatus(id: AgentId, signal: AbortSignal): Promise<AgentStatus>
  listAgents(signal: AbortSignal): Promise<readonly AgentId[]>
  shutdownAgent(id: AgentId, signal: AbortSignal): Promise<void>
  getMetrics(signal: AbortSignal): Promise<JsonObject>
  createAgent(request: CreateAgent, signal: AbortSignal): Promise<AgentAcknowledged>
  updateAgent(id: AgentId, request: UpdateAgent, signal: AbortSignal): Promise<AgentAcknowledged>
  deleteAgent(id: AgentId, signal: AbortSignal): Promise<AgentAcknowledged>
  executeAgent(id: AgentId, request: ExecuteAgent, signal: AbortSignal): Promise<ExecutionStarted>
  getAgentHistory(id: AgentId, signal: AbortSignal): Promise<AgentHistory>

  listSchedules(signal: AbortSignal): Promise<readonly ScheduleSummary[]>
  createSchedule(request: CreateSchedule, signal: AbortSignal): Promise<ScheduleCreated>
  getSchedule(jobId: string, signal: AbortSignal): Promise<ScheduleDetail>
  updateSchedule(jobId: string, request: UpdateSchedule, signal: AbortSignal): Promise<ScheduleDetail>
  deleteSchedule(jobId: string, signal: AbortSignal): Promise<ScheduleDeleted>
  pauseSchedule(jobId: string, signal: AbortSignal): Promise<ScheduleAction>
  resumeSchedule(jobId: string, signal: AbortSignal): Promise<ScheduleAction>
  triggerSchedule(jobId: string, signal: AbortSignal): Promise<ScheduleAction>
  getScheduleHistory(jobId: string, limit: number, signal: AbortSignal): Promise<ScheduleHistory>
  getScheduleNextRuns(jobId: string, count: number, signal: AbortSignal): Promise<NextRuns>
  getSchedulerHealth(signal: AbortSignal): Promise<SchedulerHealth>

  listChannels(signal: AbortSignal): Promise<readonly ChannelSummary[]>
  registerChannel(request: RegisterChannel, signal: AbortSignal): Promise<ChannelSummary>
  getChannel(id: string, signal: AbortSignal): Promise<ChannelDetail>
  updateChannel(id: string, request: UpdateChannel, signal: AbortSignal): Promise<ChannelDetail>
  deleteChannel(id: string, signal: AbortSignal): Promise<ChannelDeleted>
  startChannel(id: string, signal: AbortSignal): Promise<ChannelAction>
  stopChannel(id: string, signal: AbortSignal): Promise<ChannelAction>
  getChannelHealth(id: string, signal: AbortSignal): Promise<ChannelHealth>
  listChannelMappings(id: string, signal: AbortSignal): Promise<readonly IdentityMapping[]>
  addChannelMapping(id: string, request: AddMapping, signal: AbortSignal): Promise<IdentityMapping>
  removeChannelMapping(id: string, userId: string, signal: AbortSignal): Promise<void>
  getChannelAudit(id: string, limit: number, signal: AbortSignal): Promise<ChannelAudit>

  updateAgentHeartbeat(id: AgentId, request: Heartbeat, signal: AbortSignal): Promise<void>
  pushAgentEvent(id: AgentId, request: PushEvent, signal: AbortSignal): Promise<void>
  sendAgentMessage(recipient: AgentId, request: SendMessage, signal: AbortSignal): Promise<MessageStatus>
  /** Removes what it returns. */
  receiveAgentMessages(id: AgentId, signal: AbortSignal): Promise<ReceivedMessages>
  getMessageStatus(messageId: string, signal: AbortSignal): Promise<MessageStatus>
}

/** What an embedding may leave out; `withDefaults` says what is answered then. */
export interface OptionalMethods {
  /** Default: each listed id, named by its id, in state `Created`. */
  listAgentsDetailed(signal: AbortSignal): Promise<readonly AgentSummary[]>
  /** Marks silent external agents. Default: there are none. */
  checkUnreachableAgents(signal: AbortSignal): Promise<void>
  /** Takes one identified execution. Default: not configured. */
  admitExecution(target: JsonObject, identity: ExecutionIdentity, signal: AbortSignal): Promise<Admission>
  /** Default: not configured. */
  inspectRun(question: RunQuestion, signal: AbortSignal): Promise<RunView>
  /** Default: not configured. */
  inspectCapacity(signal: AbortSignal): Promise<Capacity>
}

export interface RuntimeApi extends RequiredMethods, Partial<OptionalMethods> {}
export interface CompleteRuntimeApi extends RequiredMethods, OptionalMethods {}
export type RuntimeMethod = keyof CompleteRuntimeApi

/** Every required method and the name that documents and messages use. A method without a row does not compile. */
export const METHOD_NAMES = {
  getSystemHealth: 'get_system_health',
  executeWorkflow: 'execute_workflow',
  getAgentStatus: 'get_agent_status',
  listAgents: 'list_agents',
  shutdownAgent: 'shutdown_agent',
  getMetrics: 'get_metrics',
  createAgent: 'create_agent',
  updateAgent: 'update_agent',
  deleteAgent: 'delete_agent',
  executeAgent: 'execute_agent',
  getAgentHistory: 'get_agent_history',
  listSchedules: 'list_schedules',
  createSchedule: 'create_schedule',
  getSchedule: 'get_schedule',
  updateSchedule: 'update_schedule',
  deleteSchedule: 'delete_schedule',
  pauseSchedule: 'pause_schedule',
  resumeSchedule: 'resume_schedule',
  triggerSchedule: 'trigger_schedule',
  getScheduleHistory: 'get_schedule_history',
  getScheduleNextRuns: 'get_schedule_next_runs',
  getSchedulerHealth: 'get_scheduler_health',
  listChannels: 'list_channels',
  registerChannel: 'register_channel',
  getChannel: 'get_channel',
  updateChannel: 'update_channel',
  deleteChannel: 'delete_channel',
  startChannel: 'start_channel',
  stopChannel: 'stop_channel',
  getChannelHealth: 'get_channel_health',
  listChannelMappings: 'list_channel_mappings',
  addChannelMapping: 'add_channel_mapping',
  removeChannelMapping: 'remove_channel_mapping',
  getChannelAudit: 'get_channel_audit',
  updateAgentHeartbeat: 'update_agent_heartbeat',
  pushAgentEvent: 'push_agent_event',
  sendAgentMessage: 'send_agent_message',
  receiveAgentMessages: 'receive_agent_messages',
  getMessageStatus: 'get_message_status',
} as const satisfies Record<keyof RequiredMethods, string>

export const OPTIONAL_METHOD_NAMES = {
  listAgentsDetailed: 'list_agents_detailed',
  checkUnreachableAgents: 'check_unreachable_agents',
  admitExecution: 'admit_execution',
  inspectRun: 'inspect_run',
  inspectCapacity: 'inspect_capacity',
} as const satisfies Record<keyof OptionalMethods, string>
