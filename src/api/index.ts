export type { AgentState, AgentStatus, AgentSummary } from './agents.ts'
export type {
  ComponentHealth,
  HealthResponse,
  HealthStatus,
  Metrics,
  SchedulerHealth,
  StatusResponse,
  SystemHealth,
} from './health.ts'
export {
  type CompleteRuntimeApi,
  METHOD_NAMES,
  OPTIONAL_METHOD_NAMES,
  type RuntimeApi,
  type RuntimeMethod,
} from './runtime-api.ts'
export { notConfigured, unconfiguredApi, withDefaults } from './unconfigured.ts'
