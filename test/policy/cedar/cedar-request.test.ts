import { describe, expect, test } from 'vitest'
import type { Json, JsonObject } from '../../../src/core/index.ts'
import { requestOf } from '../../../src/policy/cedar/cedar-request.ts'
import { cedarGate } from '../../../src/policy/index.ts'
import {
  AGENT,
  bareQuestion,
  DELEGATE,
  decide,
  entry,
  RESPOND,
  rawQuestion,
  reasonOf,
  TERMINATE,
  toolQuestion,
} from '../support.ts'

const permits = (condition: string) =>
  cedarGate({ policies: [entry('p', `permit(principal, action, resource) when { ${condition} };`)], default: 'deny' })

async function allows(condition: string, value: JsonObject): Promise<boolean> {
  using gate = permits(condition)
  return (await decide(gate, toolQuestion('t', { arguments: value }))).kind === 'Allow'
}

describe('the parts of a request', () => {
  test('a tool call is named by its contract, and the resource carries the four attributes', () => {
    const question = toolQuestion('zone_lookup', {
      contract: {
        version: '0.3.0',
        action_type: 'Net::Zone::Action',
        action_id: 'query',
        resource_type: 'Net::Zone',
        resource_id: 'zone_lookup',
      },
    })
    expect(requestOf(question)).toMatchObject({
      kind: 'Request',
      request: {
        principal: { type: 'Agent', id: AGENT },
        action: { type: 'Net::Zone::Action', id: 'query' },
        resource: { type: 'Net::Zone', id: 'zone_lookup' },
        entities: [
          {
            uid: { type: 'Net::Zone', id: 'zone_lookup' },
            attrs: {
              tool_name: 'zone_lookup',
              version: '0.3.0',
              contract_hash: question.call.contract?.digest,
              call_fingerprint: question.call.fingerprint,
            },
            parents: [],
          },
        ],
      },
    })
  })

  test.each([
    ['respond', RESPOND],
    ['terminate', TERMINATE],
    ['delegate::worker', DELEGATE],
  ])('an action without a contract is Action::"%s" on Resource::"default"', (id, action) => {
    expect(requestOf(bareQuestion(action))).toMatchObject({
      request: { action: { type: 'Action', id }, resource: { type: 'Resource', id: 'default' }, entities: [] },
    })
  })

  test('a tool call without a contract goes by the name of its tool, on Resource::"default"', () => {
    const action = { ToolCall: { call_id: 'c1', name: 'look', arguments: '{}' } }
    expect(requestOf(bareQuestion(action))).toMatchObject({
      request: {
        action: { type: 'Action', id: 'tool_call::look' },
        resource: { type: 'Resource', id: 'default' },
        entities: [],
      },
    })
  })

  test.each([
    ['an action id', { action_id: '\ud800' }, 'its action id holds a lone surrogate'],
    ['a resource id', { resource_id: '\ud800' }, '"context.invocation.contract.resource_id" holds a lone surrogate'],
    ['a type', { action_type: 'Net Zone' }, 'its action type "Net Zone" is not a Cedar name'],
  ])('a contract with %s that Cedar cannot be shown is not judged', (_, contract, reason) => {
    const question = toolQuestion('zone')
    const foreign = { ...question.call, contract: { ...question.call.contract!, ...contract } }
    expect(requestOf({ ...question, call: foreign })).toEqual({
      kind: 'Unfit',
      reason: `the call cannot be shown to policy: ${reason}`,
    })
  })

  test('a name that is too long for a sentence is cut in the reason of a denial, and judged whole', async () => {
    const long = 'x'.repeat(200)
    using gate = permits('false')
    expect(await reasonOf(gate, toolQuestion(long))).toContain(`Action::"tool_call::${'x'.repeat(148)}`)
    expect(await reasonOf(gate, toolQuestion(long))).toContain('…" for')
  })

  test('the context is the trusted context and the invocation as the journal shows it', async () => {
    const question = toolQuestion('t', {
      arguments: { path: '/tmp' },
      context: { ticket: { severity: 3 } },
      resolved: { argv: ['ls'] },
    })
    expect(requestOf(question)).toMatchObject({
      request: {
        context: {
          ticket: { severity: 3 },
          has_human_approval: false,
          approved_fingerprint: '',
          invocation: {
            fingerprint: question.call.fingerprint,
            action: { ToolCall: { call_id: 'c1', name: 't', arguments: '{"path":"/tmp"}' } },
            arguments: { path: '/tmp' },
            contract: { name: 't', requires_approval: false },
            resolved: { argv: ['ls'] },
          },
        },
      },
    })
    using gate = permits('context.ticket.severity > 2 && context.invocation.resolved.argv.contains("ls")')
    expect((await decide(gate, question)).kind).toBe('Allow')
  })

  test('trusted context cannot speak for the approval or the invocation [trap:approval-from-client]', async () => {
    using gate = permits(
      'context.has_human_approval || context.approved_fingerprint == "x" || context.invocation has forged',
    )
    const context = { has_human_approval: true, approved_fingerprint: 'x', invocation: { forged: true } }
    expect((await decide(gate, toolQuestion('t', { context }))).kind).toBe('Deny')
  })

  test('a contract whose names are no Cedar names denies with a reason of its own', async () => {
    using gate = permits('true')
    expect(await reasonOf(gate, toolQuestion('t', { contract: { action_type: 'No Name' } }))).toContain(
      'action type "No Name"',
    )
    expect(await reasonOf(gate, toolQuestion('t', { contract: { resource_type: 'A::' } }))).toContain(
      'resource type "A::"',
    )
    const question = toolQuestion('t')
    const contract = { ...question.call.contract!, resource_id: '\ud800' }
    expect(await reasonOf(gate, { ...question, call: { ...question.call, contract } })).toContain('lone surrogate')
  })

  test('a type that Cedar reserves is refused by Cedar, which denies and tells operators why', async () => {
    using gate = permits('true')
    const decision = await decide(gate, toolQuestion('t', { contract: { action_type: '__cedar::Action' } }))
    expect(decision).toMatchObject({ kind: 'Deny', reason: expect.stringContaining('policy could not judge') })
    expect(decision).toMatchObject({ errors: [expect.stringContaining('reserved')] })
  })
})

describe('values', () => {
  test('a null member is left out, so `has` is false', async () => {
    expect(await allows('!(context.invocation.arguments has a)', { a: null })).toBe(true)
    expect(
      await allows('context.invocation.arguments.b has c && !(context.invocation.arguments.b has a)', {
        b: { a: null, c: 1 },
      }),
    ).toBe(true)
  })

  test.each([
    [0.5, 'context.invocation.arguments.n.lessThan(decimal("0.6"))'],
    [-12.25, 'context.invocation.arguments.n == decimal("-12.25")'],
    [1.2345, 'context.invocation.arguments.n == decimal("1.2345")'],
    [99_999_999_999.5, 'context.invocation.arguments.n == decimal("99999999999.5")'],
    [1.23456, 'context.invocation.arguments.n == "1.23456"'],
    [1e-7, 'context.invocation.arguments.n == "1e-7"'],
    [922_337_203_685_477.9, 'context.invocation.arguments.n == "922337203685477.9"'],
    [922_337_203_685_477.5, 'context.invocation.arguments.n == decimal("922337203685477.5")'],
    [5.0, 'context.invocation.arguments.n == 5'],
    [-0, 'context.invocation.arguments.n == 0'],
    [Number.MAX_SAFE_INTEGER, 'context.invocation.arguments.n == 9007199254740991'],
    [-Number.MAX_SAFE_INTEGER, 'context.invocation.arguments.n == -9007199254740991'],
  ])('the number %d is shown exactly', async (n, condition) => {
    expect(await allows(condition, { n })).toBe(true)
  })

  test('a fraction disturbs only a policy that looks at it, and that one denies [trap:cedar-number-range]', async () => {
    expect(await allows('true', { n: 0.123456 })).toBe(true)
    using gate = permits('context.invocation.arguments.n > 0')
    expect(await decide(gate, toolQuestion('t', { arguments: { n: 0.5 } }))).toMatchObject({
      kind: 'Deny',
      reason: expect.stringContaining('policy "p" failed'),
    })
  })

  test.each([
    ['a null in an array', { list: [1, null] }, '"context.invocation.arguments.list[1]" is null'],
    [
      'an integer that would be rounded',
      { deep: [{ n: 2 ** 53 }] },
      '"context.invocation.arguments.deep[0].n" is an integer beyond 2^53-1',
    ],
    ['a large double', { n: 1e300 }, 'beyond 2^53-1'],
    ['NaN', { n: Number.NaN }, '"context.invocation.arguments.n" is not a finite number'],
    ['infinity', { n: Number.POSITIVE_INFINITY }, 'not a finite number'],
    ['undefined', { u: undefined }, 'is undefined'],
    ['a BigInt', { b: 1n }, 'is a bigint'],
    ['a function', { f: () => 1 }, 'is a function'],
    ['a Date', { d: new Date(0) }, 'class instance'],
    ['a lone surrogate', { s: '\udc00' }, 'lone surrogate'],
    ['a name with a lone surrogate', { '\udc00': 1 }, 'lone surrogate'],
    [
      '__entity',
      { who: { __entity: { type: 'Agent', id: AGENT } } },
      '"context.invocation.arguments.who.__entity" has a name',
    ],
    [
      '__extn',
      { who: [{ __extn: { fn: 'ip', arg: '127.0.0.1' } }] },
      '"context.invocation.arguments.who[0].__extn" has a name',
    ],
    ['__expr', { 'a b': { __expr: '1' } }, '"context.invocation.arguments["a b"].__expr" has a name'],
  ])(
    '%s denies, and the reason names the path [trap:cedar-number-range, trap:cedar-entity-escape]',
    async (_, value, reason) => {
      using gate = permits('true')
      const decision = await decide(gate, rawQuestion('t', value))
      expect(decision).toMatchObject({ kind: 'Deny', policies: [] })
      expect(await reasonOf(gate, rawQuestion('t', value))).toContain(reason)
    },
  )

  test('the same rules hold for trusted context and for what is resolved', async () => {
    using gate = permits('true')
    expect(await reasonOf(gate, toolQuestion('t', { context: { a: [null] } }))).toContain('"context.a[0]" is null')
    expect(await reasonOf(gate, toolQuestion('t', { resolved: { __entity: {} } }))).toContain(
      'context.invocation.resolved.__entity',
    )
  })

  test('an argument cannot become an entity: not the principal, and not equal to it [trap:cedar-entity-escape]', async () => {
    const policies = [
      entry('owner', 'permit(principal, action, resource) when { context.invocation.arguments.owner == principal };'),
    ]
    using gate = cedarGate({ policies, default: 'deny' })
    for (const owner of [
      { __entity: { type: 'Agent', id: AGENT } },
      { type: 'Agent', id: AGENT },
      `Agent::"${AGENT}"`,
      AGENT,
    ]) {
      expect((await decide(gate, toolQuestion('t', { arguments: { owner } }))).kind).toBe('Deny')
    }
  })

  test('a member named __proto__ is data like any other', async () => {
    const value = JSON.parse('{"__proto__":{"admin":true}}') as JsonObject
    expect(
      await allows('context.invocation.arguments has __proto__ && !(context.invocation.arguments has admin)', value),
    ).toBe(true)
  })

  test('a value of 64 levels is judged, and one beyond 100 levels denies', async () => {
    const nest = (levels: number): JsonObject => {
      let value: Json = 'x'
      for (let level = 0; level < levels; level += 1) value = { a: value }
      return value as JsonObject
    }
    expect(await allows('context.invocation.arguments has a', nest(64))).toBe(true)
    using gate = permits('true')
    expect(await reasonOf(gate, toolQuestion('t', { arguments: nest(110) }))).toContain('levels deep')
  })

  test('a long path is shortened in the reason', async () => {
    using gate = permits('true')
    const reason = await reasonOf(gate, toolQuestion('t', { arguments: { ['x'.repeat(5000)]: [null] } }))
    expect(reason.length).toBeLessThan(300)
  })
})
