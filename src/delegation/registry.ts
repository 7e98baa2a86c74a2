/**
 * Which names a run may be delegated to (10.1): made once from the files of a project, and never changed by later edits.
 *
 * Every declared name is a target. A file with one agent also answers to its stem. Whatever shares a name with something else,
 * usable or not, loses all of its names, so that no order of files decides who is meant (law 5). A name that cannot be used
 * says why.
 */
import { byCodePoint, deepFreeze, Fault } from '../core/index.ts'
import { AGENTS_FOLDER, type AgentFile } from './agent-folder.ts'
import { type Candidate, candidatesOf } from './candidates.ts'
import { frozenMap } from './frozen-map.ts'
import { bounded, shownName } from './places.ts'
import type { AgentRegistry, DelegationTarget, ResolvedName } from './target.ts'

const DECLARATIONS_MAX = 1024
const SOURCE_BYTES_MAX = 16 * 1024 * 1024

/** Throws `REGISTRY_LIMIT`. Everything else that is wrong makes names unavailable. */
export function buildRegistry(files: readonly AgentFile[]): AgentRegistry {
  const count = counter()
  const candidates = [...files]
    .sort((left, right) => byCodePoint(left.file, right.file))
    .flatMap((file) => candidatesOf(file, count))
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
  return registryOf(targets, unavailable, untold)
}

/** Counts what the files declare, usable or not: a file counts once for each of its declarations. */
function counter(): (declarations: number, bytes: number) => void {
  let declarations = 0
  let bytes = 0
  return (more, each) => {
    declarations += more
    bytes += more * each
    if (declarations > DECLARATIONS_MAX) throw tooMuch(`more than ${DECLARATIONS_MAX} agents`)
    if (bytes > SOURCE_BYTES_MAX)
      throw tooMuch(`agents in more than ${SOURCE_BYTES_MAX} bytes, each with its whole file`)
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
  untold: ReadonlyMap<string, string>,
): AgentRegistry {
  const targets = [...new Set(named.values())].sort((left, right) => byCodePoint(left.name, right.name))
  const unavailable = frozenMap([...reasons].sort(([left], [right]) => byCodePoint(left, right)))
  const resolve = (name: string): ResolvedName => {
    const target = named.get(name)
    if (target !== undefined) return { kind: 'Target', target }
    const reason = unavailable.get(name) ?? untold.get(name)
    return reason === undefined ? { kind: 'Unknown' } : { kind: 'Unavailable', reason }
  }
  return Object.freeze({ targets: deepFreeze(targets), unavailable, resolve })
}

function tooMuch(what: string): Fault {
  return new Fault('REGISTRY_LIMIT', {
    message: `Cannot use the folder "${AGENTS_FOLDER}": it declares ${what}`,
    hint: 'Move agents out of the folder, or split them over several projects',
  })
}
