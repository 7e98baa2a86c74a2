export { type ContextStrategy, fitContext, tokensOf } from './context.ts'
export type { ResponseDelivery } from './delivery.ts'
export { runLoop } from './lifecycle.ts'
export type { LoopResult, RunSetup } from './run.ts'
