/**
 * The tokens of a tree of runs, judged across its journals: every run spends within its own scope of the root's budget, and
 * the root's journal alone records what was reserved, for whom and under whose scope (13.1, 13.2).
 *
 * Leaves the arithmetic to `recovered-budget.ts`, which replays the root's journal by itself. As in `link-checks.ts`, only
 * what no crash can explain is a problem: the root's record of a reservation is durable before the model is asked.
 */
import { isDeepStrictEqual } from 'node:util'
import { isJsonObject, type RunId } from '../core/index.ts'
import type { EventOf, InferenceReservation } from '../events/index.ts'
import type { PublicKey } from '../keys/index.ts'
import { isPathOf } from './link-checks.ts'
import type { RunFacts } from './run-facts.ts'

type Linked = EventOf<'BudgetScopeLinked'>

export interface BudgetTree {
  /** The run whose journal holds the budget of all; null when it is not at hand. */
  readonly root: RunFacts | null
  /** Without the root, what every run of the tree must be linked to. */
  readonly reference: Linked | null
  readonly runs: readonly DelegatedRun[]
  /** True when no run of the root is left out, so that a reservation for any other is for nobody. */
  readonly whole: boolean
}

export interface DelegatedRun {
  readonly runId: RunId
  /** Null while nothing of its journal is complete. */
  readonly run: RunFacts | null
  readonly parent: RunFacts
}

/** By the run that a problem is about, in words that follow its name. Runs without one are left out. */
export function budgetProblems(tree: BudgetTree, key: PublicKey): ReadonlyMap<RunId, readonly string[]> {
  const { root, runs } = tree
  const found = new Map<RunId, readonly string[]>()
  const reservations = byRun(root)
  const taken = new Set<number>()
  for (const { runId, run, parent } of runs) {
    const reserved = reservations.get(runId) ?? []
    const problems = run === null ? [] : linkedProblems(tree, run, key, taken)
    if (reserved.length > 0 && (run === null || run.budget === null)) problems.push(RESERVED_TOO_EARLY)
    if (run !== null && root !== null) problems.push(...reservedProblems(run, scopeOf(parent), reserved, key))
    if (problems.length > 0) found.set(runId, problems)
  }
  if (root !== null) {
    const problems = rootProblems(tree, root, reservations)
    if (problems.length > 0) found.set(root.run_id, problems)
  }
  return found
}

/** A run is linked durably before it may ask for tokens. */
const RESERVED_TOO_EARLY = 'its root reserved tokens for it, and its journal does not say that it ever began to use any'

/** Reservations name the run that asked; one that asked without a journal is nobody's here. */
function byRun(root: RunFacts | null): ReadonlyMap<string, readonly InferenceReservation[]> {
  const found = new Map<string, InferenceReservation[]>()
  for (const reservation of root?.reservations ?? []) {
    if (reservation.audit === null) continue
    const { run_id } = reservation.audit
    const known = found.get(run_id)
    if (known === undefined) found.set(run_id, [reservation])
    else known.push(reservation)
  }
  return found
}

function scopeOf({ budget }: RunFacts): number | null {
  if (budget === null) return null
  return budget.kind === 'BudgetOpened' ? 0 : budget.scope
}

function linkedProblems(tree: BudgetTree, run: RunFacts, key: PublicKey, taken: Set<number>): string[] {
  const { budget, start, answers } = run
  if (budget === null) return answers > 0 ? ['it used tokens without being linked to a budget'] : []
  if (budget.kind === 'BudgetOpened') return ['it opened a token budget of its own']
  const problems: string[] = []
  if (!isLinkedTo(tree, budget, key)) problems.push('it is linked to another token budget than that of its root')
  if (taken.has(budget.scope)) problems.push('it spends within the token scope of another run')
  taken.add(budget.scope)
  const said = start?.context.budget
  if (isJsonObject(said) && (said.root_id !== budget.root_id || said.scope !== budget.scope)) {
    problems.push('its start names another token scope than its link to the budget')
  }
  return problems
}

function isLinkedTo({ root, reference }: BudgetTree, { root_id, root_audit }: Linked, key: PublicKey): boolean {
  if (root === null) {
    return reference === null || (root_id === reference.root_id && isDeepStrictEqual(root_audit, reference.root_audit))
  }
  return (
    root.budget?.kind === 'BudgetOpened' &&
    root_id === root.budget.root_id &&
    root_audit?.run_id === root.run_id &&
    root_audit.public_key === key.hex &&
    isPathOf(root_audit.path, root)
  )
}

function reservedProblems(
  run: RunFacts,
  parentScope: number | null,
  reservations: readonly InferenceReservation[],
  key: PublicKey,
): readonly string[] {
  const problems = new Set<string>()
  const scope = scopeOf(run)
  for (const { agent_id, audit, ancestors } of reservations) {
    if (agent_id !== run.agent_id || audit?.public_key !== key.hex || !isPathOf(audit.path, run)) {
      problems.add('its root reserved tokens for a run of its id that is not it')
    }
    const [own, above] = ancestors
    if (scope !== null && own?.scope !== scope) problems.add('its root reserved its tokens within another scope')
    else if (parentScope !== null && above?.scope !== parentScope) {
      problems.add('its root reserved its tokens under another run than its parent')
    }
  }
  if (scope !== null && run.answers > reservations.length) {
    problems.add(`its journal holds ${run.answers} replies of the model, and its root reserved ${reservations.length}`)
  }
  return [...problems]
}

function rootProblems({ runs, whole }: BudgetTree, root: RunFacts, reservations: ReturnType<typeof byRun>): string[] {
  const problems: string[] = []
  const own = reservations.get(root.run_id) ?? []
  if (own.some(({ agent_id, ancestors }) => agent_id !== root.agent_id || ancestors.length !== 1)) {
    problems.push('it reserved its own tokens within the scope of another run')
  }
  const known = new Set<string>([root.run_id, ...runs.map(({ runId }) => runId)])
  const strangers = [...reservations.keys()].filter((runId) => !known.has(runId))
  if (whole && strangers.length > 0) problems.push(`it reserved tokens for a run that nobody began, "${strangers[0]}"`)
  return problems
}
