/** Every measurement, in the order in which it is made. */
import type { Bench } from './bench.ts'
import { chatMessage } from './chat-message.ts'
import { claims } from './claims.ts'
import { decisions } from './decisions.ts'
import { delegation } from './delegation.ts'
import { rawFloor } from './disk.ts'
import { eventLoop } from './event-loop.ts'
import { governedCalls } from './governed-call.ts'
import { idleSockets } from './idle-sockets.ts'
import { largeJournals } from './large-journal.ts'
import { parsing } from './parse.ts'
import { records } from './records.ts'
import { startUp } from './start-up.ts'
import { syncs } from './syncs.ts'

export const BENCHES: readonly Bench[] = [
  rawFloor,
  ...governedCalls,
  syncs,
  chatMessage,
  delegation,
  decisions,
  parsing,
  records,
  ...largeJournals,
  claims,
  eventLoop,
  startUp,
  idleSockets,
]
