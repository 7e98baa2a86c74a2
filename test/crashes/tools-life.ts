/**
 * The tools of an agent for an MCP client on stdin and stdout, as `symbi mcp` serves them. In a second life the ids and the
 * handles of the first are asked for again without a client: what comes back is what the runtime knows of them.
 */
import { Connection, serveStream, ToolBroker } from '../../src/broker/index.ts'
import { digest, newId } from '../../src/core/index.ts'
import {
  ApprovalQueue,
  type InvocationId,
  openProject,
  openToolSession,
  type ToolSession,
} from '../../src/runtime/index.ts'
import type { Life } from './child.ts'
import type { Answer } from './messages.ts'
import { failureOf } from './run-life.ts'
import { AGENT, confirmedIn, plainPath, workOf } from './scenarios.ts'

const CALLER = digest(['mcp', 'stdio'])
const never = new AbortController().signal
const APPROVER = { surface: 'rest', id: 'key:admin', display: 'admin' } as const

export async function toolsLife(life: Life): Promise<void> {
  const { world, errand } = life
  const { project, origin, scenario, role } = errand
  const { approvalFolder } = await openProject(world, project)
  await using queue = await ApprovalQueue.open(world, approvalFolder)
  const approvalTools = scenario === 'approval' ? ['http_request'] : []
  const readyMade = { httpOrigins: [origin] }
  await using session = await openToolSession(
    { world, project, agent: AGENT, readyMade, queue, approvalTools, client: { transport: 'stdio' } },
    never,
  )
  await (role === 'live' ? serveClient(life, session, queue) : askAgain(life, session))
}

async function serveClient({ world, say, heard }: Life, session: ToolSession, queue: ApprovalQueue): Promise<void> {
  const connection = new Connection(newId('run', world.random))
  const broker = new ToolBroker({
    clock: world.clock,
    session,
    connection,
    sessionId: session.audit.run_id,
    version: '0.0.0',
    held: queue,
    identified: { call: (id, call, inner, given) => session.callOnce(call, { id, caller: CALLER }, inner, given) },
    report: () => undefined,
  })
  await broker.open()
  say({ serving: 'stdio' })
  const served = serveStream(connection, { input: process.stdin, output: process.stdout }, never)
  let over = false
  void served.finally(() => {
    over = true
  })
  while (!over) {
    const message = await Promise.race([heard(), served.then(() => null)])
    if (message === null || !('approve' in message)) break
    const problem = await queue.resolve(message.approve, { decision: 'approve' }, APPROVER).then(
      () => null,
      (error: unknown) => String(error),
    )
    say({ approved: message.approve, problem })
  }
  await served
  await broker.end()
}

async function askAgain({ errand, say }: Life, session: ToolSession): Promise<void> {
  const { scenario, tag, ids, origin, handles } = errand
  let calls = 0
  const callOf = (path: string) => {
    calls += 1
    return { call_id: `again-${calls}`, name: 'http_request', arguments: { method: 'GET', url: `${origin}${path}` } }
  }
  const work = workOf(scenario, tag, ids)
  for (const [index, { id, call }] of work.entries()) {
    const presented = index === 1 ? (handles[1] ?? null) : null
    for (let asked = 0; asked < 2; asked += 1) {
      const answer = await session
        .callOnce(callOf(call), { id: id as InvocationId, caller: CALLER }, never, { presented })
        .then(identifiedAnswer, failureOf)
      say({ answered: { id, answer } })
    }
  }
  for (const [index, presented] of handles.entries()) {
    const path = index === 0 ? plainPath(tag) : (work[1]?.call ?? '')
    const { content } = await session.call(callOf(path), never, { presented })
    say({ presented: content })
  }
}

function identifiedAnswer(outcome: Awaited<ReturnType<ToolSession['callOnce']>>): Answer {
  if (outcome.kind === 'InProgress') return { kind: 'Other', content: null, run: null, code: outcome.kind }
  const run = outcome.audit?.run_id ?? null
  if (outcome.kind === 'Unresolved') return { kind: 'Unresolved', content: null, run, code: null }
  if (outcome.kind !== 'Recorded') return { kind: 'Other', content: null, run, code: outcome.kind }
  const kind = outcome.replayed ? 'Recorded' : 'NotFound'
  return { kind, content: confirmedIn([outcome.observation.content]), run, code: null }
}
