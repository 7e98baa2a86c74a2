import { describe, expect, test } from 'vitest'
import { issue } from '../../../src/calls/grant.ts'
import {
  type AuthorisedCall,
  authorizationBinding,
  boundTo,
  defaultContract,
  preparedCall,
  type RunContext,
  spend,
  type Toolbox,
} from '../../../src/calls/index.ts'
import { digest, type JsonObject, newId } from '../../../src/core/index.ts'
import { authorise, dispatchBatch, dispatchGrants, type Granted } from '../../../src/dispatch/index.ts'
import { DEFAULT_LOOP_CONFIG, type Observation, type ProposedAction, Recorder } from '../../../src/events/index.ts'
import { runLoop } from '../../../src/loop/index.ts'
import { type Gate, restrictedBy } from '../../../src/policy/index.ts'
import { type Tool, toolbox } from '../../../src/tools/index.ts'
import { nodeWorld } from '../../../src/world/index.ts'
import { allowAll, gateOf } from '../../support/gates.ts'
import { policyIn } from '../../support/inline-policy.ts'
import { MemoryLog } from '../../support/memory-log.ts'
import { callOf, modelOf } from '../../support/scripted-model.ts'
import { type CountedTool, toolOf } from '../../support/tools.ts'

const world = nodeWorld()
const never = new AbortController().signal
const call = (name = 'look', args = '{}'): ProposedAction => ({ ToolCall: { call_id: 'a', name, arguments: args } })
const delegate = (target: string): ProposedAction => ({ Delegate: { call_id: 'a', target, message: 'read it' } })
const policyOf = (rules: string) => policyIn(`agent fixture { ${rules} }`)
const DENY_LOOK = 'policy restricted { deny: "look" }'

/** A gate that keeps which questions it was asked. */
function watched(inner: Gate = allowAll): Gate & { readonly asked: string[] } {
  const asked: string[] = []
  return {
    name: 'watched',
    asked,
    approve: async (question, signal) => {
      asked.push('approve')
      return await inner.approve(question, signal)
    },
    decide: async (question, signal) => {
      asked.push('decide')
      return await inner.decide(question, signal)
    },
  }
}

interface Bench {
  readonly box: Toolbox
  readonly log: MemoryLog
  readonly run: RunContext
  readonly scope: Parameters<typeof dispatchBatch>[0]
  dispatch(...actions: readonly ProposedAction[]): Promise<readonly Observation[]>
  grant(action: ProposedAction): Promise<Granted>
}

function benchOf(box: Toolbox, { gate = allowAll, context = {} }: { gate?: Gate; context?: JsonObject } = {}): Bench {
  const log = new MemoryLog()
  const agent_id = newId('agent', world.random)
  const run: RunContext = {
    agent_id,
    started_at: world.clock.wall(),
    iteration: 0,
    trusted_context: { ...box.context(), ...context },
    config: DEFAULT_LOOP_CONFIG,
  }
  const scope = {
    world,
    recorder: new Recorder(log, agent_id, () => world.clock.wall()),
    toolbox: box,
    gate,
    offered: box.definitions(),
    deadlineMs: world.clock.monotonicMs() + 60_000,
  }
  return {
    box,
    log,
    run,
    scope,
    dispatch: (...actions) => dispatchBatch(scope, actions, run, never),
    grant: async (action) => {
      const verdict = await authorise(scope, action, run, never)
      if (verdict.kind === 'Denied') throw new Error(verdict.reason)
      return verdict
    },
  }
}

const boxOf = (tools: readonly Tool[], rules: string): Toolbox =>
  restrictedBy(toolbox({ tools }, world), policyOf(rules))

describe('a call that the inline policy denies', () => {
  test('reaches neither an approver nor the gate, has no effect, and says so in the journal [N1]', async () => {
    const contract = { ...defaultContract(toolOf('look').definition), requires_approval: true }
    const tool = toolOf('look', async () => 'seen', contract)
    const gate = watched()
    const bench = benchOf(boxOf([tool], DENY_LOOK), { gate })
    const [observation] = await bench.dispatch(call())
    const reason = 'inline policy restricted denied tool_call look (rule 1)'
    expect(observation).toMatchObject({ content: reason, is_error: true, metadata: { error_type: 'policy_denied' } })
    expect([gate.asked, tool.ran]).toEqual([[], []])
    expect(bench.log.all('PolicyEvaluated')[0]).toMatchObject({
      denied_count: 1,
      denied_calls: [{ reason, determining_policies: [] }],
    })
  })

  test('is told to the model, which goes on and may answer [N1]', async () => {
    const tool = toolOf('look')
    const box = boxOf([tool], 'policy restricted { deny: true }')
    const log = new MemoryLog()
    const provider = modelOf(callOf('a', 'look'), { content: 'I may not look.' })
    const result = await runLoop(
      {
        world,
        principal: newId('agent', world.random),
        gate: allowAll,
        toolbox: box,
        config: DEFAULT_LOOP_CONFIG,
        messages: [{ role: 'user', content: 'look' }],
        log,
        provider,
      },
      never,
    )
    expect(result).toMatchObject({ output: 'I may not look.', termination_reason: 'Completed', iterations: 2 })
    expect(provider.asked[1]?.conversation.messages.at(-1)).toEqual({
      role: 'tool',
      content: '[Policy denied] inline policy restricted denied tool_call look (rule 1)',
      tool_call_id: 'a',
      tool_name: 'look',
    })
    expect(tool.ran).toHaveLength(0)
    expect(log.all('Started')[0]?.execution_context).toMatchObject(box.context())
    expect(log.all('PolicyEvaluated').at(-1)?.approved_calls).toMatchObject([
      { source_policy: box.context().source_policy },
    ])
  })

  test('is judged as it was normalised [N1]', async () => {
    const open: CountedTool = {
      ...toolOf('open'),
      resolve: ({ path }) => ({ arguments: { path: String(path).replace(/^\.\//, '') } }),
    }
    const bench = benchOf(boxOf([open], 'policy p { deny: "open" if invocation.arguments.path == "x.txt" }'))
    const [observation] = await bench.dispatch(call('open', '{"path":"./x.txt"}'))
    expect(observation).toMatchObject({ content: 'inline policy p denied tool_call open (rule 1)' })
    expect(open.ran).toHaveLength(0)
  })

  test('stays denied when only a modification by the gate makes it what the policy denies [N1]', async () => {
    const gate = watched(
      gateOf(() => ({
        kind: 'Modify',
        modified_action: call('look', '{"far":true}'),
        reason: 'farther',
        policies: [],
      })),
    )
    const tool = toolOf('look')
    const rules = 'policy p { deny: "look" if invocation.arguments.far }'
    const bench = benchOf(boxOf([tool], rules), { gate })
    const [observation] = await bench.dispatch(call('look', '{"far":false}'))
    expect(observation).toMatchObject({ content: 'inline policy p denied tool_call look (rule 1)' })
    expect(gate.asked).toEqual(['approve', 'decide'])
    expect(tool.ran).toHaveLength(0)
  })

  test('is refused at the grant when its context changed while the gate decided', async () => {
    const tool = toolOf('look')
    const context: { mode: string } = { mode: 'open' }
    const box = boxOf([tool], 'policy p { deny: "look" if context.now.mode == "shut" }')
    const gate = gateOf(() => {
      context.mode = 'shut'
      return { kind: 'Allow', policies: [] }
    })
    const [observation] = await benchOf(box, { gate, context: { now: context } }).dispatch(call())
    expect(observation).toMatchObject({ content: 'inline policy p denied tool_call look (rule 1)' })
    expect(tool.ran).toHaveLength(0)
  })

  test('and one whose field is missing is denied with the name of the field [N1]', async () => {
    const bench = benchOf(boxOf([toolOf('look')], 'policy p { allow: "look" if invocation.arguments.path == "a.md" }'))
    const [observation] = await bench.dispatch(call())
    expect(observation?.content).toBe(
      'inline policy p denied tool_call look (rule 1: "invocation.arguments.path" is missing)',
    )
  })
})

describe('a delegation', () => {
  const aliased = (inner: Toolbox): Toolbox => ({
    ...inner,
    prepare: (action, offered) => {
      const known = 'Delegate' in action && action.Delegate.target === 'alias' ? delegate('reviewer') : action
      return inner.prepare(known, offered)
    },
  })

  test('goes by the declared name of its target, whatever alias the model used [N1]', async () => {
    const box = (rules: string) => restrictedBy(aliased(toolbox({ tools: [] }, world)), policyOf(rules))
    await expect(benchOf(box('policy p { deny: "delegate::reviewer" }')).grant(delegate('alias'))).rejects.toThrow(
      'inline policy p denied delegate::reviewer (rule 1)',
    )
    await expect(benchOf(box('policy p { deny: "delegate::alias" }')).grant(delegate('alias'))).resolves.toBeDefined()
  })

  test('that a box around this one bound to the policy is judged, and bound to an equal one it is not', () => {
    const { box, run } = benchOf(boxOf([toolOf('look')], 'policy p { deny: "delegate::reviewer" }'))
    const own = box.context().source_policy as JsonObject
    const made = (action: ProposedAction) => preparedCall({ action, arguments: null, contract: null })
    expect(box.restrict(boundTo(made(delegate('reviewer')), own), run)).toContain('inline policy p denied')
    expect(box.restrict(boundTo(made(delegate('helper')), own), run)).toBeNull()
    for (const foreign of [
      made(delegate('helper')),
      boundTo(made(delegate('helper')), { ...own }),
      boundTo(made(call('look')), own),
    ]) {
      expect(box.restrict(foreign, run)).toContain('prepared for other tools')
    }
  })

  test('is no tool call of the same name', async () => {
    const bench = benchOf(boxOf([], 'policy p { deny: "reviewer" }'))
    await expect(bench.grant(delegate('reviewer'))).resolves.toBeDefined()
  })
})

describe('a call that the inline policy lets pass', () => {
  test('needs the gate as before: the policy grants nothing [N1]', async () => {
    const tool = toolOf('look')
    const gate = gateOf(() => ({ kind: 'Deny', reason: 'not now', policies: [], errors: [] }))
    const [observation] = await benchOf(boxOf([tool], 'policy p { allow: true }'), { gate }).dispatch(call())
    expect(observation?.content).toBe('not now')
    expect(tool.ran).toHaveLength(0)
  })

  test('carries the policy in its fingerprint and in the journal [N1]', async () => {
    const tool = toolOf('look')
    const bench = benchOf(boxOf([tool], 'policy p { allow: "look" }'))
    const [observation] = await bench.dispatch(call('look', '{"at":"sky"}'))
    expect(observation).toMatchObject({ content: 'fine', is_error: false })
    expect(tool.ran).toEqual([{ at: 'sky' }])
    const source_policy = policyOf('policy p { allow: "look" }').metadata
    const fingerprint = digest({
      call: { action: call('look', '{"at":"sky"}'), contract: defaultContract(tool.definition), resolved: {} },
      source_policy,
    })
    expect(source_policy).toMatchObject({
      semantics: 'inline_effect_policy_v1',
      agent_name: 'fixture',
      policies: ['p'],
    })
    expect(bench.log.all('PolicyEvaluated')[0]?.approved_calls).toMatchObject([{ fingerprint, source_policy }])
    expect(bench.log.all('ToolDispatchStarted')).toMatchObject([{ call_fingerprint: fingerprint }])
  })

  test('shows the policy to its conditions, and to the gate', async () => {
    const gate = watched()
    const rules =
      'policy p { allow: true if invocation.source_policy.agent_name == "fixture" && context.source_policy.agent_name == "fixture" }'
    await benchOf(boxOf([toolOf('look')], rules), { gate }).dispatch(call())
    expect(gate.asked).toEqual(['approve', 'decide'])
  })

  test('is another call than the same one without a policy, or under another', () => {
    const plain = toolbox({ tools: [toolOf('look')] }, world)
    const prints = [
      plain,
      restrictedBy(plain, policyOf('')),
      restrictedBy(plain, policyOf('policy p { allow: true }')),
    ].map((box) => box.prepare(call(), box.definitions()).fingerprint)
    expect(new Set(prints).size).toBe(3)
  })
})

describe('authority', () => {
  test('a grant of another wrapper around the same tools is refused, without intent and without effect [N1] [P2]', async () => {
    const tool = toolOf('look')
    const inner = toolbox({ tools: [tool] }, world)
    const policy = policyOf('policy p { allow: true }')
    const [mine, other] = [benchOf(restrictedBy(inner, policy)), benchOf(restrictedBy(inner, policy))]
    const { grant } = await mine.grant(call())
    await expect(dispatchGrants(other.scope, [grant], mine.run, never)).rejects.toMatchObject({ code: 'GRANT_REFUSED' })
    await expect(dispatchGrants({ ...mine.scope, toolbox: inner }, [grant], mine.run, never)).rejects.toMatchObject({
      code: 'GRANT_REFUSED',
    })
    expect([tool.ran.length, mine.log.entries.length, other.log.entries.length]).toEqual([0, 0, 0])
  })

  const execute = (box: Toolbox, ...calls: readonly AuthorisedCall[]) =>
    box.execute(
      calls,
      { runKey: 'r', deadlineMs: Number.POSITIVE_INFINITY, effectsOf: () => ({ record: async () => undefined }) },
      never,
    )

  const authorised = (box: Toolbox, run: RunContext, { restrict }: { restrict: boolean }): AuthorisedCall => {
    const made = box.prepare(call(), box.definitions())
    if (restrict) box.restrict(made, run)
    return spend(
      issue({ call: made, toolbox: box, binding: authorizationBinding(run), deadlineMs: Number.POSITIVE_INFINITY }),
    )
  }

  test('a spent grant is executed only by the wrapper that prepared and passed its call, all of a batch or nothing', async () => {
    const tool = toolOf('look')
    const inner = toolbox({ tools: [tool] }, world)
    const { box, run } = benchOf(restrictedBy(inner, policyOf('policy p { allow: true }')))
    const other = restrictedBy(inner, policyOf('policy p { allow: true }'))
    const own = authorised(box, run, { restrict: true })
    for (const foreign of [
      authorised(other, run, { restrict: true }),
      authorised(inner, run, { restrict: true }),
      authorised(box, run, { restrict: false }),
    ]) {
      await expect(execute(box, own, foreign)).rejects.toMatchObject({ code: 'GRANT_REFUSED' })
    }
    expect(tool.ran).toHaveLength(0)
    await execute(box, own)
    expect(tool.ran).toHaveLength(1)
  })

  test('a call that was let pass and is denied when it is asked again is not executed', async () => {
    const tool = toolOf('look')
    const context = { mode: 'open' }
    const box = boxOf([tool], 'policy p { deny: "look" if context.now.mode == "shut" }')
    const { run } = benchOf(box, { context: { now: context } })
    const made = box.prepare(call(), box.definitions())
    expect(box.restrict(made, run)).toBeNull()
    context.mode = 'shut'
    expect(box.restrict(made, run)).toContain('inline policy p')
    const late = spend(
      issue({ call: made, toolbox: box, binding: authorizationBinding(run), deadlineMs: Number.POSITIVE_INFINITY }),
    )
    await expect(execute(box, late)).rejects.toMatchObject({ code: 'GRANT_REFUSED' })
    expect(tool.ran).toHaveLength(0)
  })

  test('execution without a grant is refused, even of a call that it let pass itself [N1]', async () => {
    const tool = toolOf('look')
    const { box, run } = benchOf(boxOf([tool], 'policy p { allow: true }'))
    const made = box.prepare(call(), box.definitions())
    expect(box.restrict(made, run)).toBeNull()
    await expect(execute(box, { call: made } as AuthorisedCall)).rejects.toThrow('only when its grant was spent')
    expect(tool.ran).toHaveLength(0)
  })

  test('a run that was not started under the policy gets nothing', async () => {
    const tool = toolOf('look')
    const box = boxOf([tool], 'policy p { allow: true }')
    const other = policyOf('policy q { allow: true }').metadata as unknown as JsonObject
    for (const source_policy of [other, null]) {
      const [observation] = await benchOf(box, { context: { source_policy } }).dispatch(call())
      expect(observation).toMatchObject({ is_error: true, content: expect.stringContaining('agent "fixture"') })
    }
    expect(tool.ran).toHaveLength(0)
  })

  test('a context that says the same in a copy is the same', async () => {
    const tool = toolOf('look')
    const box = boxOf([tool], 'policy p { allow: true }')
    await benchOf(box, { context: structuredClone(box.context()) }).dispatch(call())
    expect(tool.ran).toHaveLength(1)
  })

  test('a call that another toolbox prepared is not let pass', () => {
    const { box, run } = benchOf(boxOf([toolOf('look')], ''))
    const copy = preparedCall({ ...box.prepare(call(), box.definitions()) })
    expect(box.restrict(copy, run)).toContain('prepared for other tools')
  })
})

describe('one policy for one toolbox', () => {
  test('tools under one policy are not restricted by another [N1]', () => {
    const once = boxOf([toolOf('look')], 'policy p { allow: true }')
    const twice = () => restrictedBy(once, policyOf('policy q { allow: true }'))
    expect(twice).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }))
  })

  test('nor do tools get around it by changing what they say of themselves later', () => {
    const inner = toolbox({ tools: [toolOf('look')] }, world)
    let context: JsonObject = {}
    const box = restrictedBy({ ...inner, context: () => context }, policyOf(''))
    box.validate()
    context = { source_policy: { agent_name: 'another' } }
    expect(() => box.validate()).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }))
    expect(() => box.context()).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }))
  })

  test('a prepared call accepts one inline policy, even twice the same', () => {
    const policy = policyOf('policy p { allow: true }')
    const twice = restrictedBy(restrictedBy(toolbox({ tools: [toolOf('look')] }, world), policy), policy)
    expect(() => twice.prepare(call(), twice.definitions())).toThrow(expect.objectContaining({ code: 'CALL_INVALID' }))
  })
})

describe('what is inside', () => {
  test('keeps its context, its tools, its restrictions and its refusals', async () => {
    const inner: Toolbox = {
      ...toolbox({ tools: [toolOf('look')], context: { place: 'here' } }, world),
      restrict: () => 'never at night',
    }
    const gate = watched()
    const bench = benchOf(restrictedBy(inner, policyOf('policy p { deny: true }')), { gate })
    expect(bench.box.context()).toMatchObject({ place: 'here', source_policy: { agent_name: 'fixture' } })
    expect(bench.box.definitions()).toBe(inner.definitions())
    expect((await bench.dispatch(call()))[0]?.content).toBe('never at night')
    expect((await bench.dispatch(call('other')))[0]?.content).toContain('this run does not offer it')
    expect(gate.asked).toEqual([])
  })

  test('hears of validation, cancelling and cleaning up', async () => {
    const heard: string[] = []
    const inner: Toolbox = {
      ...toolbox({ tools: [] }, world),
      validate: () => heard.push('validate'),
      cancelRun: (runKey, deadlineMs) => heard.push(`cancel ${runKey} ${deadlineMs}`),
      cleanUp: async (runKey) => void heard.push(`clean ${runKey}`),
    }
    const box = restrictedBy(inner, policyOf(''))
    box.validate()
    box.cancelRun('k', 7)
    await box.cleanUp('k')
    expect(heard).toEqual(['validate', 'cancel k 7', 'clean k'])
  })
})
