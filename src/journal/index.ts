export type { SettlementOutcome } from '../budget/index.ts'
export { type AgentId, type HexHash, type Id, parseId, type RunId, type Timestamp } from '../core/index.ts'
export type {
  AuditReference,
  BudgetSnapshot,
  Entry,
  Event,
  EventKind,
  EventLog,
  EventOf,
  InferenceReservation,
  NewEntry,
  TerminationReason,
  Usage,
} from '../events/index.ts'
export { type PublicKey, parsePublicKey, type SigningKey } from '../keys/index.ts'
export { nodeWorld, type World } from '../world/index.ts'
export { answerIn } from './answer.ts'
export type { VerifiedPrefix } from './evidence.ts'
export { firstEntry } from './first-entry.ts'
export { type BufferedLog, bufferedLog, streamingLog } from './other-logs.ts'
export { type Located, locateJournal, type NamedJournal, type Reading } from './read-linked.ts'
export { JOURNAL_BYTES_MAX } from './record.ts'
export type { RecoveredBudget, RecoveredReservation } from './recovered-budget.ts'
export type { EffectIdentity, RecoveredEffect } from './recovered-effects.ts'
export { type RecoveryReport, recoveryReport, type ViewStatus, viewStatus } from './recovery.ts'
export { type Delegation, type DelegationEnd, type DelegationLink, type RunFacts, runFacts } from './run-facts.ts'
export {
  type JudgedRun,
  type PlacedRun,
  type RunNode,
  type RunResult,
  type RunTree,
  runsOf,
  treeHolds,
} from './run-node.ts'
export { verifyTree } from './run-tree.ts'
export { readSigningKey, SIGNING_KEY_NAME } from './signing-key-file.ts'
export type { Locate, TreeOptions, TreePlace } from './tree-walk.ts'
export {
  type EntryVisitor,
  readEvidence,
  type VerifyOptions,
  verify,
  verifyLegacy,
  verifyPrefixBytes,
  verifyRun,
  verifyRunPrefix,
  visitRunPrefix,
} from './verify.ts'
export { createJournal, type Journal, type JournalPlace, journalName } from './writer.ts'
