import fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import { CedarEngine, type CedarRequest } from '../../../src/policy/cedar/cedar-engine.ts'
import { Judge } from '../../../src/policy/cedar/judge.ts'
import { sliceByAction } from '../../../src/policy/cedar/slices.ts'
import { entry } from '../support.ts'

const engine = new CedarEngine()

/** Names that are easily confused: escapes, separators, types that are prefixes, the empty id. */
const ACTIONS = [
  { type: 'Action', id: 'a' },
  { type: 'Action', id: 'A::"a"' },
  { type: 'Action::Action', id: 'a' },
  { type: 'Action', id: 'Action::a' },
  { type: 'Action', id: '' },
  { type: 'Action', id: 'é\n\u{1F600}' },
  { type: 'Net::Zone::Action', id: 'query' },
] as const
const spelled = ({ type, id }: (typeof ACTIONS)[number]): string =>
  `${type}::${JSON.stringify(id).replaceAll('\\n', '\\u{a}')}`

const action = fc.constantFrom(...ACTIONS)
const scope = fc.oneof(
  fc.constant('action'),
  action.map((one) => `action == ${spelled(one)}`),
  action.map((one) => `action in ${spelled(one)}`),
  fc.array(action, { maxLength: 4 }).map((some) => `action in [${some.map(spelled).join(', ')}]`),
)
const principal = fc.constantFrom(
  'principal',
  'principal == Agent::"x"',
  'principal in Agent::"x"',
  'principal is Agent',
)
const condition = fc.constantFrom(
  '',
  'when { context.n > 1 }',
  'when { context.absent }',
  'unless { context.flag }',
  'when { context has s && context.s like "a*" }',
  'when { action in [Action::"a", Action::"Action::a"] }',
  'when { 1 + "x" == 2 }',
)
const policy = fc
  .tuple(fc.constantFrom('permit', 'forbid'), principal, scope, condition)
  .map(([effect, who, what, test]) => `${effect}(${who}, ${what}, resource) ${test};`)
const asked = fc.record({
  action: fc.oneof(action, fc.record({ type: fc.constant('Action'), id: fc.string() })),
  context: fc.record(
    { n: fc.oneof(fc.integer(), fc.string()), flag: fc.boolean(), s: fc.string() },
    { requiredKeys: ['n'] },
  ),
  agent: fc.constantFrom('x', 'y'),
})

test('asking a slice gives the decision, the deciding policies and the errors of the whole set', () => {
  const whole = engine.lease()!
  fc.assert(
    fc.property(
      fc.array(policy, { maxLength: 12 }),
      fc.array(asked, { minLength: 1, maxLength: 6 }),
      fc.constantFrom(
        { slicesMax: 256, policiesMax: 4096 },
        { slicesMax: 2, policiesMax: 4096 },
        { slicesMax: 4, policiesMax: 30 },
      ),
      (sources, questions, bounds) => {
        using judge = new Judge(engine, bounds)
        judge.replace(sources.map((source, index) => entry(`p${index}`, source)))
        engine.fill(whole, new Map(sources.map((source, index) => [`p${index}`, source])))
        for (const { agent, action, context } of questions) {
          const request: CedarRequest = {
            principal: { type: 'Agent', id: agent },
            action,
            resource: { type: 'Resource', id: 'default' },
            context,
            entities: [],
          }
          const sliced = judge.judge(request)
          const full = engine.ask(whole, request)
          if (full.kind !== 'Answered' || sliced.kind !== 'Judged') throw new Error('no verdict')
          expect(sliced.allowed).toBe(full.decision === 'allow')
          expect(sliced.policies.map(({ name }) => name).sort()).toEqual([...full.reason].sort())
          const errors = (list: readonly { name: string; message: string }[]) =>
            list.map((one) => `${one.name}: ${one.message}`).sort()
          expect(
            errors(sliced.failures.map(({ policy, error }) => ({ name: policy.name, message: error.message }))),
          ).toEqual(errors(full.errors.map(({ id, error }) => ({ name: id, message: error.message }))))
        }
      },
    ),
    { numRuns: 250 },
  )
  expect(engine.loads).toBe(1)
})

test('1,000 policies over 100 actions are asked ten at a time', () => {
  const policies = Array.from({ length: 1000 }, (_, index) => ({
    actions: [{ type: 'Action', id: `a${index % 100}` }],
  }))
  const slices = sliceByAction(policies, { slicesMax: 256, policiesMax: 16_384 })
  expect(slices.sets).toHaveLength(101)
  for (let index = 0; index < 100; index += 1) {
    expect(slices.sets[slices.setFor({ type: 'Action', id: `a${index}` })]).toHaveLength(10)
  }
  expect(slices.sets[slices.setFor({ type: 'Action', id: 'none' })]).toHaveLength(0)
})

test('actions with the same policies share a slice, and those beyond the bounds share the full set', () => {
  const one = {
    actions: [
      { type: 'Action', id: 'a' },
      { type: 'Action', id: 'b' },
    ],
  } // prettier-ignore
  expect(sliceByAction([one], { slicesMax: 256, policiesMax: 100 }).sets).toEqual([[], [one]])
  const many = Array.from({ length: 50 }, (_, index) => ({ actions: [{ type: 'Action', id: `a${index}` }] }))
  const bounded = sliceByAction(many, { slicesMax: 10, policiesMax: 4096 })
  expect(bounded.sets).toHaveLength(10)
  const sizes = many.map(({ actions }) => bounded.sets[bounded.setFor(actions[0]!)]!.length)
  expect(sizes.filter((size) => size === 1)).toHaveLength(8)
  expect(sizes.filter((size) => size === 50)).toHaveLength(42)
  const unscoped = Array.from({ length: 100 }, () => ({ actions: null }))
  const costly = sliceByAction([...many, ...unscoped], { slicesMax: 256, policiesMax: 1000 })
  expect(costly.sets.reduce((sum, { length }) => sum + length, 0)).toBeLessThanOrEqual(1000)
})

test('a set is put together only where there is room for it, however many actions are named', () => {
  const always = Array.from({ length: 1000 }, () => ({ actions: null }))
  const named = Array.from({ length: 1000 }, (_, nth) => ({ actions: [{ type: 'Action', id: `a${nth}` }] }))
  const sort = vi.spyOn(Array.prototype, 'sort')
  const { sets, setFor } = sliceByAction([...always, ...named], { slicesMax: 256, policiesMax: 16_384 })
  const sorted = sort.mock.calls.length
  sort.mockRestore()
  expect(sorted).toBeLessThanOrEqual(sets.length)
  expect(sets.slice(1, -1).every((set) => set.length === 1001)).toBe(true)
  const held = sets.reduce((sum, set) => sum + set.length, 0)
  expect(held).toBeGreaterThan(16_384 - 1001)
  expect(held).toBeLessThanOrEqual(16_384)
  for (const [index, { actions }] of named.entries()) {
    expect(sets[setFor(actions[0] as (typeof actions)[number])]).toContain(named[index])
  }
})
