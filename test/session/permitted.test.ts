import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { JsonObject } from '../../src/core/index.ts'
import {
  cedarGate,
  denyEverythingGate,
  failClosedGate,
  type Gate,
  heldGate,
  permissiveGate,
  restrictedBy,
  toolFilterGate,
  unattendedGate,
} from '../../src/policy/index.ts'
import { entry } from '../policy/support.ts'
import { policyIn } from '../support/inline-policy.ts'
import { callOf, sessionBench } from '../support/tool-session.ts'
import { toolOf } from '../support/tools.ts'

const TOOLS = ['look', 'send', 'drop']
const named = fc.subarray(TOOLS, { minLength: 1 })

const scope = fc.oneof(
  fc.constant('action'),
  fc.constantFrom(...TOOLS, 'other').map((name) => `action == Action::"tool_call::${name}"`),
  named.map((names) => `action in [${names.map((name) => `Action::"tool_call::${name}"`).join(', ')}]`),
)
const when = fc.constantFrom(
  '',
  'when { context.invocation.arguments has x }',
  'when { context.invocation.arguments.x == 1 }', // fails where there is no x
  'unless { context.has_human_approval }',
)
const cedar = fc.array(
  fc.tuple(fc.constantFrom('permit', 'permit', 'forbid'), scope, when, fc.constantFrom(true, true, false)),
  { maxLength: 4 },
)
const rule = fc
  .tuple(fc.constantFrom('allow', 'allow', 'deny'), named, fc.constantFrom('', ' if invocation.arguments.x == 1'))
  .map(([effect, names, condition]) => `${effect}: ${JSON.stringify(names)}${condition}`)
const inline = fc.array(fc.array(rule, { minLength: 1, maxLength: 3 }), { maxLength: 2 })
const calls = fc.array(
  fc.tuple(fc.constantFrom(...TOOLS), fc.constantFrom<JsonObject>({}, { x: 1 }, { x: 2 }, { y: 'a' })),
  { minLength: 1, maxLength: 8 },
)

test('a tool that is left out of the list is never allowed, whatever its arguments are', async () => {
  let [hidden, allowed] = [0, 0]
  await fc.assert(
    fc.asyncProperty(cedar, inline, calls, async (policies, blocks, asked) => {
      const entries = policies.map(([effect, action, condition, active], at) =>
        entry(`p${at}`, `${effect}(principal, ${action}, resource) ${condition};`, active),
      )
      using gate = cedarGate({ policies: entries, default: 'deny' })
      const own = policyIn(
        `agent a { ${blocks.map((rules, at) => `policy b${at} { ${rules.join('\n')} }`).join('\n')} }`,
      )
      const tools = TOOLS.map((name) => toolOf(name))
      const bench = sessionBench({ tools, gate: unattendedGate(gate, []), box: (inner) => restrictedBy(inner, own) })
      using session = await bench.start()
      const shown = new Set((await session.permitted()).map(({ name }) => name))
      for (const [at, [name, args]] of asked.entries())
        await session.call(callOf(`c${at}`, name, args), new AbortController().signal)
      for (const { definition, ran } of tools) {
        if (!shown.has(definition.name)) {
          hidden += 1
          expect(ran).toEqual([])
        }
        allowed += ran.length
      }
    }),
    { numRuns: 120 },
  )
  expect(Math.min(hidden, allowed)).toBeGreaterThan(25) // so that both were really tried
}, 60_000)

const listed = async (gate: Gate, tools = TOOLS.map((name) => toolOf(name))): Promise<readonly string[]> => {
  using session = await sessionBench({ tools, gate }).start()
  return (await session.permitted()).map(({ name }) => name)
}

test('a gate that cannot know before there is a call hides nothing, and one that denies everything shows nothing', async () => {
  expect(await listed(permissiveGate(() => undefined))).toEqual(TOOLS)
  expect(await listed(toolFilterGate([]))).toEqual(TOOLS)
  expect(await listed(failClosedGate())).toEqual([])
  expect(await listed(heldGate(denyEverythingGate('closed'), null as never))).toEqual([])
})

test('a tool that may come to another action for some arguments is shown, unless it promises not to', async () => {
  using gate = cedarGate({ policies: [], default: 'deny' })
  const resolve = (): object => ({})
  const promised = { ...toolOf('send'), oneAction: true as const, resolve }
  expect(await listed(gate, [{ ...toolOf('look'), resolve }, promised])).toEqual(['look'])
})
