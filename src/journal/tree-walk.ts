/**
 * Reading a tree of runs: from the journal that was asked about along its links downwards, and one link upwards. Wide before
 * deep, one journal at a time, so that links that lead in circles or never end cost a bounded amount of work.
 *
 * Every journal is read as the run that its link names, with the one key that was given. Nothing is compared here.
 */
import { type AgentId, idOrNull, isJsonObject, type RunId } from '../core/index.ts'
import type { PublicKey } from '../keys/index.ts'
import type { FileFacts, World } from '../world/index.ts'
import { factsOf, type Located, locateJournal, type NamedJournal, type Reading, readLinked } from './read-linked.ts'
import type { Delegation, RunFacts } from './run-facts.ts'
import { sameState } from './verify.ts'

export interface TreePlace {
  readonly path: string
  /** Which run it must be, from a place that is trusted: an audit reference that was kept, or the name of the file. */
  readonly runId: RunId
  /** Which principal it must be of, where that is known. */
  readonly agentId?: AgentId | null
  /** Obtained from a trusted place, and the only key that is used. */
  readonly key: PublicKey
  /** Where a linked journal lies. By default next to the journal that links to it, or else where the link says. */
  readonly locate?: Locate
}

export type Locate = (linkingPath: string, named: NamedJournal) => Promise<Located>

export interface TreeOptions {
  /** Told before each journal is read, for a person who waits. */
  readonly progress?: (runsDone: number, path: string) => void
  /** Journals that were read a moment ago, by path. A tree that holds needs no more; a bad result is judged from the files. */
  readonly known?: ReadonlyMap<string, Reading>
}

/** One journal, looked at because of one link. */
export interface Visit {
  /** Null for the run that was asked about. */
  readonly link: Delegation | null
  readonly parent: Visit | null
  readonly path: string
  readonly runId: RunId
  /** A link that is not followed says why. */
  readonly reading:
    | Reading
    | { readonly kind: 'refused'; readonly result: 'mismatch' | 'invalid'; readonly reason: string }
  readonly note: string | null
  /** In the order of their links. */
  readonly children: Visit[]
}

/** The run above the one that was asked about, as that one names it. */
export interface Above extends Pick<Visit, 'path' | 'note'> {
  readonly named: NamedJournal
  readonly reading: Reading
}

export interface Walk {
  /** The run that was asked about, and then every run behind the one that began it. */
  readonly visits: readonly [Visit, ...Visit[]]
  /** `'unnamed'` when the run says that it was delegated, and not readably by whom. */
  readonly above: Above | 'unnamed' | null
  /** True when no journal changed since it was read. */
  isStill(): Promise<boolean>
}

/** The runtime gives one root at most as many scopes for tokens. */
const RUNS_MAX = 4096
const DEPTH_MAX = 64

export async function walkTree(world: World, place: TreePlace, options: TreeOptions): Promise<Walk> {
  const locate: Locate = place.locate ?? ((path, named) => locateJournal(world, path, named))
  const seen = new Map<string, FileFacts | null>()
  const read = async (path: string, runId: RunId): Promise<Reading> => {
    const known = options.known?.get(path)
    if (known !== undefined && (known.kind !== 'read' || known.run.run_id === runId)) return known
    options.progress?.(seen.size, path)
    seen.set(path, await factsOf(world, path))
    return await readLinked(world, path, place.key, runId)
  }
  const { path, runId } = place
  const reading = ofAgent(await read(path, runId), place.agentId ?? null)
  const asked: Visit = { link: null, parent: null, path, runId, reading, note: null, children: [] }
  const visits: [Visit, ...Visit[]] = [asked]
  const begun = new Set<RunId>([runId])
  let level: readonly Visit[] = [asked]
  for (let depth = 1; level.length > 0; depth += 1) {
    for (const parent of level) await followLinks(parent, depth)
    level = level.flatMap(({ children }) => children)
  }
  return { visits, above: await lookAbove(runIn(asked), path, locate, read), isStill: () => isStill(world, seen) }

  async function followLinks(parent: Visit, depth: number): Promise<void> {
    for (const link of runIn(parent)?.delegations ?? []) {
      const { audit, child_agent_id } = link.link
      const named = { agentId: child_agent_id, runId: audit.run_id, recordedPath: audit.path }
      const { path, note } = await locate(parent.path, named)
      const isFull = visits.length >= RUNS_MAX || depth > DEPTH_MAX
      const reading = begun.has(named.runId) ? BEGUN_TWICE : isFull ? TOO_MANY : await read(path, named.runId)
      begun.add(named.runId)
      const visit: Visit = { link, parent, path, runId: named.runId, reading, note, children: [] }
      parent.children.push(visit)
      visits.push(visit)
      if (isFull) return // one says it for all that follow
    }
  }
}

const BEGUN_TWICE = {
  kind: 'refused',
  result: 'mismatch',
  reason: 'another link, or the run that was asked about, is of the same run: a run is begun once',
} as const
const TOO_MANY = {
  kind: 'refused',
  result: 'invalid',
  reason: `this link is not followed, nor those behind it: the tree has more than ${RUNS_MAX} runs or ${DEPTH_MAX} levels`,
} as const

export function runIn({ reading }: Pick<Visit, 'reading'>): RunFacts | null {
  return reading.kind === 'read' ? reading.run : null
}

function ofAgent(reading: Reading, agentId: AgentId | null): Reading {
  if (reading.kind !== 'read' || agentId === null || reading.run.agent_id === agentId) return reading
  return { kind: 'invalid', reason: 'its records are of another agent than its name' }
}

async function lookAbove(
  run: RunFacts | null,
  path: string,
  locate: Locate,
  read: (path: string, runId: RunId) => Promise<Reading>,
): Promise<Walk['above']> {
  const delegation = run?.start?.context.delegation
  if (delegation === undefined) return null
  const named = isJsonObject(delegation) ? nameIn(delegation) : null
  if (named === null) return 'unnamed'
  const located = await locate(path, named)
  return { named, ...located, reading: await read(located.path, named.runId) }
}

function nameIn({ parent_agent_id, parent_audit }: { readonly [name: string]: unknown }): NamedJournal | null {
  if (!isJsonObject(parent_audit)) return null
  const agentId = idOrNull('agent', parent_agent_id)
  const runId = idOrNull('run', parent_audit.run_id)
  const { path } = parent_audit
  return agentId === null || runId === null || typeof path !== 'string' ? null : { agentId, runId, recordedPath: path }
}

async function isStill(world: World, seen: ReadonlyMap<string, FileFacts | null>): Promise<boolean> {
  for (const [path, before] of seen) {
    const now = await factsOf(world, path)
    if (before === null || now === null ? before !== now : !sameState(before, now)) return false
  }
  return true
}
