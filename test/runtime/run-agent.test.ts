import { appendFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type InvocationId, parseId } from '../../src/core/index.ts'
import { runnableAgent } from '../../src/delegation/index.ts'
import type { Entry } from '../../src/events/index.ts'
import { verifyRun } from '../../src/journal/index.ts'
import { parsePublicKey } from '../../src/keys/index.ts'
import { type AgentRun, type AgentRunOptions, projectAt, runAgent } from '../../src/runtime/index.ts'
import { nodeWorld } from '../../src/world/index.ts'
import { faultyWorld } from '../support/faulty-world.ts'
import { allowAll } from '../support/gates.ts'
import { callOf, type ModelForTest, modelOf } from '../support/scripted-model.ts'
import { type TemporaryProject, temporaryProject } from '../support/temporary-project.ts'

const world = nodeWorld()
const never = new AbortController().signal
const ID = parseId('invocation', '3f0e2a0e-8a54-4d1c-9f5b-0a8d9c2b7e10')
const REVIEWER = 'agent reviewer { with timeout = 20s {} policy restricted { deny: "list_agents" } }'
const SOURCE = `metadata { description = "Reads" }\n${REVIEWER}\n`

const agentOf = (text: string): AgentRunOptions['target'] =>
  runnableAgent({ file: 'agents/reviewer.symbi', text, selector: 'reviewer' })

function options(
  project: TemporaryProject,
  provider: ModelForTest,
  own: Partial<AgentRunOptions> = {},
): AgentRunOptions {
  const target = agentOf(SOURCE)
  return { world, project: projectAt(project.root), provider, target, input: 'go', id: ID, gate: allowAll, ...own }
}

const journalsOf = ({ governed }: TemporaryProject): readonly string[] =>
  readdirSync(governed).filter((name) => name.endsWith('.jsonl'))

async function entriesOf(ran: AgentRun): Promise<readonly Entry[]> {
  if (!('audit' in ran) || ran.audit === null) throw new Error('the run has no audit')
  const { path, public_key, run_id } = ran.audit
  return await verifyRun(world, path, parsePublicKey(public_key), parseId('run', run_id))
}

test('a run acts under the principal of the declared name, with its policy and its definition in the first entry', async () => {
  using project = temporaryProject()
  const model = modelOf({ content: 'done' })
  const ran = await runAgent(options(project, model), never)
  expect(ran).toMatchObject({
    kind: 'Recorded',
    replayed: false,
    result: { completed: true, output: 'done', termination_reason: 'Completed', iterations: 1, total_tokens: 2 },
  })
  const [started] = await entriesOf(ran)
  expect(started).toMatchObject({
    agent_id: 'cff02623-b268-5127-8e96-9f31668f2d24',
    event: {
      config: { max_iterations: 10, max_total_tokens: 100_000, timeout: { secs: 20, nanos: 0 } },
      execution_context: {
        source_policy: { semantics: 'inline_effect_policy_v1', agent_name: 'reviewer', policies: ['restricted'] },
        agent_definition: { name: 'reviewer', timeout_seconds: 20, mode: 'coordinator_monitoring' },
        invocation: { scope: 'cli:orga', id: ID },
      },
    },
  })
  expect(model.asked[0]?.conversation.messages).toEqual([
    { role: 'system', content: `You are agent 'reviewer'. Your declaration:\n\n${REVIEWER}` },
    { role: 'user', content: 'go' },
  ])
})

test.each([
  ['', 300],
  ['with timeout = 10m {}', 300],
  ['with timeout = 5s {}', 5],
])('the source %j can only shorten the time that a run has: %d seconds', async (settings, secs) => {
  using project = temporaryProject()
  const target = agentOf(`agent reviewer { ${settings} }`)
  const [started] = await entriesOf(await runAgent(options(project, modelOf({ content: 'x' }), { target }), never))
  expect(started).toMatchObject({ event: { config: { timeout: { secs, nanos: 0 } } } })
})

test('the evidence is told, and lies on the disk, before the model is asked', async () => {
  using project = temporaryProject()
  const told: string[] = []
  const model = modelOf(async () => {
    told.push('model')
    return { content: 'x' }
  })
  const onOpened: AgentRunOptions['onOpened'] = ({ path }) =>
    told.push(readFileSync(path, 'utf8') === '' ? 'journal' : '')
  await runAgent(options(project, model, { onOpened }), never)
  expect(told).toEqual(['journal', 'model'])
})

test('a tool that the inline policy denies is denied, whatever the gate says, and the run can end well', async () => {
  using project = temporaryProject()
  const model = modelOf(callOf('c1', 'list_agents'), callOf('c2', 'system_health'), { content: 'denied and seen' })
  const ran = await runAgent(options(project, model), never)
  expect(ran).toMatchObject({ result: { output: 'denied and seen' } })
  const entries = await entriesOf(ran)
  const denied = entries.flatMap(({ event }) => (event.kind === 'PolicyEvaluated' ? (event.denied_calls ?? []) : []))
  expect(denied).toMatchObject([{ reason: expect.stringContaining('inline policy restricted') }])
  const begun = entries.flatMap(({ event }) => (event.kind === 'ToolDispatchStarted' ? [event.tool_name] : []))
  expect(begun).toEqual(['system_health'])
})

test('the same id and request again gives the saved result, and asks nobody', async () => {
  using project = temporaryProject()
  const model = modelOf({ content: 'once' })
  const first = await runAgent(options(project, model), never)
  const before = readFileSync(join(project.governed, journalsOf(project)[0] ?? ''), 'utf8')
  const second = await runAgent(options(project, model), never)
  expect(second).toEqual({ ...first, replayed: true })
  expect(model.asked).toHaveLength(1)
  expect(journalsOf(project)).toHaveLength(1)
  expect(readFileSync(join(project.governed, journalsOf(project)[0] ?? ''), 'utf8')).toBe(before)
})

test('a model is chosen only for a run that is new, and where none can be, the id stays free', async () => {
  using project = temporaryProject()
  const none = async (): Promise<never> => {
    throw new Error('no model')
  }
  const model = modelOf({ content: 'once' })
  const chosen = (provider: AgentRunOptions['provider']) => runAgent({ ...options(project, model), provider }, never)
  await expect(chosen(none)).rejects.toThrow('no model')
  expect(readdirSync(project.root)).toEqual([])
  const first = await chosen(async () => model)
  expect(first).toMatchObject({ kind: 'Recorded', replayed: false, result: { output: 'once' } })
  expect(await chosen(none)).toEqual({ ...first, replayed: true })
})

test('an observer that throws when it hears of the evidence changes nothing', async () => {
  using project = temporaryProject()
  const onOpened = (): never => {
    throw new Error('EPIPE')
  }
  const ran = await runAgent(options(project, modelOf({ content: 'done' }), { onOpened }), never)
  expect(ran).toMatchObject({ kind: 'Recorded', result: { output: 'done' } })
})

test.each<[string, Partial<AgentRunOptions>]>([
  ['another input', { input: 'stop' }],
  ['an edited source', { target: agentOf(`${SOURCE}# edited`) }],
  ['another agent', { target: agentOf('agent writer {}') }],
  ['another limit', { maxIterations: 3 }],
])('the same id with %s is a conflict, and nothing runs', async (_, other) => {
  using project = temporaryProject()
  const model = modelOf({ content: 'once' })
  await runAgent(options(project, model), never)
  await expect(runAgent(options(project, model, other), never)).rejects.toMatchObject({ code: 'INVOCATION_CONFLICT' })
  expect(model.asked).toHaveLength(1)
})

test('the id of a run that is at work is in progress for everybody else', async () => {
  using project = temporaryProject()
  const others: AgentRun[] = []
  const model = modelOf(async () => {
    others.push(await runAgent(options(project, model), never))
    return { content: 'mine' }
  })
  expect(await runAgent(options(project, model), never)).toMatchObject({ result: { output: 'mine' } })
  expect(others).toEqual([{ kind: 'InProgress' }])
})

test('a run that is cancelled while the model thinks records its end, and its id stays closed', async () => {
  using project = temporaryProject()
  const cancel = new AbortController()
  const model = modelOf(async (_, signal) => {
    cancel.abort()
    return await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  })
  const ran = await runAgent(options(project, model), cancel.signal)
  expect(ran.kind).toBe('Unresolved') // what the model was paid for is unknown
  expect((await entriesOf(ran)).at(-1)?.event).toMatchObject({
    kind: 'Terminated',
    reason: { Error: { message: 'the execution was cancelled' } },
  })
  expect(await runAgent(options(project, model), never)).toEqual(ran)
  expect(model.asked).toHaveLength(1)
})

test('a run that fails with everything recorded has that as its result', async () => {
  using project = temporaryProject()
  const model = modelOf(callOf('c1', 'system_health'))
  const ran = await runAgent(options(project, model, { maxIterations: 2 }), never)
  expect(ran).toMatchObject({
    kind: 'Recorded',
    result: { completed: false, output: '', termination_reason: 'MaxIterations', iterations: 2 },
  })
})

test('a run that is cancelled before it has its claim uses no id up', async () => {
  using project = temporaryProject()
  const model = modelOf({ content: 'x' })
  await expect(runAgent(options(project, model), AbortSignal.abort(new Error('no')))).rejects.toThrow('no')
  expect(await runAgent(options(project, model), never)).toMatchObject({ kind: 'Recorded', replayed: false })
})

test('a result that cannot be written leaves the run unresolved, and its id never runs again', async () => {
  using project = temporaryProject()
  const model = modelOf({ content: 'lost' })
  const eyes = faultyWorld(world, [{ on: 'append', path: '/invocations/', nth: 3, errno: 'EIO' }])
  await expect(runAgent(options(project, model, { world: eyes }), never)).rejects.toMatchObject({
    code: 'INVOCATION_UNRESOLVED',
  })
  expect(await runAgent(options(project, model), never)).toMatchObject({
    kind: 'Unresolved',
    audit: expect.any(Object),
  })
  expect(model.asked).toHaveLength(1)
})

test.each([
  ['the answer', '"output":"true"', '"output":"made up"'],
  ['the tokens', '"total_tokens":2', '"total_tokens":1'],
  ['the iterations', '"iterations":1', '"iterations":7'],
])('a saved result in which somebody changed %s is refused', async (_, was, becomes) => {
  using project = temporaryProject()
  const model = modelOf({ content: 'true' })
  await runAgent(options(project, model), never)
  const claim = join(
    project.invocations,
    readdirSync(project.invocations).find((name) => name.endsWith('.jsonl')) ?? '',
  )
  const text = readFileSync(claim, 'utf8')
  expect(text).toContain(was)
  writeFileSync(claim, text.replace(was, becomes))
  await expect(runAgent(options(project, model), never)).rejects.toMatchObject({ code: 'EVIDENCE_INVALID' })
})

test('a journal that is damaged while the model thinks leaves the run unresolved', async () => {
  using project = temporaryProject()
  let path = ''
  const model = modelOf(async () => {
    appendFileSync(path, 'x')
    return { content: 'lost' }
  })
  const onOpened: AgentRunOptions['onOpened'] = (audit) => {
    path = audit.path
  }
  expect(await runAgent(options(project, model, { onOpened }), never)).toMatchObject({ kind: 'Unresolved' })
})

test('without a gate of its own a run asks the policies of the project, shared ones and those of "run"', async () => {
  using project = temporaryProject()
  const model = modelOf(callOf('c1', 'system_health'), { content: 'end' })
  const { gate: _, ...own } = options(project, model)
  const news: string[] = []
  const ran = await runAgent({ ...own, onPolicies: ({ kind }) => void news.push(kind) }, never)
  expect(news).toEqual(['Loaded'])
  const kinds = (await entriesOf(ran)).map(({ event }) => event.kind)
  expect(kinds).not.toContain('ToolDispatchStarted')
})

test('a limit that is no number is refused before an id is used', async () => {
  using project = temporaryProject()
  const bad = options(project, modelOf({ content: 'x' }), { maxIterations: Number.NaN, id: ID as InvocationId })
  await expect(runAgent(bad, never)).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
  expect(readdirSync(project.root)).toEqual([])
})
