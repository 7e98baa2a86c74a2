import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { boundTo, preparedCall, type Toolbox } from '../../src/calls/index.ts'
import { Fault, hexHash, type JsonObject } from '../../src/core/index.ts'
import type { Entry } from '../../src/events/index.ts'
import { SIGNING_KEY_NAME } from '../../src/journal/index.ts'
import { deny, type GateQuestion, restrictedBy } from '../../src/policy/index.ts'
import { nodeWorld } from '../../src/world/index.ts'
import { delegationTrial } from '../support/delegation.ts'
import { faultyWorld } from '../support/faulty-world.ts'
import { gateOf } from '../support/gates.ts'
import { policyIn } from '../support/inline-policy.ts'
import { madeKeyOf } from '../support/journal-maker.ts'
import { journalSealedBy, linesOf } from '../support/mangling/lines.ts'
import { callOf } from '../support/scripted-model.ts'
import { toolOf } from '../support/tools.ts'

const ask = (id: string, agent = 'reviewer', task = 'look at it') => callOf(id, 'delegate', { agent, task })
const forever = (): Promise<never> => new Promise(() => undefined)
const kindsOf = (entries: readonly Entry[] | undefined) => entries?.map(({ event }) => event.kind)

describe('a delegation that completes', () => {
  test('gives the answer of the child to the model, under the id of its call', async () => {
    await using trial = await delegationTrial({ parent: [ask('d1'), { content: 'done' }] })
    expect(await trial.run()).toMatchObject({ termination_reason: 'Completed', output: 'done' })
    expect(trial.parentModel.asked[1]?.conversation.messages.at(-1)).toEqual({
      role: 'tool',
      content: 'the child is done',
      tool_call_id: 'd1',
      tool_name: 'delegate:reviewer',
    })
  })

  test('shows the child its name, its declaration and its task, and no tool to delegate with', async () => {
    const sources = { 'both.symbi': 'agent reviewer { capabilities = ["read"] }\nagent other {}\n' }
    await using trial = await delegationTrial({ sources, parent: [ask('d1'), { content: 'done' }] })
    await trial.run()
    const [asked] = trial.childModel.asked
    const [system, user] = asked?.conversation.messages ?? []
    expect(system?.content).toMatch(/^You are agent 'reviewer'\./)
    expect(system?.content).toContain('agent reviewer { capabilities = ["read"] }')
    expect(system?.content).not.toContain('other')
    expect(user).toEqual({ role: 'user', content: 'look at it' })
    expect(asked?.options.tool_definitions?.map(({ name }) => name)).toEqual(['look'])
  })

  test('stands in the journals as intent, link and end, in that order', async () => {
    await using trial = await delegationTrial({ parent: [ask('d1'), { content: 'done' }] })
    await trial.run()
    const kinds = trial.log.kinds()
    expect(kinds[kinds.indexOf('DelegationStarted') - 1]).toBe('PolicyEvaluated')
    const [started] = trial.log.all('DelegationStarted')
    expect(started).toMatchObject({ call_id: 'd1', target: 'reviewer', message_hash: hexHash('look at it') })
    expect(trial.log.all('DelegationFinished')).toMatchObject([
      { call_id: 'd1', audit: started?.audit, reason: 'Completed', output_hash: hexHash('the child is done') },
    ])
    const [child] = await trial.children()
    const first = child?.[0]?.event
    const { kind: _, ...intent } = started ?? {}
    expect(first?.kind === 'Started' ? first.execution_context?.delegation : null).toEqual({
      ...intent,
      parent_agent_id: trial.log.entries[0]?.agent_id,
    })
    expect(kindsOf(child)?.slice(0, 2)).toEqual(['Started', 'BudgetScopeLinked'])
    expect(child?.at(-1)?.event).toMatchObject({ kind: 'Terminated', reason: 'Completed' })
  })

  test('begins only after the decision and the intent are durable, and the child asks its model after its own start is', async () => {
    const seen: unknown[] = []
    await using trial = await delegationTrial({
      parent: [ask('d1'), { content: 'done' }],
      child: [
        async () => {
          seen.push(trial.log.kinds().slice(-2), (await trial.children()).map(kindsOf))
          return { content: 'seen' }
        },
      ],
    })
    await trial.run()
    expect(seen).toEqual([['DelegationStarted', 'BudgetReservationStarted'], [['Started', 'BudgetScopeLinked']]])
  })

  test('spends the tokens of its parent: reservations stand in the root journal, and their use in both ends', async () => {
    await using trial = await delegationTrial({ parent: [ask('d1'), { content: 'done' }] })
    const result = await trial.run()
    expect(result.total_usage.total_tokens).toBe(6)
    const reservations = trial.log.all('BudgetReservationStarted').map(({ reservation }) => reservation)
    expect(reservations.map(({ ancestors }) => ancestors.map(({ scope }) => scope))).toEqual([[0], [1, 0], [0]])
    const [child] = await trial.children()
    expect(reservations[1]?.agent_id).toBe(child?.[0]?.agent_id)
    expect(child?.at(-1)?.event).toMatchObject({ total_usage: { total_tokens: 2 } })
  })

  test('is judged by the declared name, whatever alias the model used', async () => {
    const judged: string[] = []
    const gate = gateOf(({ action, resolved }) => {
      if ('Delegate' in action) judged.push(action.Delegate.target, String(resolved.requested_name))
      return { kind: 'Allow', policies: [] }
    })
    await using trial = await delegationTrial({
      sources: { 'alias.symbi': 'agent reviewer {}' },
      parent: [ask('d1', 'alias'), { content: 'done' }],
      setup: { gate },
    })
    await trial.run()
    expect(judged).toEqual(['reviewer', 'alias'])
    expect(trial.log.all('DelegationStarted')).toMatchObject([{ target: 'reviewer' }])
  })

  test('whose answers would not fit into one journal entry is cut, and says so', async () => {
    const calls = ['a', 'b', 'c'].map((id) => ({ id, name: 'delegate', arguments: '{"agent":"reviewer","task":"t"}' }))
    const long = '\u0001'.repeat(40 * 1024)
    await using trial = await delegationTrial({
      parent: [{ tool_calls: calls }, { content: 'done' }],
      child: [{ content: long }],
      limits: { max_total_tokens: 10_000_000, context_token_budget: 1_000_000 },
    })
    expect(await trial.run()).toMatchObject({ termination_reason: 'Completed' })
    const answers = trial.parentModel.asked[1]?.conversation.messages.filter(({ role }) => role === 'tool') ?? []
    expect(answers.map(({ content }) => content.includes(`[cut: the answer holds ${long.length} bytes`))).toEqual([
      true,
      true,
      true,
    ])
    const [child] = await trial.children()
    expect(JSON.stringify(child)).toContain('\\u0001'.repeat(1000))
    expect(trial.log.all('DelegationFinished')[0]?.output_hash).toBe(hexHash(long))
  })

  test('can be done several times in one run, each in a journal of its own', async () => {
    await using trial = await delegationTrial({ parent: [ask('d1'), ask('d2'), { content: 'done' }] })
    expect((await trial.run()).termination_reason).toBe('Completed')
    expect(await trial.children()).toHaveLength(2)
  })
})

describe('a delegation that is refused', () => {
  const refusedFor = (content: string) => ({
    role: 'tool',
    tool_call_id: 'd1',
    content: expect.stringContaining(content),
  })

  test.each([
    ['an unknown agent', ask('d1', 'nobody'), 'no agent is called'],
    ['a task of more than 64 KiB', ask('d1', 'reviewer', 'x'.repeat(64 * 1024 + 1)), '65537 bytes'],
    ['a call without a task', callOf('d1', 'delegate', { agent: 'reviewer' }), '"agent" and "task"'],
    [
      'a call with more than agent and task',
      callOf('d1', 'delegate', { agent: 'reviewer', task: 't', as: 'root' }),
      '"agent" and "task"',
    ],
    ['a task that is no text', callOf('d1', 'delegate', { agent: 'reviewer', task: 7 }), '"agent" and "task"'],
  ])('%s is a denial, and the run goes on', async (_what, call, reason) => {
    await using trial = await delegationTrial({ parent: [call, { content: 'went on' }] })
    expect(await trial.run()).toMatchObject({ termination_reason: 'Completed', output: 'went on' })
    expect(trial.parentModel.asked[1]?.conversation.messages.at(-1)).toMatchObject(refusedFor(reason))
    expect(trial.log.all('PolicyEvaluated')[0]).toMatchObject({ denied_count: 1 })
    expect(await trial.children()).toEqual([])
  })

  test('by policy begins nothing', async () => {
    const gate = gateOf(({ action }) => ('Delegate' in action ? deny('not here') : { kind: 'Allow', policies: [] }))
    await using trial = await delegationTrial({ parent: [ask('d1'), { content: 'went on' }], setup: { gate } })
    expect(await trial.run()).toMatchObject({ output: 'went on' })
    expect(trial.log.all('DelegationStarted')).toEqual([])
    expect(await trial.children()).toEqual([])
  })

  test.each([
    ['an agent that is at work further up', { delegation_chain: ['reviewer'], delegation_depth: 1 }, 'further up'],
    ['more levels than are allowed', { max_delegation_depth: 1, delegation_depth: 1 }, '1 levels deep'],
    ['any level where none is allowed', { max_delegation_depth: 0 }, '0 levels deep'],
  ])('%s is an error that the model is told, and the run goes on', async (_what, limits, reason) => {
    await using trial = await delegationTrial({ parent: [ask('d1'), { content: 'went on' }], limits })
    expect(await trial.run()).toMatchObject({ termination_reason: 'Completed', output: 'went on' })
    expect(trial.parentModel.asked[1]?.conversation.messages.at(-1)).toMatchObject(refusedFor(reason))
    expect(await trial.children()).toEqual([])
  })

  test('a call id that began a delegation before does not begin another', async () => {
    await using trial = await delegationTrial({ parent: [ask('d1'), ask('d1'), { content: 'went on' }] })
    expect(await trial.run()).toMatchObject({ termination_reason: 'Completed', output: 'went on' })
    expect(trial.log.all('DelegationStarted')).toHaveLength(1)
    expect(trial.parentModel.asked[2]?.conversation.messages.at(-1)).toMatchObject(refusedFor('an earlier delegation'))
  })

  test('in a run that cannot delegate is a denial like that of any other tool', async () => {
    await using trial = await delegationTrial({ parent: [ask('d1'), { content: 'went on' }], handle: false })
    expect(await trial.run()).toMatchObject({ termination_reason: 'Completed', output: 'went on' })
    expect(trial.log.all('ReasoningComplete')[0]?.actions).toMatchObject([{ ToolCall: { name: 'delegate' } }])
    expect(trial.log.all('PolicyEvaluated')[0]).toMatchObject({ denied_count: 1 })
    expect(await trial.children()).toEqual([])
  })
})

describe('a delegation under the inline policy of the run that delegates', () => {
  const sources = { 'alias.symbi': 'agent reviewer {}', 'helper.symbi': 'agent helper {}' }
  const parent = [ask('d1', 'alias'), ask('d2', 'helper'), { content: 'done' }]
  const rules = {
    'a rule that denies it': ['deny: "delegate::reviewer"', ' (rule 1)'],
    'a list that does not name it': ['allow: ["look", "delegate::helper"]', ': no allow rule matched'],
    'a condition on what was asked for': ['deny: true if invocation.resolved.requested_name == "alias"', ' (rule 1)'],
  } as const

  test.each(
    Object.entries(rules).flatMap(([what, [rule, why]]) =>
      (['inside', 'outside'] as const).map((place) => [what, place, rule, why] as const),
    ),
  )('%s denies it and no other, with the policy %s of the delegation', async (_what, place, rule, why) => {
    const policy = policyIn(`agent fixture { policy p { ${rule} } }`)
    const restricted = (tools: Toolbox): Toolbox => restrictedBy(tools, policy)
    await using trial = await delegationTrial({ sources, parent, [place]: restricted })
    expect(await trial.run()).toMatchObject({ termination_reason: 'Completed', output: 'done' })
    const reason = `inline policy p denied delegate::reviewer${why}`
    expect(trial.parentModel.asked[1]?.conversation.messages.at(-1)).toMatchObject({
      tool_call_id: 'd1',
      content: `[Policy denied] ${reason}`,
    })
    expect(trial.parentModel.asked[2]?.conversation.messages.at(-1)).toMatchObject({
      tool_call_id: 'd2',
      content: 'the child is done',
    })
    const [first, second] = trial.log.all('PolicyEvaluated')
    expect(first).toMatchObject({ denied_calls: [{ reason, call: { source_policy: policy.metadata } }] })
    const [approved] = second?.approved_calls ?? []
    expect(approved).toMatchObject({ source_policy: policy.metadata })
    const [started, ...others] = trial.log.all('DelegationStarted')
    expect([started, others]).toMatchObject([
      { call_id: 'd2', target: 'helper', call_fingerprint: (approved as JsonObject).fingerprint },
      [],
    ])
    const children = await trial.children()
    expect(children).toHaveLength(1)
    const begun = children[0]?.[0]?.event
    const { kind: _, ...intent } = started ?? {}
    expect(begun?.kind === 'Started' && begun.execution_context).toMatchObject({
      agent_definition: { name: 'helper' },
      delegation: intent,
    })
    expect(trial.log.all('DelegationFinished')).toMatchObject([{ call_id: 'd2', reason: 'Completed' }])
  })

  test.each<[string, (tools: Toolbox) => Toolbox]>([
    ['was not asked about', (tools) => ({ ...tools, restrict: () => null })],
    [
      'was asked about in another form',
      (tools) => ({
        ...tools,
        prepare: (action, offered) => boundTo(tools.prepare(action, offered), { agent_name: 'other' }),
        restrict: (call, run) => tools.restrict(preparedCall({ ...call, source_policy: null }), run),
      }),
    ],
    [
      'prepared for another agent',
      (tools) => ({
        ...tools,
        prepare: (action, offered) => {
          const call = tools.prepare(action, offered)
          if (!('Delegate' in call.action)) return call
          return preparedCall({ ...call, action: { Delegate: { ...call.action.Delegate, target: 'helper' } } })
        },
      }),
    ],
  ])('is refused where its toolbox %s', async (_what, outside) => {
    await using trial = await delegationTrial({
      sources,
      parent: [ask('d1', 'reviewer'), { content: 'done' }],
      outside,
    })
    expect(await trial.run()).toMatchObject({ termination_reason: 'Completed' })
    expect(trial.parentModel.asked[1]?.conversation.messages.at(-1)).toMatchObject({
      content: '[Error] the delegation was refused: no target was prepared for it',
    })
    expect([trial.log.all('DelegationStarted'), await trial.children()]).toEqual([[], []])
  })

  test('is refused where another delegation prepared it', async () => {
    await using other = await delegationTrial({ parent: [] })
    await using trial = await delegationTrial({
      parent: [ask('d1'), { content: 'done' }],
      outside: () => other.delegation.toolbox,
    })
    await trial.run()
    expect(trial.parentModel.asked[1]?.conversation.messages.at(-1)?.content).toContain('no target was prepared')
    expect(trial.log.all('DelegationStarted')).toEqual([])
  })
})

describe('a delegation that does not complete', () => {
  test('is unconfirmed: the run stops, and a second delegation of the batch is not started [L2]', async () => {
    const both = {
      tool_calls: ['d1', 'd2'].map((id) => ({ id, name: 'delegate', arguments: '{"agent":"reviewer","task":"t"}' })),
    }
    await using trial = await delegationTrial({ parent: [both], child: [new Error('the model is broken')] })
    expect(await trial.run()).toMatchObject({ termination_reason: 'UnconfirmedEffects', output: '' })
    expect(trial.parentModel.asked).toHaveLength(1)
    expect(trial.log.all('DelegationStarted')).toMatchObject([{ call_id: 'd1' }])
    expect(trial.log.all('DelegationFinished')).toMatchObject([{ reason: { Error: {} } }])
    expect(trial.log.all('ToolBatchCompleted')[0]?.observations).toMatchObject([
      { call_id: 'd1', is_error: true, metadata: { effect_outcome: 'unknown' } },
      { call_id: 'd2', is_error: true, content: expect.stringContaining('not started') },
    ])
  })

  test('an unconfirmed tool of the same batch keeps a delegation from starting [L2]', async () => {
    const calls = {
      tool_calls: [
        { id: 'd1', name: 'delegate', arguments: '{"agent":"reviewer","task":"t"}' },
        { id: 't1', name: 'look', arguments: '{}' },
      ],
    }
    const tool = toolOf('look', async () => ({ content: 'it broke', is_error: true }))
    await using trial = await delegationTrial({ parent: [calls], tool })
    expect(await trial.run()).toMatchObject({ termination_reason: 'UnconfirmedEffects' })
    expect(trial.log.all('DelegationStarted')).toEqual([])
  })

  test("runs out of the time that its source allows, records that, and leaves the parent's time alone", async () => {
    const sources = { 'reviewer.symbi': 'agent reviewer { with timeout = 1.seconds {} }' }
    await using trial = await delegationTrial({ sources, parent: [ask('d1')], child: [forever] })
    expect(await trial.run()).toMatchObject({ termination_reason: 'UnconfirmedEffects' })
    expect(trial.log.all('DelegationFinished')).toMatchObject([{ reason: 'Timeout' }])
    const [child] = await trial.children()
    expect(child?.at(-1)?.event).toMatchObject({ kind: 'Terminated', reason: 'Timeout' })
    expect(trial.log.all('BudgetReservationFinished')).toMatchObject([{ outcome: 'confirmed' }, { outcome: 'unknown' }])
  })

  test('ends with its parent: the child records its end first, and asks nothing more', async () => {
    const cancel = new AbortController()
    const aborted: boolean[] = []
    await using trial = await delegationTrial({
      parent: [ask('d1')],
      child: [
        (_conversation, signal) => {
          signal.addEventListener('abort', () => aborted.push(true))
          cancel.abort(new Fault('RUN_CANCELLED', { message: 'The test cancels' }))
          return forever()
        },
      ],
    })
    expect(await trial.run(cancel.signal)).toMatchObject({ termination_reason: { Error: {} } })
    expect(aborted).toEqual([true])
    expect(trial.childModel.asked).toHaveLength(1)
    const [child] = await trial.children()
    expect(child?.at(-1)?.event).toMatchObject({ kind: 'Terminated', reason: { Error: {} } })
    expect(trial.log.kinds().at(-1)).toBe('Terminated')
    expect(String(child?.at(-1)?.timestamp) <= String(trial.log.entries.at(-1)?.timestamp)).toBe(true)
  })

  test('whose intent cannot be written does not begin: its journal stays empty', async () => {
    await using trial = await delegationTrial({ parent: [ask('d1')] })
    const intent = [
      'Started',
      'BudgetOpened',
      'BudgetReservationStarted',
      'BudgetReservationFinished',
      'ReasoningComplete',
      'PolicyEvaluated',
    ]
    trial.log.failAt(intent.length)
    expect(await trial.run()).toMatchObject({ termination_reason: { Error: {} } })
    expect(trial.childModel.asked).toEqual([])
    expect(await trial.children()).toEqual([[]])
  })

  test('is not believed when it says it completed and its journal leaves an approved call open', async () => {
    const real = nodeWorld()
    let laterMs = 0
    const clock = { ...real.clock, monotonicMs: () => real.clock.monotonicMs() + laterMs }
    const two = { tool_calls: ['a', 'b'].map((id) => ({ id, name: 'look', arguments: '{}' })) }
    await using trial = await delegationTrial({
      world: { ...real, clock },
      parent: [ask('d1')],
      child: [two, { content: 'all done' }],
      limits: { tool_timeout: { secs: 250, nanos: 0 } },
      setup: {
        gate: gateOf(({ action }) => {
          if ('ToolCall' in action && action.ToolCall.call_id === 'b') laterMs += 31_000 // the grant of "a" is over by then
          return { kind: 'Allow', policies: [] }
        }),
      },
    })
    expect(await trial.run()).toMatchObject({
      termination_reason: { Error: { message: expect.stringContaining('unknown') } },
    })
    expect(trial.log.all('DelegationFinished')).toEqual([])
    const [child] = await trial.children()
    expect(child?.at(-1)?.event).toMatchObject({ kind: 'Terminated', reason: 'Completed' })
  })

  test('is not believed when its journal, signed and whole, says another answer', async () => {
    const disk = faultyWorld(nodeWorld())
    await using trial = await delegationTrial({ world: disk, parent: [ask('d1')] })
    disk.add({
      on: 'open', // the child's journal, when it is read back
      path: '.jsonl',
      before: () => {
        const [name = ''] = readdirSync(trial.governed).filter((file) => file.endsWith('.jsonl'))
        const path = join(trial.governed, name)
        const lines = linesOf(readFileSync(path))
        const key = madeKeyOf(readFileSync(join(trial.governed, SIGNING_KEY_NAME)))
        writeFileSync(
          path,
          journalSealedBy(key, lines, (payload) => payload.replaceAll('the child is done', 'not yet')),
        )
      },
    })
    expect(await trial.run()).toMatchObject({
      termination_reason: { Error: { message: expect.stringContaining('its journal says another answer') } },
    })
    expect(trial.log.all('DelegationFinished')).toEqual([])
    const [child] = await trial.children()
    expect(child?.at(-1)?.event).toMatchObject({ kind: 'Terminated', reason: 'Completed' })
  })
})

describe('whatever a model or a gate sends', () => {
  test.each([
    ['a tool name that is cut inside a character', `${'x'.repeat(127)}😀`, '{}'],
    ['an argument name that is cut inside a character', 'look', `{"${'x'.repeat(63)}😀":1}`],
  ])('%s is a denial, and the end of the run is recorded', async (_what, name, args) => {
    const tool = toolOf('look')
    const strict = {
      ...tool,
      definition: { ...tool.definition, parameters: { type: 'object', properties: { a: {} } } },
    }
    const calls = { tool_calls: [{ id: 'c', name, arguments: args }] }
    await using trial = await delegationTrial({ parent: [calls, { content: 'went on' }], tool: strict })
    expect(await trial.run()).toMatchObject({ termination_reason: 'Completed', output: 'went on' })
    expect(JSON.stringify(trial.log.all('PolicyEvaluated')).isWellFormed()).toBe(true)
  })

  test('a gate that throws half a character, or a text without end, is a denial of bounded length', async () => {
    const gate = {
      ...gateOf(() => ({ kind: 'Allow', policies: [] })),
      decide: async ({ call }: GateQuestion) => {
        if ('Delegate' in call.action) throw new Error(`\ud800${'y'.repeat(3_000_000)}`)
        return { kind: 'Allow' as const, policies: [] }
      },
    }
    await using trial = await delegationTrial({ parent: [ask('d1'), { content: 'went on' }], setup: { gate } })
    expect(await trial.run()).toMatchObject({ termination_reason: 'Completed' })
    const [denied] = trial.log.all('PolicyEvaluated')[0]?.denied_calls ?? []
    expect(JSON.stringify(denied).length).toBeLessThan(10_000)
  })

  test('decisions that would not fit into one journal entry are denials, and no delegation begins', async () => {
    const policies = Array.from({ length: 100 }, (_, index) => `policy p${index}_${'x'.repeat(110)} { allow: true }`)
    const sources = { 'reviewer.symbi': `agent reviewer { ${policies.join('\n')} }` }
    const calls = Array.from({ length: 100 }, (_, index) => ({
      id: `d${index}`,
      name: 'delegate',
      arguments: '{"agent":"reviewer","task":"t"}',
    }))
    await using trial = await delegationTrial({ sources, parent: [{ tool_calls: calls }, { content: 'went on' }] })
    expect(await trial.run()).toMatchObject({ termination_reason: 'Completed', output: 'went on' })
    expect(trial.log.all('PolicyEvaluated')[0]).toMatchObject({ action_count: 100, denied_count: 100 })
    expect(trial.log.all('DelegationStarted')).toEqual([])
    const line = Buffer.byteLength(JSON.stringify(trial.log.all('PolicyEvaluated')[0]))
    expect(line).toBeLessThan(1024 * 1024)
  })

  test('a call id of more than 256 characters proposes nothing', async () => {
    await using trial = await delegationTrial({ parent: [ask('d'.repeat(257))] })
    expect(await trial.run()).toMatchObject({
      termination_reason: { Error: { message: expect.stringContaining('256') } },
    })
    expect(trial.log.kinds().at(-1)).toBe('Terminated')
  })

  test('a child that asks for a delegation of its own is told that no such tool is offered', async () => {
    await using trial = await delegationTrial({
      parent: [ask('d1'), { content: 'done' }],
      child: [ask('d2'), { content: 'I could not' }],
    })
    expect(await trial.run()).toMatchObject({ termination_reason: 'Completed' })
    expect(trial.childModel.asked[1]?.conversation.messages.at(-1)).toMatchObject({
      role: 'tool',
      content: expect.stringContaining('[Policy denied]'),
    })
    expect(await trial.children()).toHaveLength(1)
  })
})

describe('a delegation whose time is over', () => {
  /** A real world whose monotonic clock a test can set forward. */
  const steppedWorld = () => {
    const real = nodeWorld()
    const at = { laterMs: 0 }
    const clock = { ...real.clock, monotonicMs: () => real.clock.monotonicMs() + at.laterMs }
    return { at, world: { ...real, clock } }
  }

  test('before it begins is refused, and nothing was started', async () => {
    const { at, world } = steppedWorld()
    const open: typeof world.files.open = (path, ...rest) => {
      if (path.endsWith('.jsonl')) at.laterMs += 31_000 // the first child is read back: the grants of the batch are over
      return world.files.open(path, ...rest)
    }
    const both = {
      tool_calls: ['d1', 'd2'].map((id) => ({ id, name: 'delegate', arguments: '{"agent":"reviewer","task":"t"}' })),
    }
    await using trial = await delegationTrial({
      world: { ...world, files: { ...world.files, open } },
      parent: [both, { content: 'went on' }],
    })
    expect(await trial.run()).toMatchObject({ termination_reason: 'Completed', output: 'went on' })
    expect(trial.log.all('DelegationStarted')).toHaveLength(1)
    expect(trial.parentModel.asked[1]?.conversation.messages.at(-1)).toMatchObject({
      tool_call_id: 'd2',
      content: expect.stringContaining('the grant has expired'),
    })
  })

  test('after its intent is durable is unconfirmed, and the child never begins', async () => {
    const { at, world } = steppedWorld()
    await using trial = await delegationTrial({ world, parent: [ask('d1')] })
    const append = trial.log.append.bind(trial.log)
    trial.log.append = async (entries) => {
      await append(entries)
      if (entries.some(({ event }) => event.kind === 'DelegationStarted')) at.laterMs += 31_000
    }
    expect(await trial.run()).toMatchObject({ termination_reason: 'UnconfirmedEffects' })
    expect(trial.childModel.asked).toEqual([])
    expect(trial.log.all('DelegationFinished')).toEqual([])
    expect(await trial.children()).toEqual([[]])
  })

  test('because its parent reaches the limit of its own ends with the parent, and both ends are recorded', async () => {
    await using trial = await delegationTrial({
      parent: [ask('d1')],
      child: [forever],
      limits: { timeout: { secs: 1, nanos: 0 } },
    })
    const { termination_reason } = await trial.run()
    expect(['Timeout', 'UnconfirmedEffects']).toContain(termination_reason) // both limits are the same second
    const [child] = await trial.children()
    expect(child?.at(-1)?.event).toMatchObject({ kind: 'Terminated' })
    expect(trial.log.kinds().at(-1)).toBe('Terminated')
    expect(String(child?.at(-1)?.timestamp) <= String(trial.log.entries.at(-1)?.timestamp)).toBe(true)
  })
})
