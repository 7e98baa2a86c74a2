import { describe, expect, test } from 'vitest'
import { newId } from '../../src/core/index.ts'
import { type Event, NO_USAGE } from '../../src/events/index.ts'
import { recoveredBudget } from '../../src/journal/recovered-budget.ts'
import { recoveryReport } from '../../src/journal/recovery.ts'
import { attached, never, numbered, REFERENCE, random, request, usage } from '../support/budget.ts'
import { opened, prefix, ROOT, reservation, run, started } from '../support/history.ts'

function refusal(text: string) {
  return expect.objectContaining({ code: 'EVIDENCE_INVALID', message: expect.stringContaining(text) })
}
const root = { scope: 0, parent: null, limit: 1000 }
const budgetOf = (...events: readonly Event[]) => recoveryReport(run(opened(), ...events)).recovered_budget

describe('a recovered budget', () => {
  test('is null for a run that opened none', () => {
    expect(recoveryReport(run()).recovered_budget).toBe(null)
    const linked: Event = { kind: 'BudgetScopeLinked', root_id: ROOT, scope: 3, root_audit: REFERENCE }
    expect(recoveryReport(run(linked)).recovered_budget).toBe(null)
  })

  test('charges an open reservation in full, as uncertain', () => {
    const { record, start } = reservation()
    expect(budgetOf(start)).toEqual({
      root_id: ROOT,
      scopes: [
        {
          root_id: ROOT,
          scope: 0,
          limit: 1000,
          usage: NO_USAGE,
          reserved_tokens: 0,
          uncertain_tokens: 50,
          available_tokens: 950,
          exceeded: false,
        },
      ],
      reservations: [
        { reservation: record, start_sequence: 2, finish_sequence: null, outcome: 'unknown', usage: null },
      ],
    })
  })

  test('counts a confirmed use, an unknown one and an exceeded one by the rules of settlement', () => {
    const [one, two, three] = [reservation(), reservation(), reservation()]
    const budget = budgetOf(
      one.start,
      one.finish('confirmed', usage(10, 20)),
      two.start,
      two.finish('unknown'),
      three.start,
      three.finish('exceeded', usage(60, 30, 5)),
    )
    expect(budget?.scopes).toMatchObject([
      { usage: usage(70, 50, 120), uncertain_tokens: 50, reserved_tokens: 0, available_tokens: 0, exceeded: true },
    ])
    expect(
      budget?.reservations.map(({ finish_sequence, outcome, usage }) => [finish_sequence, outcome, usage]),
    ).toEqual([
      [3, 'confirmed', usage(10, 20)],
      [5, 'unknown', NO_USAGE],
      [7, 'exceeded', usage(60, 30, 5)],
    ])
  })

  test('shows every scope that a reservation names, in order, with effective availability', () => {
    const leaf = reservation({
      ancestors: [{ scope: 5, parent: 2, limit: 60 }, { scope: 2, parent: 0, limit: 300 }, root],
    })
    const middle = reservation({ ancestors: [{ scope: 2, parent: 0, limit: 300 }, root], output_tokens: 275 })
    const budget = budgetOf(middle.start, middle.finish('confirmed', usage(10, 220)), leaf.start)
    expect(budget?.scopes.map(({ scope, available_tokens }) => [scope, available_tokens])).toEqual([
      [0, 720],
      [2, 20],
      [5, 10],
    ])
  })

  test('shows a sibling as closed, or as short as the scopes above it', () => {
    const inScope = (scope: number, output_tokens: number) =>
      reservation({ ancestors: [{ scope, parent: 0, limit: 900 }, root], output_tokens })
    const [left, right] = [inScope(1, 890), inScope(2, 40)]
    expect(budgetOf(left.start, right.start)?.scopes).toMatchObject([
      { scope: 0, available_tokens: 50 },
      { scope: 1, available_tokens: 0 },
      { scope: 2, available_tokens: 50, exceeded: false },
    ])
    expect(budgetOf(right.start, left.start, left.finish('exceeded', usage(1, 891)))?.scopes).toMatchObject([
      { scope: 0, available_tokens: 0, exceeded: true },
      { scope: 1, available_tokens: 0, exceeded: true },
      { scope: 2, available_tokens: 0, exceeded: true },
    ])
  })

  test('charges a lost settlement in full, as the writer of the journal did when it failed [B3]', async () => {
    const { root: scope, log, recorder } = attached(1000)
    const held = scope.reserve(request())
    await held.begin(never)
    held.settle(usage(1, 1))
    log.failAt(2)
    await expect(recorder.commit()).rejects.toThrow()
    const events = [started, ...numbered(log.entries).map(({ event }) => event)]
    const recovered = recoveryReport(prefix(events)).recovered_budget?.scopes[0]
    expect(recovered).toMatchObject({ usage: NO_USAGE, uncertain_tokens: 50, available_tokens: 950 })
    expect(scope.snapshot()).toMatchObject({ usage: NO_USAGE, uncertain_tokens: 50, available_tokens: 0 })
  })

  test('of a run that delegated is the ledger of all its runs, and charges an open reservation of a child to all above it', async () => {
    const { root: scope, log, recorder } = attached(1000)
    const child = scope.child(500)
    const grandchild = child.child(400)
    const spent = child.reserve(request())
    await spent.begin(never)
    spent.settle(usage(3, 4))
    await recorder.commit()
    const settled = [scope, child].map((each) => each.snapshot())
    const recover = () => recoveryReport(prefix([started, ...numbered(log.entries).map(({ event }) => event)]))
    expect(recover().recovered_budget?.scopes).toEqual(settled)
    await grandchild.reserve(request()).begin(never)
    const report = recover()
    expect(report.requires_reconciliation).toBe(true)
    expect(
      report.recovered_budget?.scopes.map(({ scope, limit, usage, uncertain_tokens, available_tokens }) => [
        scope,
        limit,
        usage.total_tokens,
        uncertain_tokens,
        available_tokens,
      ]),
    ).toEqual([
      [0, 1000, 7, 50, 943],
      [1, 500, 7, 50, 443],
      [2, 400, 0, 50, 350],
    ])
  })

  test('accepts a start and a refused report of a sibling after the budget was closed', () => {
    const [one, two, three] = [reservation(), reservation(), reservation()]
    const budget = budgetOf(
      one.start,
      two.start,
      one.finish('exceeded', usage(5000, 1)),
      three.start,
      two.finish('exceeded', usage(5, 5)),
      three.finish('unknown'),
    )
    expect(budget?.scopes).toMatchObject([{ usage: usage(5005, 6), uncertain_tokens: 50, exceeded: true }])
  })

  test('of a run that is only linked is in the journal of its root, whatever balance it wrote down itself', () => {
    const linked: Event = { kind: 'BudgetScopeLinked', root_id: ROOT, scope: 3, root_audit: REFERENCE }
    const budget = {
      root_id: ROOT,
      scope: 3,
      limit: 10,
      usage: usage(1, 2),
      reserved_tokens: 0,
      uncertain_tokens: 0,
      available_tokens: 7,
      exceeded: false,
    }
    expect(recoveryReport(run(linked, { kind: 'BudgetUpdated', budget })).recovered_budget).toBe(null)
  })

  test('accepts the final balance that its entries add up to', () => {
    const { start, finish } = reservation()
    const balance = { root_id: ROOT, scope: 0, limit: 1000, usage: usage(1, 2) }
    const rest = { reserved_tokens: 0, uncertain_tokens: 0, available_tokens: 997, exceeded: false }
    const budget = budgetOf(start, finish('confirmed', usage(1, 2)), {
      kind: 'BudgetUpdated',
      budget: { ...balance, ...rest },
    })
    expect(budget?.scopes).toEqual([{ ...balance, ...rest }])
  })
})

describe('a budget history is refused', () => {
  const { start, finish } = reservation()
  const child = { scope: 1, parent: 0, limit: 100 }
  const balance = (parts: object): Event => ({
    kind: 'BudgetUpdated',
    budget: {
      root_id: ROOT,
      scope: 0,
      limit: 1000,
      usage: NO_USAGE,
      reserved_tokens: 0,
      uncertain_tokens: 0,
      available_tokens: 1000,
      exceeded: false,
      ...parts,
    },
  })
  const other = newId('root', random)
  const linked: Event = { kind: 'BudgetScopeLinked', root_id: ROOT, scope: 1, root_audit: null }
  const starts = (parts: Parameters<typeof reservation>[0]): Event => reservation(parts).start

  test.each<readonly [string, readonly Event[], string]>([
    ['opened twice', [opened(), opened()], 'a second time'],
    ['opened and linked', [opened(), linked], 'a second time'],
    ['linked twice', [linked, linked], 'a second time'],
    ['linked to a root', [{ ...linked, scope: 0 } as Event], 'links to none'],
    ['reserved in before it was opened', [start, opened()], 'never opened'],
    ['reserved in by a run that is only linked', [linked, start], 'never opened'],
    ['reserved in under another root', [opened(), starts({ root_id: other })], 'belongs to the budget'],
    ['settled under another root', [opened(), start, finish('unknown', NO_USAGE, other)], 'belongs to the budget'],
    ['over-reserved in one step', [opened(49), starts({ ancestors: [{ ...root, limit: 49 }] })], 'reserves 50 tokens'],
    ['over-reserved step by step', [opened(), starts({ output_tokens: 970 }), start], 'reserves 50 tokens'],
    ['over-reserved in a child', [opened(), starts({ ancestors: [child, root], output_tokens: 91 })], 'reserves 101'],
    [
      'over-reserved where only an ancestor is short',
      [opened(), starts({ output_tokens: 960 }), starts({ ancestors: [child, root] })],
      'where 30 were available',
    ],
    ['reserved in without output', [opened(), starts({ output_tokens: 0 })], 'no output tokens'],
    ['reserved in nowhere', [opened(), starts({ ancestors: [] })], 'in no scope'],
    ['reserved in without the root', [opened(), starts({ ancestors: [child] })], 'do not lead'],
    ['reserved in out of order', [opened(), starts({ ancestors: [root, child] })], 'do not lead'],
    ['described with another root limit', [opened(500), start], 'differently'],
    [
      'described with a scope that changes its limit',
      [opened(), starts({ ancestors: [child, root] }), starts({ ancestors: [{ ...child, limit: 99 }, root] })],
      'differently',
    ],
    [
      'described with a scope that changes its parent',
      [
        opened(),
        starts({ ancestors: [child, root] }),
        starts({ ancestors: [{ scope: 2, parent: 0, limit: 100 }, root] }),
        starts({ ancestors: [{ ...child, parent: 2 }, { scope: 2, parent: 0, limit: 100 }, root] }),
      ],
      'differently',
    ],
    [
      'described with a child above its parent',
      [opened(), starts({ ancestors: [{ ...child, limit: 1001 }, root] })],
      'more than its parent',
    ],
    ['settled as confirmed without a report', [opened(), start, finish('confirmed')], 'that is "unknown"'],
    [
      'settled as confirmed above the amount',
      [opened(), start, finish('confirmed', usage(10, 41))],
      'that is "exceeded"',
    ],
    ['settled as unknown with a report', [opened(), start, finish('unknown', usage(1, 1))], 'that is "confirmed"'],
    [
      'settled as exceeded within the amount',
      [opened(), start, finish('exceeded', usage(1, 1))],
      'that is "confirmed"',
    ],
    ['settled as exceeded without a report', [opened(), start, finish('exceeded')], 'that is "unknown"'],
    ['balanced with another usage', [opened(), balance({ usage: usage(1, 1) })], 'differs from the entries'],
    ['balanced with other prompt tokens', [opened(), balance({ usage: usage(1, 0, 0) })], 'differs from the entries'],
    ['balanced with other answer tokens', [opened(), balance({ usage: usage(0, 1, 0) })], 'differs from the entries'],
    ['balanced with another sum', [opened(), balance({ usage: usage(0, 0, 1) })], 'differs from the entries'],
    ['balanced with another limit', [opened(), balance({ limit: 999 })], 'differs from the entries'],
    ['balanced for another scope', [opened(), balance({ scope: 1 })], 'differs from the entries'],
    ['balanced under another root', [opened(), balance({ root_id: other })], 'belongs to the budget'],
    ['balanced without being opened', [balance({})], 'never opened'],
    ['balanced under a root that was not linked', [linked, balance({ scope: 1, root_id: other })], 'another scope'],
    [
      'described with a second scope that has no parent',
      [opened(), starts({ ancestors: [{ scope: 5, parent: null, limit: 10 }] })],
      'describes scope 5 differently',
    ],
    ['balanced for a scope that was not linked', [linked, balance({ scope: 2 })], 'another scope'],
  ])('that was %s', (_, events, text) => {
    expect(() => recoveryReport(run(...events))).toThrow(refusal(text))
  })

  test.each([
    ['confirmed', NO_USAGE, 'unknown'],
    ['unknown', usage(1, 1), 'confirmed'],
    ['exceeded', NO_USAGE, 'unknown'],
    ['confirmed', usage(10, 41), 'exceeded'],
  ] as const)('that was closed, and then settled as %s with %j, which is %s', (outcome, used, proper) => {
    const closing = reservation()
    const history = [opened(), start, closing.start, closing.finish('exceeded', usage(5000, 1)), finish(outcome, used)]
    expect(() => recoveryReport(run(...history))).toThrow(refusal(`calls a usage "${outcome}" that is "${proper}"`))
  })

  test.each<readonly [string, readonly Event[], string]>([
    ['reserved in twice under one id', [start, start], 'a second time'],
    ['settled without a reservation', [finish('unknown')], 'never started'],
    ['settled twice', [start, finish('unknown'), finish('unknown')], 'a second time'],
  ])('that was %s, also where nobody looked at the effects before', (_, events, text) => {
    expect(() => recoveredBudget(run(opened(), ...events).entries)).toThrow(refusal(text))
  })

  test('that names more than 4096 scopes', () => {
    const limit = 0xffffffff
    const top = { scope: 0, parent: null, limit }
    const inScopes = (count: number): Event[] =>
      Array.from({ length: count - 1 }, (_, below) =>
        starts({ ancestors: [{ scope: below + 1, parent: 0, limit }, top], output_tokens: 1 }),
      )
    expect(recoveryReport(run(opened(limit), ...inScopes(4096))).recovered_budget?.scopes).toHaveLength(4096)
    expect(() => recoveryReport(run(opened(limit), ...inScopes(4097)))).toThrow(refusal('more than 4096 scopes'))
  })
})
