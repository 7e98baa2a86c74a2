export { raceDeadline } from './deadline.ts'
export { nodeWorld } from './node-world.ts'
export type {
  Clock,
  Fetch,
  FileFacts,
  FileKind,
  Files,
  Net,
  OpenFile,
  Processes,
  Random,
  ServerLimits,
  Threads,
  World,
} from './world.ts'
