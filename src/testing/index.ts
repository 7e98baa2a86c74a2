export { type BufferedLog, bufferedLog } from '../journal/index.ts'
export { type Script, type ScriptSource, scripted } from '../providers/index.ts'
export { LEAST_PRIVILEGE_POLICY } from './least-privilege.ts'
export { type ListGate, type ListGateRule, listGate } from './list-gate.ts'
export { type RecordedTool, type RecordedToolOptions, recordedTool } from './recorded-tool.ts'
export type { LawName } from './simulation/laws/law.ts'
export {
  type LivedLife,
  type ShortestLife,
  type SimulateOptions,
  shortestLife,
  simulate,
  type Violation,
} from './simulation/simulate.ts'
export { type TemporaryProject, type TemporaryProjectOptions, temporaryProject } from './temporary-project.ts'
export { type TestWorld, type TestWorldOptions, testWorld } from './test-world.ts'
