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
import { type Problem, Problems, problemAt, problemFault } from './problems.ts'

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

/** As `compileSet`, with the errors of each entry instead of the first one. */
export function inspectSet(engine: CedarEngine, entries: readonly PolicyEntry[], before = EMPTY_SET): SetInspection {
  const known = new Map(byEntry(before.policies).map(([entry, policies]) => [entryKey(entry), policies]))
  const policies: Policy[] = []
  const problems: Problem[] = []
  const entryNames = new Set<string>()
  for (const entry of entries) {
    if (entryNames.has(entry.name)) problems.push(usedTwice(entry))
    entryNames.add(entry.name)
    if (!entry.active) continue
    const kept = known.get(entryKey(entry))
    const compiled = kept === undefined ? compileEntry(engine, entry) : { policies: kept, problems: [] }
    policies.push(...compiled.policies)
    problems.push(...compiled.problems)
  }
  const names = new Set<string>()
  for (const [entry, own] of byEntry(policies)) {
    const found = new Problems(entry.source, 'error')
    for (const { name, part } of own) {
      if (names.has(name)) found.add(() => part.start, `the policy name "${name}" is used twice`, NAME_HINT)
      names.add(name)
    }
    problems.push(...found.list(originOf(entry)))
  }
  return { policies, problems }
}

/** The policies of each entry, in order. */
export function byEntry(policies: readonly Policy[]): readonly (readonly [PolicyEntry, readonly Policy[]])[] {
  const groups = new Map<PolicyEntry, Policy[]>()
  for (const policy of policies) {
    const siblings = groups.get(policy.entry)
    if (siblings === undefined) groups.set(policy.entry, [policy])
    else siblings.push(policy)
  }
  return [...groups]
}

function compileEntry(engine: CedarEngine, entry: PolicyEntry): SetInspection {
  const { policies, problems } = parseSource(engine, entry.source)
  const named: Policy[] = []
  const found = new Problems(entry.source, 'error')
  for (const [index, { part, json }] of policies.entries()) {
    const name = json.annotations?.id || (index === 0 ? entry.name : `${entry.name}#${index + 1}`)
    if (Buffer.byteLength(name) > 512 || /\p{Cc}/u.test(name)) {
      const message = 'the name of the policy is longer than 512 bytes or not one line'
      found.add(() => part.start, message, NAME_HINT)
    }
    named.push({ name, part, json, actions: scopeActions(json), entry })
  }
  const file = originOf(entry)
  return { policies: named, problems: [...problems.map((problem) => ({ ...problem, file })), ...found.list(file)] }
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

const NAME_HINT = 'Give each policy one short name of its own, by the entry, the file name or an @id("…") annotation'

function usedTwice(entry: PolicyEntry): Problem {
  const message = `the name "${entry.name}" is used twice`
  return { ...problemAt(entry.source, 0, 'error', message, NAME_HINT), file: originOf(entry) }
}
