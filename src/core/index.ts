import * as shapes from './shape.ts'

export { byCodePoint, canonical } from './canonical-json.ts'
export { canonicalOnce } from './canonical-once.ts'
export { CODES, type Code, type CodeRow } from './codes.ts'
export { copyOf } from './copy.ts'
export { digest, digestOfCanonical, GENESIS, type Hash, type HexHash, hexHash } from './digest.ts'
export { type Duration, durationOf, millisecondsOf } from './duration.ts'
export { assert, Bug, Fault, type FaultDetails, isFault, messageOf } from './fault.ts'
export {
  type AgentId,
  derivedId,
  ID_KINDS,
  type Id,
  type IdKind,
  type InvocationId,
  idOrNull,
  isStoredId,
  newId,
  parseId,
  type RunId,
} from './ids.ts'
export { deepFreeze, isJsonObject, type Json, type JsonObject, jsonBytesAtMost } from './json.ts'
export { fit, fits, type Shape, type TypeOf } from './shape.ts'
export { readJson, readJsonMembers } from './strict-json.ts'
export { cutText } from './text.ts'
export { instantOf, isTimestamp, type Timestamp, timestampOf } from './timestamp.ts'
export { VERSION } from './version.ts'
export { shapes }
