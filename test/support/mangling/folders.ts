/**
 * What can be done to a folder in which the journal of a run and that of a run that it began lie: some of it no single
 * journal gives away, and some of it nothing does.
 */
import type { RunResult } from '../../../src/journal/index.ts'
import { type MadeKey, madeKey } from '../journal-maker.ts'
import type { HonestJournal } from './evidence.ts'
import { journalSealedBy } from './lines.ts'

export interface Pair {
  readonly parent: HonestJournal
  readonly child: HonestJournal
  /** Another run that some run began, of the same signer; null where there is none. */
  readonly brother: HonestJournal | null
}

/** Whole new content by file name; null takes the file away. */
export type Change = (pair: Pair) => ReadonlyMap<string, Buffer | null>

export interface FolderMangling {
  readonly name: string
  /** Asked about the parent: both results, and whether the tree holds. */
  readonly parent: RunResult
  readonly child: RunResult | 'not reached'
  readonly holds: boolean
  /** Asked about the child: of the run above it, and whether that tree holds. */
  readonly above: RunResult | 'not reached'
  readonly holdsBelow: boolean
  readonly change: Change
}

const thief: MadeKey = madeKey(78)
const files = (...rows: readonly (readonly [HonestJournal, Buffer | null])[]): ReadonlyMap<string, Buffer | null> =>
  new Map(rows.map(([{ file }, bytes]) => [file, bytes]))
const sealed = ({ lines }: HonestJournal): Buffer => journalSealedBy(thief, lines)
const upTo = ({ lines }: HonestJournal, count: number): Buffer => Buffer.concat(lines.slice(0, count))

/** The entry of the parent that begins or ends this child. */
function placeOf({ parent, child }: Pair, kind: 'DelegationStarted' | 'DelegationFinished'): number {
  return parent.entries.findIndex(({ event }) => event.kind === kind && event.audit.run_id === child.runId)
}

const GONE = { parent: 'verified', child: 'missing', holds: false, above: 'not reached', holdsBelow: false } as const

export const FOLDER_MANGLINGS: readonly FolderMangling[] = [
  {
    name: 'nothing',
    parent: 'verified',
    child: 'verified',
    holds: true,
    above: 'verified',
    holdsBelow: true,
    change: () => new Map(),
  },
  { name: 'the journal of the child taken away', ...GONE, change: ({ child }) => files([child, null]) },
  {
    name: 'the journal of the parent taken away',
    parent: 'missing',
    child: 'not reached',
    holds: false,
    above: 'missing',
    holdsBelow: false,
    change: ({ parent }) => files([parent, null]),
  },
  {
    name: 'the journal of another child under the name of this one',
    parent: 'verified',
    child: 'invalid',
    holds: false,
    above: 'not reached',
    holdsBelow: false,
    change: ({ child, brother }) => files([child, (brother as HonestJournal).bytes]),
  },
  {
    name: 'the journals of parent and child exchanged',
    parent: 'invalid',
    child: 'not reached',
    holds: false,
    above: 'not reached',
    holdsBelow: false,
    change: ({ parent, child }) => files([parent, child.bytes], [child, parent.bytes]),
  },
  {
    name: 'the child sealed again by another key',
    parent: 'verified',
    child: 'invalid',
    holds: false,
    above: 'not reached',
    holdsBelow: false,
    change: ({ child }) => files([child, sealed(child)]),
  },
  {
    name: 'both sealed again by another key',
    parent: 'invalid',
    child: 'not reached',
    holds: false,
    above: 'not reached',
    holdsBelow: false,
    change: ({ parent, child }) => files([parent, sealed(parent)], [child, sealed(child)]),
  },
  {
    name: 'the end of the child dropped',
    parent: 'verified',
    child: 'mismatch',
    holds: false,
    above: 'mismatch',
    holdsBelow: false,
    change: ({ child }) => files([child, upTo(child, child.lines.length - 1)]),
  },
  {
    name: 'the end of the child dropped, and the parent from there on where it tells of that end',
    parent: 'incomplete',
    child: 'incomplete',
    holds: true,
    above: 'incomplete',
    holdsBelow: true,
    change: (pair) =>
      files(
        [pair.parent, upTo(pair.parent, placeOf(pair, 'DelegationFinished'))],
        [pair.child, upTo(pair.child, pair.child.lines.length - 1)],
      ),
  },
  {
    name: 'the parent cut off before it began the child',
    parent: 'incomplete',
    child: 'not reached',
    holds: true,
    above: 'mismatch',
    holdsBelow: false,
    change: (pair) => files([pair.parent, upTo(pair.parent, placeOf(pair, 'DelegationStarted'))]),
  },
  {
    name: 'the parent cut off before it began the child, and the journal of the child taken away',
    parent: 'incomplete',
    child: 'not reached',
    holds: true,
    above: 'not reached',
    holdsBelow: false,
    change: (pair) => files([pair.parent, upTo(pair.parent, placeOf(pair, 'DelegationStarted'))], [pair.child, null]),
  },
]
