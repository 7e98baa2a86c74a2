import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { JsonObject } from '../../../src/core/index.ts'
import { evaluateInline } from '../../../src/policy/index.ts'
import { refusesEvery } from '../../../src/policy/inline/evaluate-inline.ts'
import { policyIn } from '../../support/inline-policy.ts'
import {
  type NaiveCondition,
  type NaivePolicy,
  type NaiveRule,
  type NaiveValue,
  naiveRefusal,
} from '../../support/naive-policy.ts'

const EFFECTS = ['read', 'write', 'delegate::reviewer']
const FIELDS = ['a', 'b', 'c', 'd']

const value: fc.Arbitrary<NaiveValue> = fc.oneof(
  fc.boolean(),
  fc.constantFrom('', 'x', 'é"\\'),
  fc.constantFrom(-3, 0, 7, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER),
)
const path = fc.constantFrom(
  'principal',
  ...FIELDS.map((field) => `invocation.arguments.${field}`),
  'context.mode',
  'context.gone.x',
)

const { condition } = fc.letrec<{ condition: NaiveCondition }>((tie) => ({
  condition: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.record({ value }),
    fc.record({ path }),
    fc.record({ not: tie('condition') }),
    fc.record({
      operator: fc.constantFrom('&&', '||', '==', '!=', '<', '>', '<=', '>='),
      left: tie('condition'),
      right: tie('condition'),
    }),
    fc.record({
      operator: fc.constantFrom('==', '!=', '<', '>='),
      left: fc.record({ path }),
      right: fc.record({ value }),
    }),
    fc.record({ operand: fc.record({ path }), list: fc.array(value, { minLength: 1, maxLength: 3 }) }),
  ),
}))

const rule: fc.Arbitrary<NaiveRule> = fc.record({
  effect: fc.constantFrom('allow', 'deny'),
  names: fc.oneof(fc.boolean(), fc.subarray(EFFECTS, { minLength: 1 })),
  condition: fc.option(condition),
})
const policy: fc.Arbitrary<NaivePolicy> = fc
  .array(fc.array(rule, { minLength: 1, maxLength: 4 }), { maxLength: 3 })
  .map((blocks) => blocks.map((rules, index) => ({ name: `block_${index}`, rules })))

const argument = fc.oneof(value, fc.constantFrom(null, 1.5, 2 ** 60, ['x'], { x: 1 }))
const data = fc.record({
  principal: fc.constantFrom('x', 'me'),
  args: fc.dictionary(fc.constantFrom(...FIELDS), argument),
  mode: fc.constantFrom('x', 7, true),
})

test('an inline policy decides as a plain reading of the rules does, and by the same rule [N1]', () => {
  let passed = 0
  let refused = 0
  fc.assert(
    fc.property(policy, fc.constantFrom(...EFFECTS), data, (blocks, effect, { principal, args, mode }) => {
      const invocation: JsonObject = { arguments: args }
      const context: JsonObject = { mode }
      const ruling = evaluateInline(policyIn(sourceOf(blocks)), { effect, principal, invocation, context })
      const last = ruling.kind === 'Refuse' ? ruling.blocks.at(-1) : undefined
      const expected = naiveRefusal(blocks, effect, { principal, invocation, context })
      expect(last === undefined ? null : [last.name, last.decidedBy]).toEqual(expected)
      if (expected === null) passed += 1
      else refused += 1
    }),
    { numRuns: 1200 },
  )
  expect(Math.min(passed, refused)).toBeGreaterThan(100) // so that both answers were really tried
}, 60_000)

test('an effect that is said to be always refused is refused, whatever the arguments and the context are', () => {
  let certain = 0
  fc.assert(
    fc.property(policy, fc.constantFrom(...EFFECTS), data, (blocks, effect, { principal, args, mode }) => {
      const compiled = policyIn(sourceOf(blocks))
      if (!refusesEvery(compiled, effect)) return
      certain += 1
      const subject = { principal, invocation: { arguments: args }, context: { mode } }
      expect(evaluateInline(compiled, { effect, ...subject }).kind).toBe('Refuse')
    }),
    { numRuns: 600 },
  )
  expect(certain).toBeGreaterThan(50)
}, 60_000)

function sourceOf(blocks: NaivePolicy): string {
  return `agent fixture { ${blocks.map(({ name, rules }) => `policy ${name} { ${rules.map(ruleText).join('\n')} }`).join('\n')} }`
}

function ruleText({ effect, names, condition }: NaiveRule): string {
  return `${effect}: ${JSON.stringify(names)}${condition === null ? '' : ` if ${conditionText(condition)}`}`
}

function conditionText(node: NaiveCondition): string {
  if ('value' in node) return JSON.stringify(node.value)
  if ('path' in node) return node.path
  if ('not' in node) return `!(${conditionText(node.not)})`
  if ('list' in node) return `(${conditionText(node.operand)}) in ${JSON.stringify(node.list)}`
  return `(${conditionText(node.left)}) ${node.operator} (${conditionText(node.right)})`
}
