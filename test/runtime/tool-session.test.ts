/** Tool sessions as a program opens them: what their journal says, what they offer, and what is left behind when they end. */
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { digest, newId } from '../../src/core/index.ts'
import { verifyRun } from '../../src/journal/index.ts'
import { parsePublicKey } from '../../src/keys/index.ts'
import { Candidates, type Replay, replayRun, Surfaces } from '../../src/replay/index.ts'
import {
  ApprovalQueue,
  openProject,
  openRuntime,
  openToolSession,
  type ToolSession,
  type ToolSessionOptions,
} from '../../src/runtime/index.ts'
import { type TemporaryProject, temporaryProject } from '../../src/testing/index.ts'
import { nodeWorld } from '../../src/world/index.ts'
import { modelOf } from '../support/scripted-model.ts'
import { toolOf } from '../support/tools.ts'

const world = nodeWorld()
const never = new AbortController().signal
const PERMITS = 'permit(principal, action, resource);'
const FORBIDS = 'forbid(principal, action == Action::"tool_call::pay", resource);'

function projectOf(policy = PERMITS): TemporaryProject {
  const project = temporaryProject({ policies: { default: policy }, agents: { clerk: 'agent clerk() {}' } })
  onTestFinished(() => project[Symbol.dispose]())
  return project
}

function opened(project: TemporaryProject, options: Partial<ToolSessionOptions> = {}): Promise<ToolSession> {
  const tools = [toolOf('pay', async () => 'paid')]
  return openToolSession({ project: project.path, agent: 'clerk', tools, ...options }, never)
}

const pay = (call_id: string) => ({ call_id, name: 'pay', arguments: { amount: 5 } })

/** The journal at this path, judged by policies that forbid to pay as a client of tools, and nobody else. */
async function replayed({ path, run_id, public_key }: ToolSession['audit']): Promise<Replay> {
  const candidate = temporaryProject({ policies: { default: PERMITS } })
  onTestFinished(() => candidate[Symbol.dispose]())
  const folder = join(candidate.path, 'policies')
  mkdirSync(join(folder, 'mcp-server'))
  writeFileSync(join(folder, 'mcp-server', 'no.cedar'), FORBIDS)
  const key = parsePublicKey(public_key)
  using candidates = new Candidates(world, { folder })
  return await replayRun({ world, key, candidates, surface: new Surfaces(world, key) }, { path, runId: run_id })
}

test('the decisions of a session can be judged again without saying which policies judged them', async () => {
  const session = await opened(projectOf())
  await session.call(pay('c1'), never)
  await session.close()
  expect(await replayed(session.audit)).toMatchObject({
    surface: 'mcp-server',
    allow_to_deny: 1,
    differences: [{ subject: 'pay', agent: 'clerk' }],
  })
})

test('the run of a call with an id belongs to the surface of its session', async () => {
  const session = await opened(projectOf())
  const id = newId('invocation', world.random)
  const outcome = await session.callOnce(pay('c1'), { id, caller: digest('a caller') }, never)
  await session.close()
  if (outcome.kind !== 'Recorded') throw new Error(`recorded, and not ${outcome.kind}`)
  expect(await replayed(outcome.audit)).toMatchObject({ surface: 'mcp-server', allow_to_deny: 1 })
})

test('a session of an open runtime has its tools, and tells policies what it knows of its client', async () => {
  const project = projectOf()
  const tool = toolOf('pay', async () => 'paid')
  await using runtime = await openRuntime({ project: project.path, provider: modelOf(), tools: [tool] })
  const target = runtime.agents.targets.find(({ name }) => name === 'clerk')
  if (target === undefined) throw new Error('the runtime found the agent')
  for (const wrong of [{ agent: 'clerk' }, 'clerk', undefined]) {
    const opening = runtime.openToolSession(wrong as never, {}, never)
    await expect(opening).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
  }
  const session = await runtime.openToolSession(target, { only: ['pay'], client: { key_id: 'k1' } }, never)
  expect(session.definitions.map(({ name }) => name)).toEqual(['pay'])
  expect(await session.call(pay('c1'), never)).toMatchObject({ content: 'paid', is_error: false })
  await session.close()
  const { path, public_key, run_id } = session.audit
  const [started] = await verifyRun(world, path, parsePublicKey(public_key), run_id)
  expect(started?.event).toMatchObject({
    kind: 'Started',
    execution_context: { agent_definition: { name: 'clerk' }, surface: 'mcp-server', tool_client: { key_id: 'k1' } },
  })
  expect(tool.ran).toHaveLength(1)
})

test.each([
  ['no tool at all', { only: [] }, 'the list of its tools is empty'],
  ['a tool that there is not', { only: ['fly'] }, 'there is none of this name'],
  ['more calls than a session may make', { callsMax: 1001 }, 'it may take 1 to 1000 calls'],
  ['longer than a day', { timeoutMs: 86_400_001 }, 'it may be open for up to a day'],
])('a session that is to offer or take %s is not opened, and leaves no journal', async (_, options, reason) => {
  const project = projectOf()
  await expect(opened(project, options)).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    message: expect.stringContaining(reason),
  })
  const governed = join(project.path, '.symbiont', 'governed')
  expect(existsSync(governed) ? readdirSync(governed).filter((name) => name.endsWith('.jsonl')) : []).toEqual([])
})

test('the timeout of the agent makes a session shorter, and never longer', async () => {
  const source = 'agent clerk() { with timeout = 1.hours {} }'
  const project = temporaryProject({ policies: { default: PERMITS }, agents: { clerk: source } })
  onTestFinished(() => project[Symbol.dispose]())
  for (const [timeoutMs, secs] of [
    [undefined, 3600],
    [60_000, 60],
  ] as const) {
    const session = await opened(project, timeoutMs === undefined ? {} : { timeoutMs })
    await session.close()
    const { path, public_key, run_id } = session.audit
    const [started] = await verifyRun(world, path, parsePublicKey(public_key), run_id)
    expect(started?.event).toMatchObject({ config: { timeout: { secs, nanos: 0 } } })
  }
})

test('where nobody can approve, a call that needs it is refused, and whoever ends a session twice hears the same', async () => {
  const session = await opened(projectOf(), { approvalTools: ['pay'] })
  expect(await session.call(pay('c1'), never)).toMatchObject({
    is_error: true,
    content: expect.stringContaining('no approver is configured'),
  })
  session.cancel('a reason of the test')
  await expect(session.close()).rejects.toMatchObject({ code: 'TOOL_SESSION_FAILED' })
  await expect(session.close()).rejects.toMatchObject({ code: 'TOOL_SESSION_FAILED' })
  expect(session.failureReason).toBe('a reason of the test')
})

test('a held call takes effect once it was approved in the queue and comes back with its handle, as the guide says', async () => {
  const project = projectOf()
  const { approvalFolder } = await openProject(world, project.path)
  await using queue = await ApprovalQueue.open(world, approvalFolder)
  const tool = toolOf('pay', async () => 'paid')
  const session = await opened(project, { tools: [tool], approvalTools: ['pay'], queue })
  expect((await session.call(pay('c1'), never)).metadata).toMatchObject({ error_type: 'approval_pending' })
  const [held] = queue.list()
  if (held === undefined) throw new Error('the call is held')
  await queue.resolve(held.id, { decision: 'approve' }, { surface: 'tui', id: 'ada', display: 'Ada' })
  expect(tool.ran).toEqual([])
  const presented = { presented: held.id }
  expect(await session.call(pay('c2'), never, presented)).toMatchObject({ content: 'paid', is_error: false })
  expect(await session.call(pay('c3'), never, presented)).toMatchObject({ is_error: true })
  expect(tool.ran).toEqual([{ amount: 5 }])
  await session.close()
})
