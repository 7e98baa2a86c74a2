/**
 * Policy sets: entries as a person wrote them become policies with names, each parsed once.
 *
 * Names, in this order: the `@id("…")` annotation; else the name of the entry, with `#2`, `#3`, … for the second and later
 * policies of one entry, counted in source order. Names are unique in a set, because a journal that names a policy must
 * name one. A set is valid as a whole or not at all; a partial set is never used.
 */
import { shapes, type TypeOf } from '../../core/index.ts'
import type { CedarEngine, CedarName, CedarPolicyJson } from './cedar-engine.ts'
import { parseSource } from './policy-source.ts'
import type { Part } from './policy-text.ts'
import { type Problem, problemAt, problemFault } from './problems.ts'

/** A policy entry, as in a JSON policy file. A file of Cedar text is one entry, named by its stem. */
export const policyEntryShape = shapes.object({
  name: shapes.boundedText(1, 256),
  source: shapes.text,
  active: shapes.bool,
})
/** An entry may know the file that it was read from, relative to the policy folder. */
export type PolicyEntry = TypeOf<typeof policyEntryShape> & { readonly file?: string }

export interface Policy {
  readonly name: string
  readonly part: Part
  readonly json: CedarPolicyJson
  /** The actions that the scope names: the policy can match no other. Null when the scope names none. */
  readonly actions: readonly CedarName[] | null
  /** The entry that it came from; `part.start` counts from the start of the entry's source. */
  readonly entry: PolicyEntry
}

export interface PolicySet {
  readonly entries: readonly PolicyEntry[]
  /** The policies of all active entries, in the order of the entries and of their source. */
  readonly policies: readonly Policy[]
}

export const EMPTY_SET: PolicySet = Object.freeze({ entries: [], policies: [] })

export interface SetInspection {
  readonly policies: readonly Policy[]
  readonly problems: readonly Problem[]
}

/** Compiles a whole set, or throws `POLICY_INVALID`. Entries that `before` holds unchanged are not parsed again. */
export function compileSet(engine: CedarEngine, entries: readonly PolicyEntry[], before = EMPTY_SET): PolicySet {
  const { policies, problems } = inspectSet(engine, entries, before)
  if (problems.length > 0) throw problemFault(problems)
  return Object.freeze({ entries: Object.freeze([...entries]), policies: Object.freeze(policies) })
}

/** As `compileSet`, with every error instead of the first one. */
export function inspectSet(engine: CedarEngine, entries: readonly PolicyEntry[], before = EMPTY_SET): SetInspection {
  const known = new Map<string, Policy[]>()
  for (const policy of before.policies) {
    const siblings = known.get(entryKey(policy.entry))
    if (siblings === undefined) known.set(entryKey(policy.entry), [policy])
    else siblings.push(policy)
  }
  const policies: Policy[] = []
  const problems: Problem[] = []
  const entryNames = new Set<string>()
  for (const entry of entries) {
    if (entryNames.has(entry.name)) problems.push(entryProblem(entry, 0, `the name "${entry.name}" is used twice`))
    entryNames.add(entry.name)
    if (!entry.active) continue
    const kept = known.get(entryKey(entry))
    const compiled = kept === undefined ? compileEntry(engine, entry) : { policies: kept, problems: [] }
    policies.push(...compiled.policies)
    problems.push(...compiled.problems)
  }
  const names = new Set<string>()
  for (const { name, entry, part } of policies) {
    if (names.has(name)) problems.push(entryProblem(entry, part.start, `the policy name "${name}" is used twice`))
    names.add(name)
  }
  return { policies, problems }
}

function compileEntry(engine: CedarEngine, entry: PolicyEntry): SetInspection {
  const { policies, problems } = parseSource(engine, entry.source)
  const named: Policy[] = []
  const found: Problem[] = problems.map((problem) => ({ ...problem, file: originOf(entry) }))
  for (const [index, { part, json }] of policies.entries()) {
    const name = json.annotations?.id || (index === 0 ? entry.name : `${entry.name}#${index + 1}`)
    if (Buffer.byteLength(name) > 512 || /\p{Cc}/u.test(name)) {
      found.push(entryProblem(entry, part.start, 'the name of the policy is longer than 512 bytes or not one line'))
    }
    named.push({ name, part, json, actions: scopeActions(json), entry })
  }
  return { policies: named, problems: found }
}

function scopeActions({ action }: CedarPolicyJson): readonly CedarName[] | null {
  if (action.op === 'All') return null
  if ('entities' in action) return action.entities.map(plainName)
  // A scope without hierarchy: `in` one action is the same as being it. Slots are refused before.
  return 'entity' in action ? [plainName(action.entity)] : null
}

function plainName(uid: CedarName | { readonly __entity: CedarName }): CedarName {
  return '__entity' in uid ? uid.__entity : uid
}

/** Where a person finds the entry: its file, with `#name` behind it when the file holds several entries. */
export function originOf({ name, file }: PolicyEntry): string | null {
  if (file === undefined) return null
  return file === `${name}.cedar` ? file : `${file}#${name}`
}

function entryKey({ name, source, file }: PolicyEntry): string {
  return JSON.stringify([name, source, file ?? null])
}

function entryProblem(entry: PolicyEntry, index: number, message: string): Problem {
  const hint = 'Give each policy one short name of its own, by the entry, the file name or an @id("…") annotation'
  return { ...problemAt(entry.source, index, 'error', message, hint), file: originOf(entry) }
}
