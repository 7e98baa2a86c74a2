export {
  type Admittance,
  BREAKER_LIMITS,
  type BreakerLimits,
  type BreakerState,
  type Breakers,
  openBreakers,
  type PermitOutcome,
} from './breaker.ts'
export { monitoringTools } from './monitoring.ts'
export type { Resolution, Tool, ToolAnswer, ToolCall } from './tool.ts'
export { RESULT_BYTES_MAX, type ToolboxParts, toolbox } from './toolbox.ts'
