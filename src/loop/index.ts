export { fitContext, tokensOf } from './context.ts'
export { DELEGATE_TOOL, type Delegated, type Delegates, type DelegatingRun } from './delegates.ts'
export { runLoop } from './lifecycle.ts'
export type { LoopResult, RunSetup } from './run.ts'
