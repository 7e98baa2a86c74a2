/**
 * One journal, judged again by candidate policies. The journal holds the exact requests that policy was asked, so nothing
 * is reconstructed, no tool is looked up, nothing takes effect, and nothing is written.
 *
 * It is read once and not kept; only the decisions that differ are, until the whole journal is verified: what does not
 * verify is not evidence, and then nothing of it is told.
 */
import {
  type AgentId,
  Fault,
  isJsonObject,
  type Json,
  type JsonObject,
  type RunId,
  type Timestamp,
} from '../core/index.ts'
import type { Entry, EventOf } from '../events/index.ts'
import { type VerifyOptions, visitRunPrefix } from '../journal/index.ts'
import type { PublicKey } from '../keys/index.ts'
import type { Candidate, Judged, PolicyPlace } from '../policy/index.ts'
import type { World } from '../world/index.ts'
import type { Candidates } from './candidates.ts'
import { type ReplayCounts, Tally } from './counts.ts'
import { type Actor, type Recorded, type Ruling, recordedDecisions, sameDeciders } from './recorded-decisions.ts'
import type { Surfaces } from './surface.ts'

export interface ReplayScope {
  readonly world: World
  /** Obtained from a trusted place, and the only key that is used. */
  readonly key: PublicKey
  readonly candidates: Candidates
  /** As which surface every run is judged, or who knows the surface of each. */
  readonly surface: string | Surfaces
}

export interface ReplayedJournal {
  readonly path: string
  /** Which run it must be of, from the name of the file or from a place that is trusted; null for format version 1. */
  readonly runId: RunId | null
}

/** A decision that differs under the candidate: another answer, or the same one from other policies. */
export interface Difference {
  readonly kind: 'changed' | 'policies'
  readonly run_id: RunId | null
  /** The entry of the journal, and its time. */
  readonly sequence: number
  readonly timestamp: Timestamp
  readonly surface: string
  readonly agent_id: AgentId
  /** The declared name that the run acts under, where its start gives one. */
  readonly agent: string | null
  /** The tool, `delegate:<target>`, `respond` or `terminate`. */
  readonly subject: string
  readonly judged: Judged
  readonly before: Ruling
  readonly after: NewRuling
}

export interface NewRuling extends Ruling {
  /** Where those policies stand in the candidate folder. */
  readonly places: readonly PolicyPlace[]
}

export interface Replay extends ReplayCounts {
  /** Null for a run without any decision of policy whose surface nobody said. */
  readonly surface: string | null
  readonly agent_id: AgentId
  /** Whether the journal reaches the end of its run. One that was cut at an entry looks like that of a crashed run. */
  readonly ended: boolean
  readonly differences: readonly Difference[]
}

/**
 * Throws `EVIDENCE_INVALID` and `EVIDENCE_CHANGING` as verification does, `SURFACE_UNKNOWN` when the journal does not say
 * which surface its decisions belong to, and what the candidate policies have to say.
 */
export async function replayRun(
  scope: ReplayScope,
  journal: ReplayedJournal,
  options: VerifyOptions = {},
): Promise<Replay> {
  const replaying = new Replaying(scope, journal)
  const visit = (entries: readonly Entry[]): Promise<void> => replaying.take(entries)
  const { agent_id } = await visitRunPrefix(scope.world, journal.path, scope.key, journal.runId, visit, options)
  return { ...replaying.result(), agent_id }
}

class Replaying {
  readonly #scope: ReplayScope
  readonly #journal: ReplayedJournal
  readonly #differences: Difference[] = []
  readonly #counts = new Tally()
  #start: { readonly actor: Actor; readonly event: EventOf<'Started'> } | null = null
  #surface: string | null = null
  #ended = false

  constructor(scope: ReplayScope, journal: ReplayedJournal) {
    this.#scope = scope
    this.#journal = journal
  }

  async take(entries: readonly Entry[]): Promise<void> {
    for (const entry of entries) {
      const { event, agent_id } = entry
      if (event.kind === 'Started') {
        const trusted_context = event.execution_context
        this.#start = trusted_context === undefined ? null : { actor: { agent_id, trusted_context }, event }
        this.#surface = null
      }
      this.#ended = event.kind === 'Terminated'
      if (event.kind !== 'PolicyEvaluated') continue
      for (const recorded of recordedDecisions(event, this.#start?.actor ?? null)) await this.#weigh(entry, recorded)
    }
  }

  result(): Omit<Replay, 'agent_id'> {
    return { ...this.#counts, surface: this.#surface, ended: this.#ended, differences: this.#differences }
  }

  async #weigh({ sequence, timestamp }: Entry, recorded: Recorded): Promise<void> {
    if (recorded.kind === 'NotJudged') this.#counts.not_judged[recorded.step] += 1
    if (recorded.kind === 'Unknown') this.#counts.unknown += 1
    if (recorded.kind !== 'Judged') return
    const { judged, subject, before } = recorded
    this.#surface ??= await this.#surfaceOf()
    const after = rulingOf(await this.#scope.candidates.for(this.#surface), judged)
    this.#counts.judged += 1
    const kind = before.decision !== after.decision ? 'changed' : sameDeciders(before, after) ? null : 'policies'
    if (kind === null) return
    if (kind === 'policies') this.#counts.policies_differ += 1
    else if (after.decision === 'deny') this.#counts.allow_to_deny += 1
    else this.#counts.deny_to_allow += 1
    this.#differences.push({
      kind,
      run_id: this.#journal.runId,
      sequence,
      timestamp,
      surface: this.#surface,
      agent_id: judged.agent_id,
      agent: nameIn(judged.trusted_context),
      subject,
      judged,
      before,
      after,
    })
  }

  async #surfaceOf(): Promise<string> {
    const { surface } = this.#scope
    if (typeof surface === 'string') return surface
    const found = this.#start === null ? null : await surface.of(this.#journal.path, this.#start.event)
    if (found !== null) return found
    throw new Fault('SURFACE_UNKNOWN', {
      message: 'Cannot judge the decisions of the journal again: it does not say which surface its run belonged to',
      hint: 'Give --surface with the folder of policies that judged it, for example --surface coordinator',
    })
  }
}

function rulingOf(candidate: Candidate, judged: Judged): NewRuling {
  const decision = candidate.decide(judged)
  const { policies } = decision
  return {
    decision: decision.kind === 'Allow' ? 'allow' : 'deny',
    policies,
    errors: decision.kind === 'Deny' ? decision.errors : [],
    places: policies.flatMap((name) => candidate.placeOf(name) ?? []),
  }
}

function nameIn({ agent_definition, source_policy }: JsonObject): string | null {
  const names = [textIn(agent_definition, 'name'), textIn(source_policy, 'agent_name')]
  return names.find((name) => name !== null) ?? null
}

function textIn(value: Json | undefined, member: string): string | null {
  const text = isJsonObject(value) ? value[member] : undefined
  return typeof text === 'string' ? text : null
}
