/**
 * The journals of a project as a stranger finds them, each verified with the public key as far as it goes, and what they say
 * of an effect. It knows nothing of how they were made; the parent, the witness and the judge read with the same eyes.
 */
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isJsonObject, type Json, type RunId } from '../../src/core/index.ts'
import type { Entry, EventOf } from '../../src/events/index.ts'
import { type PublicKey, readSigningKey, verifyPrefixBytes } from '../../src/journal/index.ts'
import { nodeWorld } from '../../src/world/index.ts'

const world = nodeWorld()
const NEWLINE = 0x0a

export interface FoundJournal {
  readonly path: string
  readonly runId: string
  /** Empty where no line is complete, and where it does not verify. */
  readonly entries: readonly Entry[]
  /** Why it is no prefix of what a run wrote, or null. */
  readonly problem: string | null
}

export const governedIn = (project: string): string => join(project, '.symbiont', 'governed')

/** Of a project in which nothing was ever signed, null. */
export async function publicKeyOf(project: string): Promise<PublicKey | null> {
  if (!existsSync(governedIn(project))) return null
  return (await readSigningKey(world, governedIn(project)))?.publicKey ?? null
}

export async function journalsOf(project: string, key: PublicKey | null): Promise<readonly FoundJournal[]> {
  const folder = governedIn(project)
  const names = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.jsonl')) : []
  return await Promise.all(names.map((name) => journalAt(join(folder, name), name.split('.')[1] ?? '', key)))
}

/** A last line without its end is what a crash leaves; anything else that does not verify is a broken journal. */
async function journalAt(path: string, runId: string, key: PublicKey | null): Promise<FoundJournal> {
  const bytes = readFileSync(path)
  if (!bytes.includes(NEWLINE)) return { path, runId, entries: [], problem: null }
  if (key === null) return { path, runId, entries: [], problem: 'it was written without a key' }
  try {
    const { entries, verified_bytes } = await verifyPrefixBytes(world, bytes, key, runId as RunId)
    const whole = bytes.lastIndexOf(NEWLINE) + 1
    return {
      path,
      runId,
      entries,
      problem: verified_bytes === whole ? null : `${verified_bytes} of ${whole} bytes verify`,
    }
  } catch (error) {
    return { path, runId, entries: [], problem: String(error) }
  }
}

/** A call that was about to take effect, as signed. */
export interface FoundCall {
  /** Path of the request. */
  readonly path: string
  /** The same call was allowed by policy before. */
  readonly decided: boolean
  /** Its decision names the approval of a person. */
  readonly approved: boolean
  /** The request itself was announced. */
  readonly announced: boolean
  /** What is recorded of its result. */
  readonly receipt: 'none' | 'known' | 'unknown'
}

interface ApprovedCall {
  readonly fingerprint?: string
  readonly arguments?: { readonly url?: unknown }
  readonly approval?: Json
}

/** Every call of `http_request` whose dispatch was announced. */
export function callsIn(entries: readonly Pick<Entry, 'event'>[]): readonly FoundCall[] {
  const events = entries.map(({ event }) => event)
  return events.flatMap((event, at) => {
    if (event.kind !== 'ToolDispatchStarted' || event.tool_name !== 'http_request') return []
    const approved = events
      .slice(0, at)
      .flatMap((before) => (before.kind === 'PolicyEvaluated' && before.denied_count === 0 ? approvedIn(before) : []))
      .find(({ fingerprint }) => fingerprint === event.call_fingerprint)
    const path = pathOf(approved?.arguments?.url)
    const after = events.slice(at + 1)
    const announced = path !== '' && after.some((effect) => requestIn(effect) === path)
    const end = after.find(
      (other): other is EventOf<'ToolDispatchFinished'> =>
        other.kind === 'ToolDispatchFinished' && other.dispatch_id === event.dispatch_id,
    )
    const receipt = end === undefined ? 'none' : end.is_error ? 'unknown' : 'known'
    return [{ path, decided: approved !== undefined, approved: isJsonObject(approved?.approval), announced, receipt }]
  })
}

function approvedIn({ approved_calls = [] }: EventOf<'PolicyEvaluated'>): readonly ApprovedCall[] {
  return approved_calls as unknown as readonly ApprovedCall[]
}

/** The path of the request that this entry announces. */
function requestIn(event: Entry['event']): string | null {
  if (event.kind !== 'ToolEffect' || !('NetworkRequestStarted' in event.effect)) return null
  return pathOf(event.effect.NetworkRequestStarted.url)
}

function pathOf(url: unknown): string {
  return typeof url === 'string' && URL.canParse(url) ? new URL(url).pathname : ''
}

/** Why this effect must not happen now, or null when its decision, its intent and its approval can be read. */
export function objectionTo(path: string, journals: readonly FoundJournal[], spent: number | null): string | null {
  const broken = journals.find(({ problem }) => problem !== null)
  if (broken !== undefined) return `a journal does not verify: ${broken.problem}`
  const calls = journals.flatMap(({ entries }) => callsIn(entries))
  const [call, ...more] = calls.filter((each) => each.path === path)
  if (call === undefined) return 'no journal holds an allowed call and its intent'
  if (more.length > 0) return `${more.length + 1} intents speak of it`
  if (!call.announced) return 'its request is not announced'
  if (call.receipt !== 'none') return 'its receipt stands there already'
  if (spent === null) return null
  if (!call.approved) return 'its decision names no approval'
  return spent < calls.length ? 'its approval is not used up' : null
}

/** A project in which every call needs a person has this file. */
export const NEEDS_APPROVAL = 'every-call-needs-a-person'

/** How many approvals were used up, durably; null where none is needed. */
export function spentIn(project: string): number | null {
  if (!existsSync(join(project, NEEDS_APPROVAL))) return null
  const spent = new Set<string>()
  for (const folder of ['held', 'settled']) {
    const place = join(project, '.symbiont', 'approvals', folder)
    for (const name of existsSync(place) ? readdirSync(place) : []) {
      const [, id] = /^(?:[0-9a-f]{16}\.)?([0-9a-f]{16})(?:\.end)?\.json$/.exec(name) ?? []
      if (id !== undefined && JSON.parse(readFileSync(join(place, name), 'utf8')).ended === 'spent') spent.add(id)
    }
  }
  return spent.size
}

/** Ids whose claim ends in the middle of a line: they name no run any more, also where a line before it did. */
export function tornClaimsIn(project: string): ReadonlySet<string> {
  const folder = join(project, '.symbiont', 'invocations')
  const names = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.jsonl')) : []
  const torn = names.map((name) => readFileSync(join(folder, name), 'utf8')).filter((text) => !text.endsWith('\n'))
  return new Set(
    torn.flatMap((text) => (text.includes('\n') ? [JSON.parse(text.slice(0, text.indexOf('\n'))).id] : [])),
  )
}

/** What the files of the evidence hold, by name: to see that nothing that was written changed. */
export function digestsOf(project: string): ReadonlyMap<string, string> {
  const folder = governedIn(project)
  const names = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.jsonl')) : []
  const hash = (name: string): string =>
    createHash('sha256')
      .update(readFileSync(join(folder, name)))
      .digest('hex')
  return new Map(names.map((name) => [name, hash(name)]))
}
