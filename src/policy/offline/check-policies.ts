/**
 * What `symbi policy check` says: every error with its line, and warnings about policies that are valid and still do
 * something that nobody wants. Judges nothing and changes nothing.
 */
import type { Fault } from '../../core/index.ts'
import type { World } from '../../world/index.ts'
import { type CedarEngine, sharedEngine } from '../cedar/cedar-engine.ts'
import { byEntry, inspectSet, originOf, type Policy, type PolicyEntry } from '../cedar/policy-set.ts'
import { type Problem, Problems, problemAt } from '../cedar/problems.ts'
import { isPlainName, readPolicyFolder } from '../folder/policy-folder.ts'
import { guardFor, spellPath, unguardedReads } from './has-guards.ts'

export interface PolicyCheck {
  /** Relative to the policy folder. */
  readonly files: readonly string[]
  /** How many active policies the files hold. */
  readonly policies: number
  /** Errors and warnings, in the order of files and lines. Valid means: none of them is an error. */
  readonly problems: readonly Problem[]
}

/** Checks one text, as if it were a file with this name. */
export function checkPolicyText(source: string, file = 'policy.cedar', engine = sharedEngine()): PolicyCheck {
  const entry = { name: file.replace(/\.cedar$/, ''), source, active: true, file }
  const { policies, problems } = checkEntries(engine, [entry])
  return { files: [file], policies: policies.length, problems }
}

/** Checks a whole policy folder: the shared files, and each surface's files together with them. */
export async function checkPolicies(world: World, folder: string, engine = sharedEngine()): Promise<PolicyCheck> {
  const problems = new Map<string, Problem>()
  const files = new Set<string>()
  const policies = new Set<string>()
  const note = (problem: Problem): void => void problems.set(JSON.stringify(problem), problem)
  for (const surface of [null, ...(await surfacesOf(world, folder))]) {
    const reading = await readPolicyFolder(world, folder, surface)
    if (reading.kind === 'Bad') note(folderProblem(reading.problem))
    if (reading.kind !== 'Found') continue
    for (const file of reading.files) files.add(file)
    const checked = checkEntries(engine, reading.entries)
    for (const { entry, part } of checked.policies) policies.add(JSON.stringify([originOf(entry), part.start]))
    for (const problem of checked.problems) note(problem)
  }
  if (files.size === 0 && problems.size === 0) note(NO_POLICY)
  const sorted = [...problems.values()].sort(byPlace)
  return { files: [...files].sort(), policies: policies.size, problems: sorted }
}

function checkEntries(
  engine: CedarEngine,
  entries: readonly PolicyEntry[],
): { policies: readonly Policy[]; problems: readonly Problem[] } {
  const { policies, problems } = inspectSet(engine, entries)
  const warnings = byEntry(policies).flatMap(readWarnings)
  const broken = new Set(problems.map(({ file }) => file))
  const filled = new Set(policies.map(({ entry }) => entry))
  for (const entry of entries) {
    const file = originOf(entry)
    if (entry.active && !filled.has(entry) && !broken.has(file)) {
      const warning = problemAt(entry.source, 0, 'warning', 'there is no policy in it', 'Add one, or remove it')
      warnings.push({ ...warning, file })
    }
  }
  return { policies, problems: [...problems, ...warnings] }
}

function readWarnings([entry, policies]: readonly [PolicyEntry, readonly Policy[]]): readonly Problem[] {
  const warnings = new Problems(entry.source, 'warning')
  for (const policy of policies) addReadWarnings(warnings, policy)
  return warnings.list(originOf(entry))
}

function addReadWarnings(warnings: Problems, policy: Policy): void {
  const { actions, json } = policy
  const whom = actions === null ? 'every call without it, replies included' : 'every call without it'
  for (const read of unguardedReads(policy)) {
    const path = spellPath(read.path)
    const isPrincipal = read.path[0] === 'principal'
    const message = isPrincipal
      ? `"${path}" is read, but agents have no attributes: this ${json.effect} fails, and so denies, each time it is asked`
      : `"${path}" is read without asking whether it is there: this ${json.effect} fails, and so denies, for ${whom}`
    warnings.add(
      () => read.start,
      message,
      isPrincipal ? 'Compare the principal itself' : `Ask first: ${guardFor(read)}`,
    )
  }
}

/** Names of the folders beside the shared files: each is a surface. None for a folder that cannot be read. */
export async function surfacesOf(world: World, folder: string): Promise<readonly string[]> {
  const surfaces: string[] = []
  let names: readonly string[] | null
  try {
    names = await world.files.list(folder)
  } catch {
    return [] // reading the shared files says what is wrong
  }
  for (const name of names ?? []) {
    if (name.endsWith('.cedar') || !isPlainName(name)) continue
    if (world.files.factsNow(`${folder}/${name}`)?.kind === 'directory') surfaces.push(name)
  }
  return surfaces.sort()
}

function folderProblem({ message, hint }: Fault): Problem {
  return { severity: 'error', file: null, line: 1, column: 1, message, hint: hint ?? null, source: '' }
}

const NO_POLICY: Problem = Object.freeze({
  severity: 'warning',
  file: null,
  line: 1,
  column: 1,
  message: 'there is no policy file: every tool call and every delegation is denied, and replies are allowed',
  hint: 'Write a file such as policies/default.cedar that permits what the agents need',
  source: '',
})

function byPlace(left: Problem, right: Problem): number {
  const [a, b] = [left.file ?? '', right.file ?? '']
  return a === b ? left.line - right.line || left.column - right.column : a < b ? -1 : 1
}
