export { openBreakers } from './breaker.ts'
export { monitoringTools } from './monitoring.ts'
export type { Resolution, Tool, ToolAnswer, ToolCall } from './tool.ts'
export { toolbox } from './toolbox.ts'
