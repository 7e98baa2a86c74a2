import { describe, expect, test } from 'vitest'
import { invocationView } from '../../../src/calls/index.ts'
import { Fault } from '../../../src/core/index.ts'
import { CedarEngine } from '../../../src/policy/cedar/cedar-engine.ts'
import { evaluatePolicy, loadPolicies } from '../../../src/policy/index.ts'
import { nodeWorld } from '../../../src/world/index.ts'
import { AGENT, bareQuestion, DELEGATE, decide, PolicyFolder, RESPOND, toolQuestion } from '../support.ts'

const world = nodeWorld()
const evaluate = (folder: PolicyFolder, input: unknown, parts: { surface?: string; allowMissing?: boolean } = {}) =>
  evaluatePolicy(world, input, {
    folder: folder.path,
    surface: parts.surface ?? null,
    allowMissing: parts.allowMissing ?? false,
  })

const POLICY = `// tools
permit(principal, action == Action::"tool_call::read", resource)
when { context.invocation.arguments has path };

@id("secrets")
forbid(principal, action, resource) when {
  context has invocation.arguments.path &&
  context.invocation.arguments.path like "/etc/*"
};
permit(principal, action == Action::"tool_call::pay", resource) when { context.has_human_approval };
permit(principal == Agent::"${AGENT}", action == Action::"tool_call::sum", resource) when {
  context.n +
  1 > 2
};
permit(principal, action in [Action::"respond", Action::"delegate::worker"], resource);
`

describe('the mapping of the runtime', () => {
  test('an allowed call names the policy and its line', async () => {
    await using folder = await PolicyFolder.make({ 'tools.cedar': POLICY })
    expect(await evaluate(folder, { agent_id: AGENT, tool: 'read', arguments: { path: '/home' } })).toEqual({
      decision: 'allow',
      approval: 'not needed',
      approval_reason: null,
      reason: 'permitted by "tools" (tools.cedar:2)',
      mapping: 'runtime',
      mapping_note: 'judged as the gate of the runtime judges it',
      subject: 'read',
      request: { principal: `Agent::"${AGENT}"`, action: 'Action::"tool_call::read"', resource: 'Resource::"default"' },
      policies: [{ name: 'tools', file: 'tools.cedar', line: 2 }],
      errors: [],
    })
  })

  test('a forbidden call, a failed policy and a denial by default each say which and where', async () => {
    await using folder = await PolicyFolder.make({ 'tools.cedar': POLICY })
    expect(await evaluate(folder, { tool: 'read', arguments: { path: '/etc/passwd' } })).toMatchObject({
      decision: 'deny',
      reason: 'forbidden by "secrets" (tools.cedar:5)',
    })
    expect(await evaluate(folder, { agent_id: AGENT, tool: 'sum', context: { n: 'x' } })).toMatchObject({
      decision: 'deny',
      reason: expect.stringContaining('"tools#4" (tools.cedar:12) failed'),
      errors: [{ name: 'tools#4', file: 'tools.cedar', line: 12, message: 'type error: expected long, got string' }],
    })
    expect(await evaluate(folder, { tool: 'rm' })).toMatchObject({
      decision: 'deny',
      reason: expect.stringContaining('no policy permits it'),
    })
  })

  test('the answer is the gate’s answer', async () => {
    await using folder = await PolicyFolder.make({
      'tools.cedar': POLICY,
      'run/more.cedar': 'permit(principal, action == Action::"tool_call::rm", resource);',
    })
    const { gate } = await loadPolicies(world, { folder: folder.path, surface: 'run' })
    const pairs = [
      [
        { agent_id: AGENT, tool: 'read', arguments: { path: '/a' } },
        toolQuestion('read', { arguments: { path: '/a' } }),
      ],
      [{ agent_id: AGENT, tool: 'read' }, toolQuestion('read')],
      [{ agent_id: AGENT, tool: 'rm' }, toolQuestion('rm')],
      [{ agent_id: AGENT, tool: 'sum', context: { n: 5 } }, toolQuestion('sum', { context: { n: 5 } })],
      [{ agent_id: AGENT, tool: 'sum' }, toolQuestion('sum')],
      [{ agent_id: AGENT, respond: 'hello' }, bareQuestion(RESPOND)],
      [{ agent_id: AGENT, delegate: 'worker' }, bareQuestion(DELEGATE)],
      [{ agent_id: AGENT, terminate: 'done' }, bareQuestion({ Terminate: { reason: 'done', output: '' } })],
    ] as const
    for (const [input, question] of pairs) {
      const { decision, policies } = await evaluate(folder, input, { surface: 'run' })
      const answer = await decide(gate, question)
      expect([decision, policies.map(({ name }) => name)]).toEqual([answer.kind.toLowerCase(), answer.policies])
    }
  })

  test('an approval is shown only when it is asked for, never by the context', async () => {
    await using folder = await PolicyFolder.make({ 'tools.cedar': POLICY })
    expect((await evaluate(folder, { tool: 'pay', context: { has_human_approval: true } })).decision).toBe('deny')
    expect((await evaluate(folder, { tool: 'pay', approved: true })).decision).toBe('allow')
  })

  test('a call that nobody approved yet is named as one that policy would not be asked about', async () => {
    await using folder = await PolicyFolder.make({ 'tools.cedar': POLICY })
    const approvalOf = async (input: object) => (await evaluate(folder, input)).approval
    const contract = { requires_approval: true }
    expect(await approvalOf({ tool: 'pay', contract })).toBe('missing')
    expect(await approvalOf({ tool: 'pay', contract, approved: true })).toBe('given')
    expect(await approvalOf({ tool: 'pay' })).toBe('not needed')
  })

  test('what the operator lists needs an approval too, delegations included, and it is said why', async () => {
    await using folder = await PolicyFolder.make({ 'tools.cedar': POLICY })
    const options = { folder: folder.path, surface: null, allowMissing: false, approvalTools: ['pay', 'delegate'] }
    const asked = async (input: object) => await evaluatePolicy(world, input, options)
    expect(await asked({ tool: 'pay' })).toMatchObject({
      approval: 'missing',
      approval_reason: 'the operator requires human approval for "pay"',
    })
    expect((await asked({ agent: 'worker', task: 'x' })).approval).toBe('missing')
    expect((await asked({ tool: 'read' })).approval).toBe('not needed')
  })

  test('the forms of an explained call mean the same: a tool by its name, an agent with its task', async () => {
    await using folder = await PolicyFolder.make({ 'tools.cedar': POLICY })
    expect(await evaluate(folder, { name: 'read', arguments: { path: '/home' } })).toMatchObject({
      decision: 'allow',
      subject: 'read',
    })
    const worker = { decision: 'allow', subject: 'delegate::worker' }
    expect(await evaluate(folder, { agent: 'worker', task: 'x' })).toMatchObject(worker)
    const proposed = { name: 'delegate', arguments: { agent: 'worker', task: 'x' } }
    expect(await evaluate(folder, proposed)).toMatchObject(worker)
  })

  test('a recorded call is judged with every member that was recorded, and not when one of them was changed', async () => {
    await using folder = await PolicyFolder.make({
      'p.cedar': `permit(principal, action, resource) when {
        context.invocation.resolved.url == "https://a.example" && resource.version == "7" && context.team == "ops" };`,
    })
    const parts = { contract: { version: '7' }, resolved: { url: 'https://a.example' }, context: { team: 'ops' } }
    const { call } = toolQuestion('fetch', parts)
    const recorded = { agent_id: AGENT, call: invocationView(call), context: parts.context, approved: false }
    const printed = JSON.parse(JSON.stringify({ event: 'changed', ...recorded, before: {} }))
    expect(await evaluate(folder, printed)).toMatchObject({ decision: 'allow', subject: 'fetch' })
    const { fingerprint: _, ...incomplete } = recorded.call
    for (const other of [{ ...recorded.call, resolved: {} }, incomplete, { ...recorded.call, action: {} }]) {
      await expect(evaluate(folder, { ...recorded, call: other })).rejects.toMatchObject({ code: 'INVALID_REQUEST' })
    }
  })

  test('a contract changes the names that Cedar sees', async () => {
    await using folder = await PolicyFolder.make({
      'p.cedar': 'permit(principal, action == Net::Action::"query", resource == Net::Zone::"z");',
    })
    const contract = { action_type: 'Net::Action', action_id: 'query', resource_type: 'Net::Zone', resource_id: 'z' }
    expect((await evaluate(folder, { tool: 'zone', contract })).decision).toBe('allow')
    expect((await evaluate(folder, { tool: 'zone' })).decision).toBe('deny')
  })

  test('a call that cannot be shown to policy is denied and says why', async () => {
    await using folder = await PolicyFolder.make({ 'tools.cedar': POLICY })
    expect(await evaluate(folder, { tool: 'read', arguments: { path: { __entity: {} } } })).toMatchObject({
      decision: 'deny',
      reason: expect.stringContaining('context.invocation.arguments.path.__entity'),
      request: null,
    })
  })
})

describe('a call that is prepared as a run would', () => {
  const options = (folder: PolicyFolder, prepare: () => Promise<never>) => ({
    folder: folder.path,
    surface: null,
    allowMissing: false,
    prepare,
  })

  test('and that a run refuses is denied with the reason, without asking policy', async () => {
    await using folder = await PolicyFolder.make({ 'tools.cedar': 'permit(principal, action, resource);' })
    const refuses = async () => {
      throw new Fault('CALL_INVALID', { message: 'Cannot prepare the call of "read": "path" is missing' })
    }
    expect(await evaluatePolicy(world, { tool: 'read' }, options(folder, refuses))).toMatchObject({
      decision: 'deny',
      reason: 'policy is not asked: Cannot prepare the call of "read": "path" is missing',
      subject: 'read',
      approval: 'not needed',
      request: null,
    })
  })

  test('and whose preparation breaks is no answer at all', async () => {
    await using folder = await PolicyFolder.make()
    const breaks = () => Promise.reject(new Error('no tools'))
    await expect(evaluatePolicy(world, { tool: 'read' }, options(folder, breaks))).rejects.toThrow('no tools')
  })
})

test('an engine that cannot judge denies, and the answer says that it was the engine', async () => {
  await using folder = await PolicyFolder.make({ 'tools.cedar': 'permit(principal, action, resource);' })
  const engine = Object.assign(new CedarEngine(), { ask: () => ({ kind: 'Refused', message: 'it is tired' }) })
  const options = { folder: folder.path, surface: null, allowMissing: false, engine }
  expect(await evaluatePolicy(world, { tool: 'read' }, options)).toMatchObject({
    decision: 'deny',
    reason: 'Cedar could not judge the call: it is tired',
    policies: [],
    errors: [],
  })
})

test('a delegation whose task is no text is judged with an empty one', async () => {
  await using folder = await PolicyFolder.make({
    'p.cedar': 'permit(principal, action, resource) when { context.invocation.action.Delegate.message == "" };',
  })
  const proposed = { name: 'delegate', arguments: { agent: 'worker', task: 5 } }
  expect(await evaluate(folder, proposed)).toMatchObject({ decision: 'allow', subject: 'delegate::worker' })
})

describe('the older form', () => {
  test('of a call that cannot be shown to policy is denied and says why', async () => {
    await using folder = await PolicyFolder.make({ 'p.cedar': 'permit(principal, action, resource);' })
    expect(await evaluate(folder, { tool_name: 'read', tool_input: { path: { __entity: {} } } })).toMatchObject({
      decision: 'deny',
      reason: expect.stringContaining('context.tool_input.path.__entity'),
      request: null,
    })
  })

  test('is judged by its own mapping, and says so', async () => {
    await using folder = await PolicyFolder.make({
      'p.cedar':
        'permit(principal == Symbi::Agent::"claude-code", action == Symbi::Action::"tool_call::read", resource == Symbi::Resource::"default") when { context.tool_input.path == "/a" };',
    })
    expect(await evaluate(folder, { tool_name: 'read', tool_input: { path: '/a' } })).toMatchObject({
      decision: 'allow',
      mapping: 'legacy',
      mapping_note: expect.stringContaining('not the one of the runtime'),
    })
    expect((await evaluate(folder, { tool_name: 'read', tool_input: { path: '/b' } })).decision).toBe('deny')
    expect(await evaluate(folder, { tool_name: 'read', tool_input: [1] }).catch((error) => error.code)).toBe(
      'INVALID_REQUEST',
    )
  })
})

describe('no policies', () => {
  test.each([{ tool: 'read' }, { delegate: 'x' }, { tool_name: 'read', tool_input: {} }])(
    '%j is denied, unless missing policies were asked to allow',
    async (input) => {
      await using folder = await PolicyFolder.make({ 'notes.txt': '' })
      expect(await evaluate(folder, input)).toMatchObject({
        decision: 'deny',
        reason: expect.stringContaining('there is no policy file'),
      })
      expect((await evaluate(folder, input, { allowMissing: true })).decision).toBe('allow')
    },
  )

  test('a reply is allowed, as the fail-closed gate allows it', async () => {
    await using folder = await PolicyFolder.make()
    expect((await evaluate(folder, { respond: 'hello' })).decision).toBe('allow')
  })

  test.each(['nonsense', '[]', `permit(principal, action, resource) when { ${'('.repeat(300)}`])(
    'a bad file denies even then',
    async (text) => {
      await using folder = await PolicyFolder.make({ 'bad.cedar': text })
      for (const input of [{ tool: 'read' }, { respond: 'hello' }, { tool_name: 'read' }]) {
        expect(await evaluate(folder, input, { allowMissing: true })).toMatchObject({
          decision: 'deny',
          reason: expect.stringContaining('the policies cannot be used'),
        })
      }
    },
  )
})

test.each([
  null,
  [],
  'x',
  {},
  { tool: 'a', respond: 'b' },
  { respond: 'a', arguments: {} },
  { tool: 'a', extra: 1 },
  { tool: 'a', agent_id: 'x' },
  { tool: 1 },
  { tool: 'a', task: 'b' },
  { delegate: 'a', contract: { version: '1' } },
  { name: 'a', tool: 'a' },
  { respond: 'a', task: 'b' },
])('the input %j is refused as input', async (input) => {
  await using folder = await PolicyFolder.make({ 'tools.cedar': POLICY })
  await expect(evaluate(folder, input)).rejects.toMatchObject({ code: 'INVALID_REQUEST' })
})
