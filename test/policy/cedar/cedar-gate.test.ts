import { describe, expect, test } from 'vitest'
import { CedarEngine } from '../../../src/policy/cedar/cedar-engine.ts'
import { cedarGate, type PolicyEntry } from '../../../src/policy/index.ts'
import {
  AGENT,
  bareQuestion,
  DELEGATE,
  decide,
  entry,
  RESPOND,
  reasonOf,
  signal,
  TERMINATE,
  toolQuestion,
} from '../support.ts'

const gateOf = (...policies: PolicyEntry[]) => cedarGate({ policies, default: 'deny' })
const ALL = entry('all', 'permit(principal, action, resource);')

describe('decisions', () => {
  test('nothing permits: the reason names the Cedar action and the agent', async () => {
    using gate = gateOf(entry('replies', 'permit(principal, action == Action::"respond", resource);'))
    expect(await decide(gate, bareQuestion(RESPOND))).toEqual({ kind: 'Allow', policies: ['replies'] })
    expect(await decide(gate, toolQuestion('rm'))).toEqual({
      kind: 'Deny',
      reason: `policy does not allow Action::"tool_call::rm" for Agent::"${AGENT}"`,
      policies: [],
      errors: [],
    })
    expect((await decide(gate, bareQuestion(TERMINATE))).kind).toBe('Deny')
    expect((await decide(gate, bareQuestion(DELEGATE))).kind).toBe('Deny')
  })

  test('forbid wins, its name goes to the journal, and the model cannot tell it from a denial by default', async () => {
    using forbidding = gateOf(ALL, entry('no-rm', 'forbid(principal, action == Action::"tool_call::rm", resource);'))
    using empty = gateOf()
    expect(await decide(forbidding, toolQuestion('rm'))).toMatchObject({ kind: 'Deny', policies: ['no-rm'] })
    expect(await reasonOf(forbidding, toolQuestion('rm'))).toBe(await reasonOf(empty, toolQuestion('rm')))
    expect(await decide(forbidding, toolQuestion('ls'))).toEqual({ kind: 'Allow', policies: ['all'] })
  })

  test('an action list works without a hierarchy', async () => {
    using gate = gateOf(
      entry('two', 'permit(principal, action in [Action::"tool_call::a", Action::"delegate::worker"], resource);'),
    )
    expect((await decide(gate, toolQuestion('a'))).kind).toBe('Allow')
    expect((await decide(gate, bareQuestion(DELEGATE))).kind).toBe('Allow')
    expect((await decide(gate, toolQuestion('b'))).kind).toBe('Deny')
  })

  test('all policies that decided are named, in the order of the set', async () => {
    using gate = gateOf(
      entry('b', 'permit(principal, action, resource);\npermit(principal, action, resource);'),
      entry('a', ALL.source),
    )
    expect(await decide(gate, toolQuestion('t'))).toEqual({ kind: 'Allow', policies: ['b', 'b#2', 'a'] })
  })

  test('an empty set denies, replies included; the development form allows, and warns every time', async () => {
    using denying = gateOf()
    expect((await decide(denying, bareQuestion(RESPOND))).kind).toBe('Deny')
    const warnings: string[] = []
    using developing = cedarGate({
      policies: [],
      default: 'allow-development',
      warn: (message) => void warnings.push(message),
    })
    await decide(developing, toolQuestion('t'))
    await decide(developing, toolQuestion('u'))
    expect(warnings).toEqual([expect.stringContaining('tool_call::t'), expect.stringContaining('tool_call::u')])
    developing.add(entry('replies', 'permit(principal, action == Action::"respond", resource);'))
    expect((await decide(developing, toolQuestion('t'))).kind).toBe('Deny')
    expect(warnings).toHaveLength(2)
  })

  test('a cancelled question is denied', async () => {
    using gate = gateOf(ALL)
    expect(await gate.decide(toolQuestion('t'), AbortSignal.abort())).toMatchObject({
      kind: 'Deny',
      reason: expect.stringContaining('cancelled'),
    })
  })

  test('a contract that requires approval is refused, because there is no approver [D3]', async () => {
    using gate = gateOf(ALL)
    expect(await gate.approve(toolQuestion('t', { contract: { requires_approval: true } }), signal)).toMatchObject({
      kind: 'Refused',
      reason: expect.stringContaining('requires human approval'),
    })
    expect(await gate.approve(toolQuestion('t'), signal)).toEqual({ kind: 'NotNeeded' })
    expect(await gate.approve(bareQuestion(RESPOND), signal)).toEqual({ kind: 'NotNeeded' })
  })
})

describe('a policy that fails denies, whatever the others say', () => {
  const failing = 'principal, action, resource) when { context.invocation.arguments.path like "/etc/*" };'

  test.each(['permit', 'forbid'])(
    'an erroring %s beside a permit denies and is named [trap:cedar-erroring-forbid]',
    async (effect) => {
      using gate = gateOf(ALL, entry('paths', `${effect}(${failing}`))
      const decision = await decide(gate, toolQuestion('t'))
      expect(decision).toMatchObject({
        kind: 'Deny',
        reason: `policy "paths" failed while it judged Action::"tool_call::t" for Agent::"${AGENT}"`,
        errors: ['paths: record does not have the attribute `path`'],
      })
      expect((await decide(gate, toolQuestion('t', { arguments: { path: '/home' } }))).kind).toBe('Allow')
    },
  )

  test('an unscoped erroring forbid denies replies as well', async () => {
    using gate = gateOf(ALL, entry('paths', `forbid(${failing}`))
    expect(await decide(gate, bareQuestion(RESPOND))).toMatchObject({
      kind: 'Deny',
      errors: [expect.stringContaining('paths: record does not have the attribute `arguments`')],
    })
  })

  test('a forbid that holds and another that fails: both are in the journal', async () => {
    using gate = gateOf(ALL, entry('stop', 'forbid(principal, action, resource);'), entry('paths', `forbid(${failing}`))
    expect(await decide(gate, toolQuestion('t'))).toMatchObject({
      policies: ['stop'],
      errors: [expect.stringMatching(/^paths: /)],
    })
  })

  test('arithmetic overflow and a wrong type are failures too', async () => {
    using gate = gateOf(
      ALL,
      entry('sum', 'forbid(principal, action, resource) when { context.n * 9223372036854775807 > 0 };'),
    )
    expect((await decide(gate, toolQuestion('t', { context: { n: 2 } }))).kind).toBe('Deny')
    expect((await decide(gate, toolQuestion('t', { context: { n: 'x' } }))).kind).toBe('Deny')
    expect((await decide(gate, toolQuestion('t', { context: { n: 0 } }))).kind).toBe('Allow')
  })
})

describe('operations', () => {
  test('add, list, remove and count', async () => {
    using gate = gateOf(entry('off', 'this is not Cedar', false))
    expect(gate.activeCount()).toBe(0)
    gate.add(ALL)
    expect(gate.list().map(({ name }) => name)).toEqual(['off', 'all'])
    expect(gate.activeCount()).toBe(1)
    expect((await decide(gate, toolQuestion('t'))).kind).toBe('Allow')
    expect(gate.removeByName('nobody')).toBe(false)
    expect(gate.removeByName('all')).toBe(true)
    expect((await decide(gate, toolQuestion('t'))).kind).toBe('Deny')
  })

  test.each([
    ['a syntax error', [entry('bad', 'permit(principal, action, resource')]],
    ['a template', [entry('bad', 'permit(principal == ?principal, action, resource);')]],
    ['two entries with one name', [ALL, ALL]],
    [
      'two policies with one @id',
      [
        entry('x', '@id("same") permit(principal, action, resource);'),
        entry('y', '@id("same") forbid(principal, action, resource);'),
      ],
    ],
    ['an @id that is another policy’s name', [ALL, entry('y', '@id("all") forbid(principal, action, resource);')]],
    ['a name over several lines', [entry('y', '@id("a\\nb") permit(principal, action, resource);')]],
    [
      'text that nests too deeply',
      [entry('deep', `permit(principal, action, resource) when { ${'('.repeat(200)}true${')'.repeat(200)} };`)],
    ],
  ])('%s is refused, and changes nothing', async (_, entries) => {
    using gate = gateOf(entry('only-a', 'permit(principal, action == Action::"tool_call::a", resource);'))
    expect(() => gate.replaceAll(entries)).toThrow(expect.objectContaining({ code: 'POLICY_INVALID' }))
    expect(() => gateOf(...entries)).toThrow(expect.objectContaining({ code: 'POLICY_INVALID' }))
    expect(await decide(gate, toolQuestion('a'))).toEqual({ kind: 'Allow', policies: ['only-a'] })
    expect((await decide(gate, toolQuestion('b'))).kind).toBe('Deny')
    expect(gate.list()).toHaveLength(1)
  })

  test('a reload that cannot read, or reads bad policies, changes nothing', async () => {
    using gate = gateOf(ALL)
    await expect(gate.reload(() => Promise.reject(new Error('no disk')))).rejects.toThrow('no disk')
    await expect(gate.reload(async () => [entry('bad', 'nonsense')])).rejects.toMatchObject({ code: 'POLICY_INVALID' })
    expect((await decide(gate, toolQuestion('t'))).kind).toBe('Allow')
    await gate.reload(async () => [])
    expect((await decide(gate, toolQuestion('t'))).kind).toBe('Deny')
  })

  test('500 replacements use no more ids of prepared sets than the widest one needed [trap:cedar-policy-set-pool]', async () => {
    const engine = new CedarEngine()
    using gate = cedarGate({ policies: [ALL], default: 'deny', engine })
    let widest = 0
    for (let version = 0; version < 500; version += 1) {
      const actions = (version % 7) + 1
      const scoped = Array.from({ length: actions }, (_, index) =>
        entry(
          `v${version}-${index}`,
          `permit(principal, action == Action::"tool_call::t${index}", resource) when { context.version == ${version} };`,
        ),
      )
      gate.replaceAll(scoped)
      widest = Math.max(widest, engine.slotCount)
      const question = toolQuestion(`t${actions - 1}`, { context: { version } })
      expect(await decide(gate, question)).toEqual({ kind: 'Allow', policies: [`v${version}-${actions - 1}`] })
    }
    expect(widest).toBe(8) // one for each of seven actions, one for all others
    expect(engine.slotCount).toBe(8)
    expect(engine.loads).toBe(1)
  })

  test('a closed gate gives its places back and denies', async () => {
    const engine = new CedarEngine()
    for (let round = 0; round < 50; round += 1) {
      const gate = cedarGate({ policies: [ALL], default: 'deny', engine })
      gate[Symbol.dispose]()
      expect((await decide(gate, toolQuestion('t'))).kind).toBe('Deny')
    }
    expect(engine.slotCount).toBe(1)
  })

  test('a swap that fails half way puts the old policies back', async () => {
    const engine = new CedarEngine()
    using gate = cedarGate({
      policies: [entry('a', 'permit(principal, action == Action::"tool_call::a", resource);')],
      default: 'deny',
      engine,
    })
    const fill = engine.fill.bind(engine)
    let calls = 0
    engine.fill = (slot, texts) => {
      calls += 1
      fill(slot, calls === 3 ? new Map([['x', 'not Cedar']]) : texts)
    }
    const next = ['b', 'c', 'd'].map((name) =>
      entry(name, `permit(principal, action == Action::"tool_call::${name}", resource);`),
    )
    expect(() => gate.replaceAll(next)).toThrow(expect.objectContaining({ code: 'POLICY_ENGINE' }))
    expect((await decide(gate, toolQuestion('a'))).kind).toBe('Allow')
    expect((await decide(gate, toolQuestion('b'))).kind).toBe('Deny')
    expect(gate.list().map(({ name }) => name)).toEqual(['a'])
    gate.replaceAll(next)
    expect((await decide(gate, toolQuestion('b'))).kind).toBe('Allow')
  })

  test('an engine that fails while it is asked denies with a reason of its own, and recovers [trap:cedar-engine-throws]', async () => {
    const engine = new CedarEngine()
    using gate = cedarGate({ policies: [ALL], default: 'deny', engine })
    const ask = engine.ask.bind(engine)
    engine.ask = (slot) => ask(slot, { context: { big: 1n } } as never)
    expect(await decide(gate, toolQuestion('t'))).toMatchObject({
      kind: 'Deny',
      reason: expect.stringContaining('policy could not judge'),
      errors: [expect.stringContaining('Cannot ask Cedar')],
    })
    engine.ask = ask
    expect((await decide(gate, toolQuestion('t'))).kind).toBe('Allow')
    expect(engine.loads).toBe(2)
  })
})
