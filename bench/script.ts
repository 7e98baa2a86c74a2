/**
 * A script: what one run cannot avoid, taken down while the real thing does the job once. It is what the floor program
 * performs: the records in their groups, one sync a group, and before each group the digests that its records carry and
 * the question to Cedar whose answer they hold.
 */
import type { EventLog, NewEntry } from '../src/events/index.ts'
import { CedarEngine } from '../src/policy/index.ts'
import { type Workload, workload } from './workload.ts'

type CedarQuestion = Parameters<CedarEngine['ask']>[1]

export interface Step {
  /** Values whose digest stands in the records: calls and observations. */
  readonly digested: readonly unknown[]
  /** The same, where the text is there already: settings are written once, and a request goes on where the last one ended. */
  readonly kept: readonly string[]
  readonly questions: readonly CedarQuestion[]
  readonly entries: readonly NewEntry[]
}

export interface Script {
  readonly policies: ReadonlyMap<string, string>
  readonly steps: readonly Step[]
}

export async function record(job: (work: Workload, log: EventLog) => Promise<unknown>): Promise<Script> {
  let digested: unknown[] = []
  let kept: string[] = []
  let questions: CedarQuestion[] = []
  const requests: string[] = []
  let settings: string | null = null
  const steps: Step[] = []
  const engine = new ListeningEngine((question) => questions.push(question))
  const work = workload({
    engine,
    // The request is digested before the reservation, and so belongs to the group that was written just before this.
    asked: (conversation, options) => requests.push(JSON.stringify({ conversation, options })),
  })
  const log: EventLog = {
    audit: {
      run_id: RUN,
      path: '/project/.symbiont/governed/run.jsonl',
      public_key: KEY,
    } as unknown as EventLog['audit'],
    append: async (entries) => {
      for (const { event } of entries) {
        if (event.kind === 'Started') settings = JSON.stringify([event.config, event.execution_context])
        digested.push(...digestedBy(event))
        if (event.kind === 'PolicyEvaluated' && settings !== null) kept.push(settings) // the binding, once an iteration
      }
      steps.push({ digested, kept, questions, entries })
      digested = []
      kept = []
      questions = []
    },
  }
  await job(work, log)
  const asking = steps.filter(({ entries }) => entries.some(({ event }) => event.kind === 'BudgetReservationStarted'))
  for (const [index, step] of asking.entries()) {
    ;(step.kept as string[]).push(requests[index] ?? '')
  }
  return { policies: engine.policies, steps }
}

const RUN = '11111111-1111-4111-8111-111111111111'
const KEY = '11'.repeat(32)

/** The values behind the digests of an event, as far as the event itself holds them. */
function digestedBy(event: NewEntry['event']): readonly unknown[] {
  switch (event.kind) {
    case 'PolicyEvaluated':
      return (event.approved_calls ?? []).map(({ action, contract }) => ({ action, contract })) // the fingerprints
    case 'ToolBatchCompleted':
      return event.observations
    default:
      return []
  }
}

class ListeningEngine extends CedarEngine {
  readonly #heard: (question: CedarQuestion) => void
  policies: ReadonlyMap<string, string> = new Map()

  constructor(heard: (question: CedarQuestion) => void) {
    super()
    this.#heard = heard
  }

  override ask(...[slot, question]: Parameters<CedarEngine['ask']>): ReturnType<CedarEngine['ask']> {
    this.policies = this.textsOf(slot)
    this.#heard(question)
    return super.ask(slot, question)
  }
}
