/** An agent that is run by hand, as `symbi run` does it: under an id, told where its evidence lies before it does anything. */
import { canonical } from '../../src/core/index.ts'
import {
  type AgentRun,
  findAgentSource,
  type InvocationId,
  isFault,
  openProject,
  runAgent,
  runnableAgent,
} from '../../src/runtime/index.ts'
import type { Life } from './child.ts'
import type { Answer } from './messages.ts'
import { plannedModel } from './model.ts'
import { AGENT, workOf } from './scenarios.ts'

export async function runLife({ errand, world, say }: Life): Promise<void> {
  const { scenario, role, tag, ids, origin } = errand
  const project = await openProject(world, errand.project)
  const target = runnableAgent(await findAgentSource(world, project.root, AGENT))
  for (const { id, plan } of workOf(scenario, tag, ids)) {
    const run = (): Promise<Answer> =>
      runAgent(
        {
          world,
          project,
          target,
          id: id as InvocationId,
          input: JSON.stringify(plan),
          provider: plannedModel(origin),
          readyMade: { httpOrigins: [origin] },
          onOpened: ({ run_id }) => say({ opened: { id, run: run_id } }),
        },
        new AbortController().signal,
      ).then(answerOf, failureOf)
    for (let asked = 0; asked < (role === 'live' ? 1 : 2); asked += 1) {
      say({ answered: { id, answer: await run() } })
    }
  }
}

function answerOf(ran: AgentRun): Answer {
  if (ran.kind === 'Recorded') {
    const { result, audit, replayed } = ran
    const kind = replayed ? 'Recorded' : 'NotFound'
    return { kind, content: canonical(result as never), run: audit.run_id, code: null }
  }
  if (ran.kind !== 'Unresolved') return { kind: 'Other', content: null, run: null, code: ran.kind }
  return { kind: 'Unresolved', content: null, run: ran.audit?.run_id ?? null, code: null }
}

export function failureOf(error: unknown): Answer {
  const code = isFault(error) ? error.code : String(error)
  return { kind: code === 'INVOCATION_UNRESOLVED' ? 'Unresolved' : 'Other', content: null, run: null, code }
}
