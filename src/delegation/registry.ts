/**
 * Which names a run may be delegated to (10.1): made once from the files of a project, and never changed by later edits.
 *
 * Every declared name is a target. A file with one agent also answers to its stem. Whatever shares a name with something else,
 * usable or not, loses all of its names, so that no order of files decides who is meant (law 5). A name that cannot be used
 * says why, and whatever is wrong makes names unavailable and nothing else.
 */
import { byCodePoint, deepFreeze, type Fault } from '../core/index.ts'
import { type AgentFile, type AgentFolder, stemOf } from './agent-folder.ts'
import { type Candidate, candidatesOf, type Fit } from './candidates.ts'
import { frozenMap } from './frozen-map.ts'
import { ALL_BYTES_MAX, DECLARATIONS_MAX, NAMES_MAX, noneTaken, someLeftOut, uncertainBecause } from './limits.ts'
import { bounded, shownName } from './places.ts'
import type { AgentRegistry, DelegationTarget, ResolvedName } from './target.ts'

export function buildRegistry({ files, unread }: AgentFolder): AgentRegistry {
  if (unread !== null) return uncertainRegistry(files, unread)
  const fit = fitting()
  const candidates = [...files]
    .sort((left, right) => byCodePoint(left.file, right.file))
    .flatMap((file) => candidatesOf(file, fit))
  if (candidates.reduce((sum, { names }) => sum + names.length, 0) > NAMES_MAX) {
    return uncertainRegistry(files, uncertainBecause(`its files declare more than ${NAMES_MAX} names`))
  }
  const rivals = byName(candidates)
  const targets = new Map<string, DelegationTarget>()
  const unavailable = new Map<string, string>()
  const untold = new Map<string, string>()
  for (const candidate of candidates) {
    const contested = candidate.names.find((name) => isContested(rivals, name))
    for (const name of candidate.names) {
      if (isContested(rivals, name)) unavailable.set(name, contest(name, rivals.get(name) ?? []))
      else if (candidate.kind === 'Refused') unavailable.set(name, candidate.reason)
      else if (candidate.kind === 'NoName') untold.set(name, candidate.reason)
      else if (contested !== undefined) unavailable.set(name, tainted(candidate, contested))
      else targets.set(name, candidate.target)
    }
  }
  const leftOut = candidates.filter((candidate) => candidate.kind === 'Refused' && candidate.isLeftOut)
  const [first] = leftOut
  return registryOf(targets, unavailable, {
    otherwise: (name) => reasonOrUnknown(untold.get(name)),
    problem: first === undefined ? null : someLeftOut(leftOut.length, first.place),
  })
}

/** Any name may be declared where nobody looked, so none stands for anything, and none is called unknown. */
function uncertainRegistry(files: readonly AgentFile[], reason: string): AgentRegistry {
  const unavailable = new Map(files.map(({ file }) => [stemOf(file) ?? file, reason]))
  const otherwise = (): ResolvedName => ({ kind: 'Unavailable', reason })
  return registryOf(new Map(), unavailable, { otherwise, problem: noneTaken(reason) })
}

function reasonOrUnknown(reason: string | undefined): ResolvedName {
  return reason === undefined ? { kind: 'Unknown' } : { kind: 'Unavailable', reason }
}

/**
 * Counts what is taken, usable or not: a file counts once for each of its declarations. One that does not fit counts nothing,
 * so that it keeps no other file away.
 */
function fitting(): Fit {
  let [declarations, bytes] = [0, 0]
  return (more, each) => {
    const [all, size] = [declarations + more, bytes + more * each]
    if (all > DECLARATIONS_MAX)
      return `with its ${more} there would be ${all} agents and ${DECLARATIONS_MAX} are allowed`
    if (size > ALL_BYTES_MAX) {
      return `each of its ${more} agents counts with the whole file, which makes ${size} bytes and ${ALL_BYTES_MAX} are allowed`
    }
    declarations = all
    bytes = size
    return null
  }
}

function byName(candidates: readonly Candidate[]): ReadonlyMap<string, readonly Candidate[]> {
  const rivals = new Map<string, Candidate[]>()
  for (const candidate of candidates) {
    for (const name of candidate.names) {
      const others = rivals.get(name)
      if (others === undefined) rivals.set(name, [candidate])
      else others.push(candidate)
    }
  }
  return rivals
}

function isContested(rivals: ReadonlyMap<string, readonly Candidate[]>, name: string): boolean {
  return (rivals.get(name)?.length ?? 0) > 1
}

const SHOWN_MAX = 4

function contest(name: string, rivals: readonly Candidate[]): string {
  const shown = rivals
    .slice(0, SHOWN_MAX)
    .map((rival) => (rival.kind === 'Usable' ? rival.place : rival.reason))
    .join('; ')
  const more = rivals.length > SHOWN_MAX ? `; and ${rivals.length - SHOWN_MAX} more` : ''
  return bounded(`the name "${shownName(name)}" stands for ${rivals.length} things: ${shown}${more}`)
}

function tainted({ place }: Candidate, contested: string): string {
  return bounded(`${place}: this agent also has the name "${shownName(contested)}", and so has something else`)
}

function registryOf(
  named: ReadonlyMap<string, DelegationTarget>,
  reasons: ReadonlyMap<string, string>,
  { otherwise, problem }: { readonly otherwise: (name: string) => ResolvedName; readonly problem: Fault | null },
): AgentRegistry {
  const targets = [...new Set(named.values())].sort((left, right) => byCodePoint(left.name, right.name))
  const unavailable = frozenMap([...reasons].sort(([left], [right]) => byCodePoint(left, right)))
  const resolve = (name: string): ResolvedName => {
    const target = named.get(name)
    if (target !== undefined) return { kind: 'Target', target }
    const reason = unavailable.get(name)
    return reason === undefined ? otherwise(name) : { kind: 'Unavailable', reason }
  }
  return Object.freeze({ targets: deepFreeze(targets), unavailable, problem, resolve })
}
