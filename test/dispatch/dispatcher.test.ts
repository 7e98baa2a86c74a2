import { describe, expect, test } from 'vitest'
import {
  defaultContract,
  type PreparedCall,
  preparedCall,
  type RunContext,
  type Toolbox,
} from '../../src/calls/index.ts'
import { type AgentId, digest, Fault, type Hash, newId, type Timestamp } from '../../src/core/index.ts'
import { authorise, dispatchBatch, dispatchGrants } from '../../src/dispatch/index.ts'
import {
  DEFAULT_LOOP_CONFIG,
  type Observation,
  type ProposedAction,
  Recorder,
  type ToolEffect,
} from '../../src/events/index.ts'
import { type ApprovalAnswer, type Decision, deny, type Gate, giveApproval } from '../../src/policy/index.ts'
import { testWorld } from '../../src/testing/index.ts'
import { toolbox } from '../../src/tools/index.ts'
import { nodeWorld } from '../../src/world/index.ts'
import { allowAll, gateOf } from '../support/gates.ts'
import { MemoryLog } from '../support/memory-log.ts'
import { type CountedTool, toolOf } from '../support/tools.ts'

const world = nodeWorld()
const never = new AbortController().signal

const call = (call_id: string, name = 'look', args = '{}'): ProposedAction => ({
  ToolCall: { call_id, name, arguments: args },
})

const say: ProposedAction = { Respond: { content: 'hello' } }

interface Bench {
  readonly log: MemoryLog
  readonly tool: CountedTool
  dispatch(actions: readonly ProposedAction[], signal?: AbortSignal): Promise<readonly Observation[]>
}

function benchOf(
  parts: {
    gate?: Gate
    tool?: CountedTool
    box?: (inner: Toolbox) => Toolbox
    config?: typeof DEFAULT_LOOP_CONFIG
  } = {},
): Bench {
  const log = new MemoryLog()
  const tool = parts.tool ?? toolOf('look')
  const inner = toolbox({ tools: [tool] }, world)
  const box = parts.box?.(inner) ?? inner
  const agent = newId('agent', world.random) as AgentId
  const recorder = new Recorder(log, agent, () => world.clock.wall())
  const run: RunContext = {
    agent_id: agent,
    started_at: world.clock.wall() as Timestamp,
    iteration: 0,
    trusted_context: {},
    config: parts.config ?? DEFAULT_LOOP_CONFIG,
  }
  const scope = {
    world,
    recorder,
    toolbox: box,
    gate: parts.gate ?? allowAll,
    offered: box.definitions(),
    deadlineMs: world.clock.monotonicMs() + 60_000,
  }
  return { log, tool, dispatch: (actions, signal = never) => dispatchBatch(scope, actions, run, signal) }
}

describe('a batch of one call', () => {
  test('writes decision and intent before the effect, receipt and results after it: two syncs', async () => {
    let entriesAtEffect = -1
    const bench: Bench = benchOf({
      tool: toolOf('look', async () => {
        entriesAtEffect = bench.log.entries.length
        return 'seen'
      }),
    })
    const [observation] = await bench.dispatch([call('a')])
    expect(observation).toMatchObject({
      content: 'seen',
      is_error: false,
      call_id: 'a',
      metadata: { effect_outcome: 'result_recorded', authorized_tool: 'look', authorized_arguments: '{}' },
    })
    expect(bench.log.kinds()).toEqual([
      'PolicyEvaluated',
      'ToolDispatchStarted',
      'ToolDispatchFinished',
      'ToolBatchCompleted',
    ])
    expect(entriesAtEffect).toBe(2)
    expect(bench.log.appends).toEqual([2, 2])
  })

  test.each([
    [0, 0],
    [1, 0],
    [2, 1],
    [3, 1],
  ])(
    'a journal that fails at write %i leaves the effect at %i and ends the batch in an error [D2]',
    async (failingWrite, effects) => {
      const bench = benchOf()
      bench.log.failAt(failingWrite)
      await expect(bench.dispatch([call('a')])).rejects.toMatchObject({ code: 'STORAGE_FAILED' })
      expect(bench.tool.ran).toHaveLength(effects)
    },
  )

  test('a call that needs an approval is denied when nobody can give one, whatever a permissive policy says [D3]', async () => {
    const definition = toolOf('look').definition
    const contract = { ...defaultContract(definition), requires_approval: true }
    const bench = benchOf({ tool: toolOf('look', async () => 'seen', contract) })
    const [observation] = await bench.dispatch([call('a')])
    expect(observation).toMatchObject({ is_error: true, metadata: { error_type: 'policy_denied' } })
    expect(observation?.metadata?.effect_outcome).toBeUndefined()
    expect(bench.tool.ran).toHaveLength(0)
  })

  test('even a gate that waives the approval does not get the effect [D3]', async () => {
    const contract = { ...defaultContract(toolOf('look').definition), requires_approval: true }
    const careless: Gate = {
      name: 'careless',
      approve: async () => ({ kind: 'NotNeeded' }),
      decide: async () => ({ kind: 'Allow', policies: [] }),
    }
    const bench = benchOf({ tool: toolOf('look', async () => 'seen', contract), gate: careless })
    await bench.dispatch([call('a')])
    expect(bench.tool.ran).toHaveLength(0)
  })

  test('a call that nobody decided about yet is held: no effect, and the caller and the journal know its handle', async () => {
    const expires_at = '2030-01-01T00:00:00Z' as Timestamp
    const holding: Gate = {
      ...allowAll,
      approve: async () => ({
        kind: 'Pending',
        reason: 'waits for a person',
        approval_id: '0123456789abcdef',
        expires_at,
      }),
    }
    const bench = benchOf({ gate: holding })
    const [observation] = await bench.dispatch([call('a')])
    expect(observation).toMatchObject({
      is_error: true,
      content: 'waits for a person',
      metadata: { error_type: 'approval_pending', approval_id: '0123456789abcdef', expires_at },
    })
    expect(observation?.metadata?.effect_outcome).toBeUndefined()
    expect(bench.tool.ran).toHaveLength(0)
    const evaluated = bench.log.entries.map(({ event }) => event).find(({ kind }) => kind === 'PolicyEvaluated')
    expect(evaluated).toMatchObject({
      denied_count: 1,
      denied_calls: [{ pending_approval: { approval_id: '0123456789abcdef', expires_at } }],
    })
  })

  test('a gate that throws denies, and its text stays out of what the model sees', async () => {
    const broken: Gate = {
      name: 'broken',
      approve: async () => ({ kind: 'NotNeeded' }),
      decide: () => Promise.reject(new Error('secret detail')),
    }
    const bench = benchOf({ gate: broken })
    const [observation] = await bench.dispatch([call('a')])
    expect(observation).toMatchObject({ is_error: true, content: 'the policy gate failed' })
    expect(bench.tool.ran).toHaveLength(0)
  })

  const allowing = { policies: [], reason: 'because', errors: [] }
  test.each<[string, () => unknown]>([
    ['no answer', () => undefined],
    ['an answer without a kind', () => allowing],
    ['a kind in other letters', () => ({ ...allowing, kind: 'DENY' })],
    ['a kind that nobody knows', () => ({ ...allowing, kind: 'Perhaps' })],
    ['an allowance that names no policies', () => ({ kind: 'Allow' })],
    ['a policy name that no journal can hold', () => ({ kind: 'Allow', policies: ['\ud800'] })],
    ['an allowance that is a proxy', () => new Proxy({ ...allowing, kind: 'Allow' }, {})],
    ['a denial without a reason', () => ({ kind: 'Deny', policies: [], errors: [] })],
    ['a modification without an action', () => ({ ...allowing, kind: 'Modify' })],
    [
      'a modification into two actions',
      () => ({ ...allowing, kind: 'Modify', modified_action: { ...call('a'), ...say } }),
    ],
    [
      'a kind that changes its mind',
      () => {
        let asked = 0
        return Object.defineProperty({ ...allowing }, 'kind', {
          enumerable: true,
          get: () => ['Deny', 'Allow'][asked++],
        })
      },
    ],
  ])('a gate that answers with %s denies, and the journal goes on', async (_, answer) => {
    const odd: Gate = { ...allowAll, decide: async () => answer() as Decision }
    const bench = benchOf({ gate: odd })
    const [observation] = await bench.dispatch([call('a')])
    expect(observation).toMatchObject({ is_error: true, metadata: { error_type: 'policy_denied' } })
    expect(bench.tool.ran).toHaveLength(0)
    expect(bench.log.kinds()).toEqual(['PolicyEvaluated', 'ToolBatchCompleted'])
  })

  test.each<[string, unknown]>([
    ['nothing', undefined],
    ['another word', { kind: 'Sure' }],
    ['an approval that nobody gave', { kind: 'Approved', approval: { expiresAtMs: Number.POSITIVE_INFINITY } }],
  ])('a gate that is asked for approval and answers with %s denies', async (_, answer) => {
    const odd: Gate = { ...allowAll, approve: async () => answer as ApprovalAnswer }
    const bench = benchOf({ gate: odd })
    const [observation] = await bench.dispatch([call('a')])
    expect(observation).toMatchObject({ is_error: true, metadata: { error_type: 'policy_denied' } })
    expect(bench.tool.ran).toHaveLength(0)
  })

  test.each<[string, (made: PreparedCall) => PreparedCall]>([
    ['a copy', (made) => ({ ...made })],
    ['a copy with other arguments under the old fingerprint', (made) => ({ ...made, arguments: { force: true } })],
    ['the call of another id', (made) => preparedCall({ ...made, action: call('b') })],
    ['an answer', (made) => preparedCall({ ...made, action: say, contract: null })],
  ])('a toolbox that prepares %s gets a denial', async (_, prepare) => {
    const bench = benchOf({ box: (inner) => ({ ...inner, prepare: (...given) => prepare(inner.prepare(...given)) }) })
    const [observation] = await bench.dispatch([call('a')])
    expect(observation).toMatchObject({ is_error: true, metadata: { error_type: 'policy_denied' } })
    expect(bench.tool.ran).toHaveLength(0)
  })

  test('a tool that says it failed, throws or is late leaves an unknown outcome', async () => {
    const failing = benchOf({ tool: toolOf('look', async () => ({ content: 'no', is_error: true })) })
    expect((await failing.dispatch([call('a')]))[0]).toMatchObject({
      is_error: true,
      metadata: { effect_outcome: 'unknown' },
    })
    const throwing = benchOf({ tool: toolOf('look', () => Promise.reject(new Error('lost'))) })
    expect((await throwing.dispatch([call('a')]))[0]).toMatchObject({
      is_error: true,
      metadata: { effect_outcome: 'unknown' },
    })
    const late = benchOf({
      tool: toolOf('look', () => new Promise(() => undefined)),
      config: { ...DEFAULT_LOOP_CONFIG, tool_timeout: { secs: 0, nanos: 30_000_000 } },
    })
    expect((await late.dispatch([call('a')]))[0]).toMatchObject({
      is_error: true,
      metadata: { effect_outcome: 'unknown', error_type: 'timeout' },
    })
    expect(late.log.all('ToolDispatchFinished')).toMatchObject([{ is_error: true }])
  })

  test('a batch that is cancelled while its intent is being written begins no effect', async () => {
    const bench = benchOf()
    const release = bench.log.hold()
    const leaving = new AbortController()
    const dispatched = bench.dispatch([call('a')], leaving.signal)
    await world.clock.yield()
    leaving.abort(new Error('somebody left'))
    release()
    await expect(dispatched).rejects.toThrow('somebody left')
    expect(bench.log.kinds()).toEqual(['PolicyEvaluated', 'ToolDispatchStarted'])
    expect(bench.tool.ran).toHaveLength(0)
  })

  test('a cancelled batch records no receipt: what the tool did stays unknown', async () => {
    const cancel = new AbortController()
    const bench = benchOf({
      tool: toolOf('look', () => {
        cancel.abort(new Error('stop'))
        return new Promise(() => undefined)
      }),
    })
    await expect(bench.dispatch([call('a')], cancel.signal)).rejects.toThrow('stop')
    expect(bench.log.kinds()).toEqual(['PolicyEvaluated', 'ToolDispatchStarted'])
  })
})

describe('what a batch does not dispatch', () => {
  test.each<[string, readonly ProposedAction[]]>([
    ['an answer', [say]],
    ['an answer beside a call', [call('a'), say]],
    ['a delegation', [{ Delegate: { call_id: 'a', target: 'worker', message: 'go' } }]],
  ])('%s: all of it is denied by the runtime, in one sync of its own before the results', async (_, actions) => {
    const bench = benchOf()
    const observations = await bench.dispatch(actions)
    expect(observations.map(({ content }) => content)).toEqual(
      actions.map(() => 'only tool calls can be dispatched here'),
    )
    expect(observations.map(({ call_id }) => call_id)).toEqual(
      actions.map((action) => ('Respond' in action ? undefined : 'a')),
    )
    for (const { metadata } of observations) expect(metadata).toMatchObject({ denied_by: 'runtime' })
    expect(observations.map((each) => 'call_id' in each)).toEqual(actions.map((action) => !('Respond' in action)))
    expect(bench.tool.ran).toHaveLength(0)
    expect(bench.log.kinds()).toEqual(['PolicyEvaluated', 'ToolBatchCompleted'])
    expect(bench.log.appends).toEqual([1, 1])
  })

  test('what the tools take no call for now: the caller is told the code and what to do', async () => {
    const bench = benchOf({
      box: (inner) => ({
        ...inner,
        prepare: () => {
          const cause = new Fault('RATE_LIMITED', { message: 'Cannot look: too often', hint: 'In a minute' })
          throw new Fault('CALL_INVALID', { message: 'Cannot prepare the call of "look"', cause })
        },
      }),
    })
    const [observation] = await bench.dispatch([call('a')])
    expect(observation?.metadata).toEqual({
      error_type: 'policy_denied',
      denied_by: 'preparation',
      refusal_code: 'RATE_LIMITED',
      refusal_hint: 'In a minute',
    })
    const plain = await benchOf({ gate: gateOf(() => deny('no')) }).dispatch([call('a')])
    expect(plain[0]?.metadata).toEqual({ error_type: 'policy_denied', denied_by: 'policy' })
  })

  test('a call whose run changed while the others were judged: it is told so, and is no effect', async () => {
    const log = new MemoryLog()
    const tool = toolOf('look')
    const box = toolbox({ tools: [tool] }, world)
    const agent_id = newId('agent', world.random)
    const run = {
      agent_id,
      started_at: world.clock.wall(),
      iteration: 0,
      trusted_context: {},
      config: DEFAULT_LOOP_CONFIG,
    }
    const gate = gateOf(({ action }) => {
      if ('ToolCall' in action && action.ToolCall.call_id === 'b') run.iteration = 1
      return { kind: 'Allow', policies: [] }
    })
    const recorder = new Recorder(log, agent_id, () => world.clock.wall())
    const deadlineMs = world.clock.monotonicMs() + 60_000
    const scope = { world, recorder, toolbox: box, gate, offered: box.definitions(), deadlineMs }
    const observations = await dispatchBatch(scope, [call('a'), call('b')], run, never)
    expect(observations).toMatchObject([
      { call_id: 'a', content: 'the run changed after the call was granted', is_error: true, metadata: {} },
      { call_id: 'b', content: 'fine', is_error: false },
    ])
    expect(observations[0]?.metadata).toEqual({})
    expect(tool.ran).toHaveLength(1)
    expect(log.all('ToolDispatchStarted')).toMatchObject([{ call_id: 'b' }])
  })

  test('a denial whose record fails: nobody is told of it', async () => {
    const bench = benchOf({ gate: gateOf(() => deny('no')) })
    bench.log.failAt(0)
    await expect(bench.dispatch([call('a')])).rejects.toMatchObject({ code: 'STORAGE_FAILED' })
  })
})

test('the results of a batch say how long it took', async () => {
  const still = testWorld()
  const log = new MemoryLog()
  const tool = toolOf('look', async () => {
    await still.advance(1500)
    return 'seen'
  })
  const box = toolbox({ tools: [tool] }, still)
  const agent_id = newId('agent', still.random)
  const recorder = new Recorder(log, agent_id, () => still.clock.wall())
  const run = {
    agent_id,
    started_at: still.clock.wall(),
    iteration: 0,
    trusted_context: {},
    config: DEFAULT_LOOP_CONFIG,
  }
  await still.advance(1000)
  const deadlineMs = still.clock.monotonicMs() + 60_000
  const scope = { world: still, recorder, toolbox: box, gate: allowAll, offered: box.definitions(), deadlineMs }
  await dispatchBatch(scope, [call('a')], run, never)
  expect(log.all('ToolBatchCompleted')).toMatchObject([{ duration: { secs: 1, nanos: 500_000_000 } }])
})

describe('correlation', () => {
  const answering = (results: (ids: readonly string[]) => readonly Observation[]) =>
    benchOf({
      box: (inner) => ({
        ...inner,
        execute: async (calls) =>
          results(calls.map(({ call: { action } }) => ('ToolCall' in action ? action.ToolCall.call_id : ''))),
      }),
    })
  const result = (call_id: string, content: string): Observation => ({
    source: 'look',
    content,
    is_error: false,
    call_id,
    metadata: {},
  })

  test('results that come out of order find their calls [D1]', async () => {
    const bench = answering(([a = '', b = '']) => [result(b, 'second'), result(a, 'first')])
    const observations = await bench.dispatch([call('a'), call('b')])
    expect(observations.map(({ call_id, content }) => [call_id, content])).toEqual([
      ['a', 'first'],
      ['b', 'second'],
    ])
  })

  test.each<[string, unknown]>([
    ['no text', { source: 'look', content: 5, is_error: false, call_id: 'a' }],
    ['no verdict', { source: 'look', content: 'seen', call_id: 'a' }],
    ['metadata that are no texts', { ...result('a', 'seen'), metadata: { effect_outcome: { toString: 1 } } }],
    ['nothing at all', null],
  ])('a result with %s is no result: the outcome is unknown and the journal goes on', async (_, odd) => {
    const bench = answering(() => [odd as Observation])
    const [observation] = await bench.dispatch([call('a')])
    expect(observation).toMatchObject({ is_error: true, call_id: 'a', metadata: { effect_outcome: 'unknown' } })
    expect(bench.log.kinds().at(-1)).toBe('ToolBatchCompleted')
    expect(bench.log.all('ToolDispatchFinished')).toMatchObject([{ is_error: true }])
  })

  test('a call without a result is an error with an unknown outcome, and its neighbour is not [D1]', async () => {
    const bench = answering(([a = '']) => [result(a, 'first')])
    const [first, second] = await bench.dispatch([call('a'), call('b')])
    expect(first).toMatchObject({ is_error: false })
    expect(second).toMatchObject({ is_error: true, call_id: 'b', metadata: { effect_outcome: 'unknown' } })
  })

  test.each([
    ['a doubled id', ([a = '', b = '']: readonly string[]) => [result(a, '1'), result(a, '2'), result(b, '3')]],
    ['a foreign id', ([a = '']: readonly string[]) => [result(a, '1'), result('z', '2')]],
    [
      'no id',
      ([a = '']: readonly string[]) => [
        result(a, '1'),
        { source: 'look', content: 'x', is_error: false, metadata: {} },
      ],
    ],
  ])('%s among the results makes all of them errors [D1]', async (_name, results) => {
    const observations = await answering(results).dispatch([call('a'), call('b')])
    expect(observations).toHaveLength(2)
    expect(observations.every(({ is_error, metadata }) => is_error && metadata?.effect_outcome === 'unknown')).toBe(
      true,
    )
  })

  test('calls with one id twice, or with an empty one, are all denied [D1]', async () => {
    for (const ids of [
      ['a', 'a'],
      ['a', ''],
    ]) {
      const bench = benchOf()
      const observations = await bench.dispatch(ids.map((id) => call(id)))
      expect(observations.every(({ metadata }) => metadata?.error_type === 'policy_denied')).toBe(true)
      expect(bench.tool.ran).toHaveLength(0)
      expect(bench.log.all('PolicyEvaluated')).toMatchObject([{ action_count: 2, denied_count: 2 }])
    }
  })
})

describe('grants', () => {
  test('a grant is refused by another toolbox instance, before any intent and without an effect [P2]', async () => {
    const mine = toolOf('look')
    const theirs = toolOf('look')
    const [box, other] = [toolbox({ tools: [mine] }, world), toolbox({ tools: [theirs] }, world)]
    const log = new MemoryLog()
    const agent = newId('agent', world.random)
    const recorder = new Recorder(log, agent, () => world.clock.wall())
    const run: RunContext = {
      agent_id: agent,
      started_at: world.clock.wall(),
      iteration: 0,
      trusted_context: {},
      config: DEFAULT_LOOP_CONFIG,
    }
    const authority = {
      world,
      gate: allowAll,
      toolbox: box,
      offered: box.definitions(),
      deadlineMs: world.clock.monotonicMs() + 60_000,
    }
    const verdict = await authorise(authority, call('a'), run, never)
    if (verdict.kind !== 'Granted') throw new Error(verdict.reason)
    await expect(
      dispatchGrants({ world, recorder, toolbox: other }, [verdict.grant], run, never),
    ).rejects.toMatchObject({ code: 'GRANT_REFUSED' })
    expect([mine.ran.length, theirs.ran.length, log.entries.length]).toEqual([0, 0, 0])
  })

  test('a policy that modifies the call four times in a row is refused [P3]', async () => {
    let rounds = 0
    const bench = benchOf({
      gate: gateOf(({ action }) => {
        rounds += 1
        return { kind: 'Modify', modified_action: action, reason: 'again', policies: [] }
      }),
    })
    const [observation] = await bench.dispatch([call('a')])
    expect(observation).toMatchObject({ is_error: true, metadata: { error_type: 'policy_denied' } })
    expect(rounds).toBe(4)
    expect(bench.tool.ran).toHaveLength(0)
  })

  test.each([
    ['its id', { ToolCall: { call_id: 'b', name: 'look', arguments: '{}' } }],
    ['its kind', { Respond: { content: 'x' } }],
  ] as [string, ProposedAction][])('a modification may not change %s [P3]', async (_what, modified_action) => {
    const bench = benchOf({ gate: gateOf(() => ({ kind: 'Modify', modified_action, reason: 'other', policies: [] })) })
    await bench.dispatch([call('a')])
    expect(bench.tool.ran).toHaveLength(0)
    expect(bench.log.all('PolicyEvaluated')).toMatchObject([{ denied_count: 1 }])
  })

  test('a modified call runs with the modified arguments, judged again', async () => {
    const bench = benchOf({
      gate: gateOf(({ arguments: args }) =>
        args?.safe === true
          ? { kind: 'Allow', policies: ['safe'] }
          : { kind: 'Modify', modified_action: call('a', 'look', '{"safe":true}'), reason: 'made safe', policies: [] },
      ),
    })
    await bench.dispatch([call('a')])
    expect(bench.tool.ran).toEqual([{ safe: true }])
  })

  test('the journal names the deciding policies, and the model sees only the reason', async () => {
    const bench = benchOf({ gate: gateOf(() => deny('not now', ['night-shift'], ['broken-rule'])) })
    const [observation] = await bench.dispatch([call('a')])
    expect(observation?.content).toBe('not now')
    expect(bench.log.all('PolicyEvaluated')[0]?.denied_calls).toMatchObject([
      { reason: 'not now', determining_policies: ['night-shift'], policy_errors: ['broken-rule'] },
    ])
  })
})

describe('what the journal says of a denial', () => {
  const needs = { ...defaultContract(toolOf('look').definition), requires_approval: true }
  const denied = async (parts: Parameters<typeof benchOf>[0], action = call('a')) => {
    const bench = benchOf(parts)
    await bench.dispatch([action])
    return bench.log.all('PolicyEvaluated')[0]?.denied_calls?.[0]
  }

  test('which step denied, and only of a denial by policy with which approval it was judged', async () => {
    const unprepared = await denied({}, call('a', 'look', '{'))
    const refused = await denied({ tool: toolOf('look', async () => 'seen', needs) })
    const judged = await denied({ gate: gateOf(() => deny('not now')) })
    const failed = await denied({ gate: { ...allowAll, decide: () => Promise.reject(new Error('broken')) } })
    expect([unprepared, refused, judged, failed].map((entry) => [entry?.denied_by, entry?.approval])).toEqual([
      ['preparation', undefined],
      ['approval', undefined],
      ['policy', null],
      ['runtime', undefined],
    ])
    expect([unprepared, refused, judged, failed].map((entry) => entry?.call !== undefined)).toEqual([
      false,
      true,
      true,
      true,
    ])
  })

  test('of a denial after an approval, who had approved what', async () => {
    const tool = toolOf('look', async () => 'seen', needs)
    const approving = (fingerprint?: Hash): Gate => ({
      name: 'approving',
      approve: async ({ call, run, remainingMs }) => {
        const resolution = {
          escalation_id: 'e1',
          agent_id: run.agent_id,
          decision: 'approve',
          approver: { surface: 'terminal', id: 'ada', display: 'Ada' },
          at: world.clock.wall(),
        } as const
        const shown = fingerprint === undefined ? call : { ...call, fingerprint }
        const parts = { id: 'e1', call: shown, run, resolution, lifetimeMs: 1000, remainingMs }
        return { kind: 'Approved', approval: giveApproval(parts, world.clock) }
      },
      decide: async () => deny('not now'),
    })
    expect(await denied({ tool, gate: approving() })).toMatchObject({
      denied_by: 'policy',
      approval: { escalation_id: 'e1', decision: 'approve', approver: { id: 'ada' } },
    })
    const other = await denied({ tool, gate: approving(digest('another call')) })
    expect([other?.denied_by, other?.approval]).toEqual(['approval', undefined]) // its policies were shown nothing
  })

  test('that a whole reply was refused by the runtime', async () => {
    const bench = benchOf({})
    await bench.dispatch([call('a'), call('a')])
    expect(bench.log.all('PolicyEvaluated')[0]?.denied_calls).toMatchObject([
      { denied_by: 'runtime' },
      { denied_by: 'runtime' },
    ])
  })
})

describe('the effect journal of a call', () => {
  const started = (request_id: string) => ({
    NetworkRequestStarted: {
      request_id,
      method: 'GET',
      url: 'http://127.0.0.1/',
      request_hash: 'sha256:0',
      request_bytes: 0,
    },
  })
  const finishedOk = (request_id: string) => ({
    NetworkRequestFinished: {
      request_id,
      status: 200,
      response_hash: 'sha256:0',
      response_headers_hash: null,
      response_bytes: 0,
      error: null,
    },
  })

  test('an effect with intent and complete receipt leaves a recorded result', async () => {
    const bench = benchOf({
      tool: toolOf('look', async (_args, { effects }) => {
        await effects.record(started('r1'))
        await effects.record(finishedOk('r1'))
        return 'fetched'
      }),
    })
    expect((await bench.dispatch([call('a')]))[0]).toMatchObject({ is_error: false, content: 'fetched' })
    expect(bench.log.kinds()).toEqual([
      'PolicyEvaluated',
      'ToolDispatchStarted',
      'ToolEffect',
      'ToolEffect',
      'ToolDispatchFinished',
      'ToolBatchCompleted',
    ])
  })

  test.each([
    ['a start without receipt', [started('r1')]],
    ['a receipt without start', [finishedOk('r1')]],
    ['a doubled start', [started('r1'), started('r1')]],
    [
      'an incomplete receipt',
      [
        started('r1'),
        {
          NetworkRequestFinished: {
            request_id: 'r1',
            status: null,
            response_hash: null,
            response_headers_hash: null,
            response_bytes: 0,
            error: 'reset',
          },
        },
      ],
    ],
  ])('%s makes the call unconfirmed, although its tool claims success', async (_name, effects) => {
    const bench = benchOf({
      tool: toolOf('look', async (_args, handle) => {
        for (const effect of effects) await handle.effects.record(effect).catch(() => undefined)
        return 'all good'
      }),
    })
    const [observation] = await bench.dispatch([call('a')])
    expect(observation).toMatchObject({ is_error: true, metadata: { effect_outcome: 'unknown' } })
    expect(observation?.content).toContain('unconfirmed')
  })

  test.each<[string, unknown]>([
    ['nothing', null],
    ['a kind that nobody knows', { SomethingHappened: {} }],
    ['two records in one', { ...started('r1'), ...finishedOk('r1') }],
    ['an id that is no text', started(5 as unknown as string)],
    ['half a character', started('\ud800')],
  ])('a record of %s is refused and makes the call unconfirmed; the journal goes on', async (_name, odd) => {
    const refusals: unknown[] = []
    const bench = benchOf({
      tool: toolOf('look', async (_args, { effects }) => {
        await effects.record(odd as ToolEffect).catch((error: unknown) => refusals.push(error))
        return 'all good'
      }),
    })
    const [observation] = await bench.dispatch([call('a')])
    expect(refusals).toEqual([expect.objectContaining({ code: 'GRANT_REFUSED' })])
    expect(observation).toMatchObject({ is_error: true, metadata: { effect_outcome: 'unknown' } })
    expect(bench.log.all('ToolEffect')).toEqual([])
  })

  test('a record that its tool changes afterwards is written as it was judged', async () => {
    const bench = benchOf({
      tool: toolOf('look', async (_args, { effects }) => {
        const record = started('r1')
        const written = effects.record(record)
        record.NetworkRequestStarted.url = 'http://elsewhere/'
        await written
        return 'x'
      }),
    })
    await bench.dispatch([call('a')])
    expect(bench.log.all('ToolEffect')).toMatchObject([{ effect: started('r1') }])
  })

  test('a journal that fails under an effect stops the dispatch, and the effect is refused', async () => {
    let effectHappened = false
    const bench = benchOf({
      tool: toolOf('look', async (_args, { effects }) => {
        await effects.record(started('r1'))
        effectHappened = true
        return 'x'
      }),
    })
    bench.log.failAt(2)
    await expect(bench.dispatch([call('a')])).rejects.toMatchObject({ code: 'STORAGE_FAILED' })
    expect(effectHappened).toBe(false)
  })

  test('a handle that outlives its call records nothing', async () => {
    let handle: { record(effect: ReturnType<typeof started>): Promise<void> } | null = null
    const bench = benchOf({
      tool: toolOf('look', async (_args, { effects }) => {
        handle = effects
        return 'x'
      }),
    })
    await bench.dispatch([call('a')])
    const before = bench.log.entries.length
    await expect(
      (handle as unknown as { record(effect: object): Promise<void> }).record(started('late')),
    ).rejects.toMatchObject({ code: 'GRANT_REFUSED' })
    expect(bench.log.entries).toHaveLength(before)
  })
})
