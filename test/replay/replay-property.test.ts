import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isJsonObject, type JsonObject } from '../../src/core/index.ts'
import { PolicyFolder } from '../policy/support.ts'
import { scratch } from '../support/scratch.ts'
import { governedRun, type Proposed, type Ran, replayOf, TOOLS } from './support.ts'

const disk = scratch()

/** Each may be in force or not. The third and the fourth fail for some arguments, which denies. */
const POLICIES = [
  'permit(principal, action == Action::"tool_call::read", resource);',
  'permit(principal, action == Action::"tool_call::pay", resource) when { context.has_human_approval };',
  'permit(principal, action == Action::"tool_call::write", resource) when { context.invocation.arguments.n > 2 };',
  'forbid(principal, action, resource) when { context.invocation.arguments.path like "/etc/*" };',
  'permit(principal, action, resource) when { context has has_human_approval && context.has_human_approval };',
  'permit(principal, action == Action::"tool_call::fix", resource) when { context.invocation.arguments.fixed };',
  'forbid(principal, action, resource) when { context has team && context.team == "guests" };',
  '@id("replies") permit(principal, action == Action::"respond", resource);',
]
const READ = POLICIES[0] as string

const values = fc.record(
  {
    path: fc.constantFrom('/etc/passwd', '/home/ada', 7),
    n: fc.constantFrom(1, 3, -0, 2 ** 53 - 1, 1.5, 'three'),
    ask: fc.constantFrom('approve', 'hold', 'refuse'),
    more: fc.jsonValue({ maxDepth: 2 }),
    odd: fc.constantFrom({ __entity: {} }, null, [], { é: '\u0000"' }),
  },
  { requiredKeys: [] },
)
const texts = fc.oneof(
  { weight: 6, arbitrary: values.map((value) => JSON.stringify(value)) },
  fc.constantFrom('', '{', '[]'),
)
const names = fc.constantFrom(...TOOLS, 'unknown_tool')
const calls = fc
  .array(fc.record({ name: names, arguments: texts, twice: fc.integer({ max: 9, min: 0 }) }), {
    minLength: 1,
    maxLength: 4,
  })
  .map((batch): Proposed[] =>
    batch.map(({ twice, ...call }, at) => ({ ...call, id: twice === 0 ? 'same' : `call-${at}` })),
  )

const plans = fc.record({
  policies: fc.uniqueArray(fc.nat(POLICIES.length - 1), { maxLength: POLICIES.length }),
  replies: fc.array(calls, { maxLength: 3 }),
  team: fc.option(fc.constantFrom('guests', 'ops', 5)),
  inline: fc.boolean(),
})

interface Plan {
  readonly policies: readonly number[]
  readonly replies: readonly (readonly Proposed[])[]
  readonly team: string | number | null
  readonly inline: boolean
}

const call = (id: string, name: string, value: object | string): Proposed => ({
  id,
  name,
  arguments: typeof value === 'string' ? value : JSON.stringify(value),
})

/** Every step decides about something, and once with and once without an inline policy. */
const EVERYTHING: Plan = {
  policies: [0, 1, 2, 5, 6, 7],
  replies: [
    [call('1', 'read', {}), call('2', 'read', { path: '/etc/passwd' }), call('3', 'read', '{')],
    [call('1', 'pay', { ask: 'approve' }), call('2', 'pay', { ask: 'hold' }), call('3', 'pay', { ask: 'refuse' })],
    [call('1', 'write', { n: 3 }), call('2', 'write', { n: 1 }), call('3', 'write', { n: 'three' })],
    [call('1', 'write', { n: 1, ask: 'approve' }), call('2', 'fix', {}), call('3', 'fix', { fixed: 7 })],
    [call('1', 'read', {}), call('1', 'read', {})],
  ],
  team: null,
  inline: true,
}
const examples: [Plan][] = [[EVERYTHING], [{ ...EVERYTHING, inline: false }]]

function ran({ replies, team, inline }: Plan, policies: string): Promise<Ran> {
  const context = team === null ? {} : { context: { team } }
  const rules = inline ? { inline: 'policy narrow { deny: "fix" }' } : {}
  return governedRun({ directory: disk.path('governed'), policies, replies, ...context, ...rules })
}

const fileOf = (numbers: readonly number[]): string => numbers.map((number) => POLICIES[number]).join('\n')

test('the policies that judged change nothing, whatever they are and whatever was proposed', async () => {
  const seen = new Map<string, number>()
  await fc.assert(
    fc.asyncProperty(plans, async (plan) => {
      await using folder = await PolicyFolder.make(
        plan.policies.length === 0 ? {} : { 'p.cedar': fileOf(plan.policies) },
      )
      const run = await ran(plan, folder.path)
      const { differences, judged, allow_to_deny, deny_to_allow, policies_differ, not_judged, unknown } =
        await replayOf(run, folder.path)
      expect(differences).toEqual([])
      expect([allow_to_deny, deny_to_allow, policies_differ, unknown]).toEqual([0, 0, 0, 0])
      const others = Object.values(not_judged).reduce((sum, count) => sum + count, 0)
      for (const { approved_calls = [], denied_calls = [] } of run.decisions) {
        for (const step of [...approved_calls.map(() => 'allowed'), ...denied_calls.map(stepOf)]) {
          seen.set(step, (seen.get(step) ?? 0) + 1)
        }
      }
      expect(judged + others).toBe(run.decisions.reduce((sum, { action_count }) => sum + action_count, 0))
    }),
    { numRuns: 60, examples },
  )
  const steps = [
    'allowed',
    'approval',
    'approved and denied',
    'failed',
    'held',
    'policy',
    'preparation',
    'restriction',
    'runtime',
  ]
  expect([...seen.keys()].sort()).toEqual(steps) // or it showed nothing about some of them
}, 60_000)

function stepOf({ denied_by, pending_approval, policy_errors, approval }: JsonObject): string {
  if (pending_approval !== undefined) return 'held'
  if (policy_errors !== undefined) return 'failed'
  return denied_by === 'policy' && approval !== null ? 'approved and denied' : String(denied_by)
}

test('without the permit of one tool, exactly its allowed calls would change, and those of the rest stay', async () => {
  let seen = 0
  await fc.assert(
    fc.asyncProperty(plans, async (plan) => {
      const rest = plan.policies.filter((number) => ![0, 3, 4].includes(number))
      await using before = await PolicyFolder.make({ 'a.cedar': READ, 'p.cedar': `${fileOf(rest)}\n` })
      await using after = await PolicyFolder.make({ 'p.cedar': `${fileOf(rest)}\n` })
      const run = await ran(plan, before.path)
      const wanted = run.entries.flatMap(({ sequence, event }) =>
        event.kind === 'PolicyEvaluated'
          ? (event.approved_calls ?? []).filter(isRead).map(({ fingerprint }) => [sequence, fingerprint])
          : [],
      )
      const { differences, allow_to_deny, deny_to_allow } = await replayOf(run, after.path)
      const changed = differences.filter(({ kind }) => kind === 'changed')
      expect(changed.map(({ sequence, judged }) => [sequence, judged.call.fingerprint])).toEqual(wanted)
      expect([allow_to_deny, deny_to_allow]).toEqual([wanted.length, 0])
      for (const { before: was, after: is } of changed) {
        expect([was.decision, was.policies, is.decision]).toEqual(['allow', ['a'], 'deny'])
      }
      seen += wanted.length
    }),
    { numRuns: 30, examples },
  )
  expect(seen).toBeGreaterThan(1) // or it showed nothing
}, 60_000)

function isRead({ action }: JsonObject): boolean {
  const call = isJsonObject(action) ? action.ToolCall : undefined
  return isJsonObject(call) && call.name === 'read'
}
