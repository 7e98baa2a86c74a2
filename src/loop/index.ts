export { fitContext, tokensOf } from './context.ts'
export { runLoop } from './lifecycle.ts'
export type { LoopResult, RunSetup } from './run.ts'
