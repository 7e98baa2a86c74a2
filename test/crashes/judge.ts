/**
 * Judges one life and what came after it. It gets evidence and nothing else: what the witness saw, what clients were told, what
 * lay on the disk, and what the next process answered. Each broken law is a sentence, and is counted where it belongs.
 */
import { type PublicKey, treeHolds, verifyTree } from '../../src/journal/index.ts'
import { nodeWorld } from '../../src/world/index.ts'
import { callsIn, type FoundJournal } from './evidence.ts'
import type { Answer } from './messages.ts'
import type { Scenario, Work } from './scenarios.ts'

export interface Effect {
  readonly path: string
  /** What the witness had against it in the moment it happened. */
  readonly objection: string | null
}

/** What the clients of the first life had heard when it ended. */
export interface Told {
  /** Id to run: where the evidence lies. */
  readonly opened: ReadonlyMap<string, string>
  readonly answered: ReadonlyMap<string, Answer>
  /** Paths of calls under no id of which their client was told that they are done. */
  readonly done: readonly string[]
}

export interface Story {
  readonly scenario: Scenario
  readonly work: readonly Work[]
  readonly told: Told
  /** Until the process was gone. */
  readonly effects: readonly Effect[]
  /** Because somebody asked again. */
  readonly effectsLater: readonly Effect[]
  /** By id, in order: what the next process said when it was asked again. */
  readonly later: ReadonlyMap<string, readonly Answer[]>
  /** Ids whose claim the dead process left with half a line: nobody takes its word for anything. */
  readonly torn: ReadonlySet<string>
  /** What was said to approvals of the first life. */
  readonly presented: readonly string[]
  /** After everything. */
  readonly journals: readonly FoundJournal[]
  readonly key: PublicKey | null
  /** Names of journals that others had written and that changed afterwards. */
  readonly changed: readonly string[]
  /** What went wrong with the processes themselves. */
  readonly troubles: readonly string[]
}

export interface Verdict {
  readonly effects: number
  readonly without: number
  readonly twice: number
  readonly broken: number
  readonly recorded: number
  readonly unresolved: number
  readonly notFound: number
  readonly contradictions: number
  /** Of the unresolved: nothing had begun, as far as anybody can see. That is no proof, and so they stay what they are. */
  readonly unbegun: number
  /** One sentence for each law that was broken. */
  readonly objections: readonly string[]
}

export async function judge(story: Story): Promise<Verdict> {
  const { journals, work, later } = story
  const all = [...story.effects, ...story.effectsLater]
  const without = all.flatMap(({ path, objection }) => (objection === null ? [] : [`effect ${path}: ${objection}`]))
  const twice = repeated(all).map((path) => `effect ${path} happened more than once`)
  const broken = journals.flatMap(({ path, problem }) => (problem === null ? [] : [`journal ${path}: ${problem}`]))
  const contradictions = [
    ...story.troubles,
    ...story.changed.map((name) => `journal ${name} changed after its writer was gone`),
    ...work.flatMap((one) => contradictionsOf(story, one).map((text) => `id ${one.id}: ${text}`)),
    ...unaskedFor(story),
    ...receiptsIn(story),
    ...(broken.length > 0 ? [] : await linksIn(story)),
  ]
  const kinds = work.map(({ id }) => later.get(id)?.[0]?.kind)
  return {
    effects: all.length,
    without: without.length,
    twice: twice.length,
    broken: broken.length,
    recorded: kinds.filter((kind) => kind === 'Recorded').length,
    unresolved: kinds.filter((kind) => kind === 'Unresolved').length,
    notFound: kinds.filter((kind) => kind === 'NotFound').length,
    contradictions: contradictions.length,
    unbegun: work.filter(({ id }) => isUnbegun(story, id)).length,
    objections: [...without, ...twice, ...broken, ...contradictions],
  }
}

function isUnbegun({ later, journals }: Story, id: string): boolean {
  const [first] = later.get(id) ?? []
  if (first?.kind !== 'Unresolved') return false
  return first.run === null || journals.some(({ runId, entries }) => runId === first.run && entries.length === 0)
}

function repeated(effects: readonly Effect[]): readonly string[] {
  const paths = effects.map(({ path }) => path)
  return [...new Set(paths.filter((path, index) => paths.indexOf(path) !== index))]
}

/** What the next process says of an id, against what was said and done before. */
function contradictionsOf(
  { scenario, told, effects, effectsLater, later, torn, journals }: Story,
  { id, paths }: Work,
): string[] {
  const [first, ...more] = later.get(id) ?? []
  if (first === undefined) return ['nobody answered for it']
  const happened = (list: readonly Effect[]): number => list.filter(({ path }) => paths.includes(path)).length
  const answered = told.answered.get(id)
  const opened = told.opened.get(id)
  const found: string[] = []
  const claim = (holds: boolean, otherwise: string): void => {
    if (!holds) found.push(otherwise)
  }
  claim(first.kind !== 'Other', `it was answered with ${first.code}`)
  for (const next of more) claim(sameAnswer(first, next), 'asked again, it is answered in another way')
  if (answered?.kind === 'Recorded') {
    claim(first.kind === 'Recorded', `its client was told its result, and now it is ${first.kind}`)
    claim(first.content === answered.content && first.run === answered.run, 'its client was told another result')
  }
  const isNameless = first.kind === 'Unresolved' && first.run === null
  if (opened !== undefined && !(isNameless && torn.has(id)))
    claim(first.run === opened, `its client was told of run ${opened}, and now of ${first.run}`)
  if (first.kind === 'NotFound') {
    claim(opened === undefined, 'its client was told that it began, and now it was never seen')
    claim(happened(effects) === 0, 'it took effect, and now it was never seen')
    // a call that waits for a person is held anew, and an approval of the dead is good for nothing
    const wanted = scenario === 'approval' ? 0 : paths.length
    claim(
      happened(effectsLater) === wanted,
      `it ran for the first time, and ${happened(effectsLater)} effects came of it`,
    )
  } else claim(happened(effectsLater) === 0, 'asked again, it took effect')
  if (first.kind === 'Recorded') {
    // a call that was refused is recorded too: a disk that could not hold its approval, say
    const spoken = first.content === '' ? 0 : paths.length
    const words = `its result speaks of ${spoken} effects, and ${happened(effects)} happened`
    claim(happened(effects) === spoken, words)
  }
  if (first.kind === 'Failed') {
    const mine = effects.filter(({ path }) => paths.includes(path)).map(({ path }) => path)
    claim(isKnown(journals, first.run, mine), 'it is said to have failed, and its journals leave something open')
  }
  if (isNameless && !torn.has(id)) claim(happened(effects) === 0, 'it took effect, and no run is named')
  return found
}

/** The run has its end, and each of these effects its receipt. */
function isKnown(journals: readonly FoundJournal[], run: string | null, paths: readonly string[]): boolean {
  const own = journals.find(({ runId }) => runId === run)
  const calls = journals.flatMap(({ entries }) => callsIn(entries))
  const known = calls.filter(({ receipt }) => receipt === 'known').map(({ path }) => path)
  return own?.entries.at(-1)?.event.kind === 'Terminated' && paths.every((path) => known.includes(path))
}

function sameAnswer(first: Answer, next: Answer): boolean {
  const kind = first.kind === 'NotFound' ? 'Recorded' : first.kind
  return next.kind === kind && next.content === first.content && next.run === first.run
}

/** Effects that belong to no id: plain calls are not repeated by anybody, and an approval of the dead moves nothing. */
function unaskedFor({ work, effectsLater, presented, told }: Story): string[] {
  const known = new Set(work.flatMap(({ paths }) => paths))
  const strange = effectsLater
    .filter(({ path }) => !known.has(path))
    .map(({ path }) => `effect ${path} was asked for by nobody`)
  const moved = presented
    .filter((text) => text.includes('counted'))
    .map(() => 'an approval of the dead was good for a call')
  const unproved = told.done.length === new Set(told.done).size ? [] : ['a client was told twice that a call is done']
  return [...strange, ...moved, ...unproved]
}

/** A receipt never speaks of what did not happen, and nobody is told "done" without one. */
function receiptsIn({ journals, effects, effectsLater, told }: Story): string[] {
  const calls = journals.flatMap(({ entries }) => callsIn(entries))
  const happened = new Set([...effects, ...effectsLater].map(({ path }) => path))
  const known = calls.filter(({ receipt }) => receipt === 'known').map(({ path }) => path)
  return [
    ...known.filter((path) => !happened.has(path)).map((path) => `a receipt speaks of ${path}, which did not happen`),
    ...told.done
      .filter((path) => !known.includes(path))
      .map((path) => `a client was told that ${path} is done, and no receipt says so`),
  ]
}

/** Every journal with those that it begins and the one that began it: whole or cut short, and nothing worse. */
async function linksIn({ journals, key }: Story): Promise<string[]> {
  if (key === null) return []
  const found: string[] = []
  for (const { path, runId, entries } of journals) {
    if (entries.length === 0) continue
    try {
      const tree = await verifyTree(nodeWorld(), { path, runId: runId as never, key })
      if (!treeHolds(tree)) found.push(`the runs around ${runId} do not agree: ${JSON.stringify(tree.root.problems)}`)
    } catch (error) {
      found.push(`the runs around ${runId} cannot be verified: ${String(error)}`)
    }
  }
  return found
}

/** What is counted in columns, each under its own name. */
export const COUNTERS = [
  'effects',
  'without',
  'twice',
  'broken',
  'recorded',
  'unresolved',
  'notFound',
  'contradictions',
] as const satisfies readonly (keyof Verdict)[]

/** Whether a law was broken. */
export const isBroken = ({ without, twice, broken, contradictions }: Verdict): boolean =>
  without + twice + broken + contradictions > 0
