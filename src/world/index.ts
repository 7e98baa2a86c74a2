export { isAddress, type Reach, reachOf } from './addresses.ts'
export { endsSoon, neverStopped, raceDeadline } from './deadline.ts'
export { kindInWords, toFault, tooLong } from './file-faults.ts'
export { nodeWorld } from './node-world.ts'
export { WaitingThread } from './waiting-thread.ts'
export type {
  Child,
  ChildExit,
  Clock,
  ControllingTerminal,
  Fetch,
  FileFacts,
  FileKind,
  Files,
  HttpReply,
  HttpRequest,
  Net,
  OpenFile,
  Place,
  Processes,
  Program,
  Random,
  ServerLimits,
  SideThread,
  Threads,
  World,
} from './world.ts'
