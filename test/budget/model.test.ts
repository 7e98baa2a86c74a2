/**
 * Random runs of the budget, judged by a model that knows nothing but a list: what was held, by whom, and what became of
 * it. After every step each scope must show the sums of that list, and the journal must tell recovery the same story.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { BudgetScope, Reservation } from '../../src/budget/index.ts'
import { isFault } from '../../src/core/index.ts'
import { NO_USAGE, type Usage } from '../../src/events/index.ts'
import { recoveredBudget } from '../../src/journal/recovered-budget.ts'
import { attached, numbered, request, settled, usage } from '../support/budget.ts'

interface Item {
  readonly reservation: Reservation
  readonly scopes: readonly number[]
  readonly amount: number
  readonly abort: AbortController
  state: 'held' | 'starting' | 'asked' | 'uncertain' | 'used' | 'refunded'
  usage: Usage
}

type Step =
  | { readonly do: 'child'; readonly of: number; readonly share: number }
  | { readonly do: 'reserve'; readonly in: number; readonly input: number; readonly output: number }
  | { readonly do: 'begin' | 'release' | 'abort'; readonly item: number }
  | { readonly do: 'settle'; readonly item: number; readonly report: 'none' | 'some' | 'all' | 'over' }
  | { readonly do: 'wait' }

const index = fc.nat({ max: 1000 })
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('child' as const), of: index, share: fc.integer({ max: 100, min: 0 }) }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('reserve' as const),
      in: index,
      input: fc.nat({ max: 120 }),
      output: fc.nat({ max: 200 }),
    }),
  },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('begin' as const), item: index }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('release' as const, 'abort' as const), item: index }) },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('settle' as const),
      item: index,
      report: fc.oneof(
        { weight: 2, arbitrary: fc.constant('none' as const) },
        { weight: 12, arbitrary: fc.constantFrom('some' as const, 'all' as const) },
        { weight: 1, arbitrary: fc.constant('over' as const) },
      ),
    }),
  },
  { weight: 4, arbitrary: fc.constant({ do: 'wait' as const }) },
)

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0)

class Judge {
  readonly scopes: { readonly real: BudgetScope; readonly path: readonly number[] }[]
  readonly items: Item[] = []
  closed = false

  constructor(root: BudgetScope) {
    this.scopes = [{ real: root, path: [0] }]
  }

  charged(scope: number): number {
    const inside = this.items.filter(({ scopes }) => scopes.includes(scope))
    return sum(
      inside.map((item) =>
        item.state === 'refunded' ? 0 : item.state === 'used' ? item.usage.total_tokens : item.amount,
      ),
    )
  }

  available(scope: number): number {
    if (this.closed) return 0
    const path = this.scopes[scope]?.path ?? []
    return Math.min(...path.map((at) => Math.max(0, (this.scopes[at]?.real.limit ?? 0) - this.charged(at))))
  }

  check(): void {
    for (const [scope, { real }] of this.scopes.entries()) {
      const inside = this.items.filter(({ scopes }) => scopes.includes(scope))
      const amounts = (...states: Item['state'][]): number =>
        sum(inside.filter(({ state }) => states.includes(state)).map(({ amount }) => amount))
      const used = inside.filter(({ state }) => state === 'used')
      expect(real.snapshot()).toEqual({
        root_id: real.rootId,
        scope,
        limit: real.limit,
        usage: usage(
          sum(used.map((item) => item.usage.prompt_tokens)),
          sum(used.map((item) => item.usage.completion_tokens)),
          sum(used.map((item) => item.usage.total_tokens)),
        ),
        reserved_tokens: amounts('held', 'starting', 'asked'),
        uncertain_tokens: amounts('uncertain'),
        available_tokens: this.available(scope),
        exceeded: this.closed,
      })
      if (!this.closed) expect(this.charged(scope)).toBeLessThanOrEqual(real.limit)
    }
  }
}

test('random siblings never over-reserve an ancestor and never mint a token, and the journal tells the same [B1]', async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat({ max: 2000 }), fc.array(step, { maxLength: 60 }), async (limit, steps) => {
      const { root, log, recorder } = attached(limit)
      const judge = new Judge(root)
      for (const each of steps) {
        await take(each, judge)
        judge.check()
      }
      await take({ do: 'wait' }, judge)
      for (let item = 0; item < judge.items.length; item += 1) await take({ do: 'release', item }, judge)
      judge.check()
      await recorder.commit({ kind: 'BudgetUpdated', budget: root.snapshot() })

      const recovered = recoveredBudget(numbered(log.entries))
      for (const snapshot of recovered?.scopes ?? []) {
        expect(snapshot).toEqual(judge.scopes[snapshot.scope]?.real.snapshot())
      }
      expect(recovered?.scopes[0]).toEqual(root.snapshot())
    }),
    { numRuns: 300 },
  )
})

async function take(each: Step, judge: Judge): Promise<void> {
  switch (each.do) {
    case 'child': {
      const parent = judge.scopes[each.of % judge.scopes.length]
      if (parent === undefined) return
      const real = parent.real.child(Math.floor((parent.real.limit * each.share) / 100))
      judge.scopes.push({ real, path: [...parent.path, real.scope] })
      return
    }
    case 'reserve':
      return reserve(judge, each.in % judge.scopes.length, each.input, each.output)
    case 'wait':
      await settled()
      for (const item of judge.items.filter(({ state }) => state === 'starting')) {
        item.state = judge.closed ? 'uncertain' : 'asked' // what closed meanwhile may not ask, and is settled as unknown
      }
      return
    default: {
      const item = judge.items[each.item % Math.max(1, judge.items.length)]
      if (item !== undefined) change(judge, item, each)
    }
  }
}

function reserve(judge: Judge, scope: number, input: number, output: number): void {
  const place = judge.scopes[scope]
  if (place === undefined) return
  const granted = Math.min(judge.available(scope) - input, output)
  const ask = (): Reservation => place.real.reserve(request({ inputTokens: input, outputTokensMax: output }))
  if (granted <= 0) {
    const code = judge.closed ? 'BUDGET_CLOSED' : 'BUDGET_REFUSED'
    expect(ask).toThrow(expect.objectContaining({ code }))
    return
  }
  const reservation = ask()
  expect(reservation.outputTokens).toBe(granted)
  const abort = new AbortController()
  judge.items.push({ reservation, scopes: place.path, amount: input + granted, abort, state: 'held', usage: NO_USAGE })
}

function change(judge: Judge, item: Item, each: Step): void {
  const { reservation, abort } = item
  if (each.do === 'begin' && item.state === 'held') {
    void reservation.begin(abort.signal).catch(() => undefined)
    if (!judge.closed && !abort.signal.aborted) item.state = 'starting'
  }
  if (each.do === 'release') {
    reservation.release()
    if (item.state === 'held') item.state = 'refunded'
    if (item.state === 'starting' || item.state === 'asked') item.state = 'uncertain'
  }
  if (each.do === 'abort') {
    abort.abort()
    if (item.state === 'starting' || item.state === 'asked') item.state = 'uncertain'
  }
  if (each.do === 'settle' && item.state === 'asked') settle(judge, item, each.report)
}

function settle(judge: Judge, item: Item, report: 'none' | 'some' | 'all' | 'over'): void {
  const { input_tokens, output_tokens } = item.reservation.record
  const reported = {
    none: NO_USAGE,
    some: usage(Math.floor(input_tokens / 2), Math.ceil(output_tokens / 2)),
    all: usage(input_tokens, output_tokens),
    over: usage(input_tokens, output_tokens + 1),
  }[report]
  const refused = judge.closed || report === 'over'
  try {
    const outcome = item.reservation.settle(reported)
    expect(refused).toBe(false)
    expect(outcome).toBe(report === 'none' ? 'unknown' : 'confirmed')
  } catch (error) {
    if (!refused || !isFault(error, 'BUDGET_CLOSED')) throw error
  }
  item.state = report === 'none' ? 'uncertain' : 'used'
  item.usage = reported
  if (report === 'over') judge.closed = true
}
