/**
 * Random runs of the budget, judged by a model that knows nothing but a list: what was held, by whom, and what became of
 * it. After every step each scope must show the sums of that list, and the journal must tell recovery the same story.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { BudgetScope, Reservation } from '../../src/budget/index.ts'
import { isFault } from '../../src/core/index.ts'
import { addUsage, NO_USAGE, type Usage } from '../../src/events/index.ts'
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
    arbitrary: fc.record({ do: fc.constant('child' as const), of: index, share: fc.constantFrom(0, 30, 70, 90, 100) }),
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
        { weight: 20, arbitrary: fc.constantFrom('some' as const, 'all' as const) },
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

  /** Compared as text: this runs after every step, and deep equality would be most of the test's time. */
  check(): void {
    const shown = this.scopes.map(({ real }) => real.snapshot())
    expect(JSON.stringify(shown)).toBe(JSON.stringify(shown.map(({ root_id, scope }) => this.expected(root_id, scope))))
    if (this.closed) return
    const over = this.scopes.filter(({ real }) => this.charged(real.scope) > real.limit)
    expect(over).toEqual([])
  }

  expected(root_id: string, scope: number): object {
    const inside = this.items.filter(({ scopes }) => scopes.includes(scope))
    const amounts = (...states: Item['state'][]): number =>
      sum(inside.filter(({ state }) => states.includes(state)).map(({ amount }) => amount))
    const used = inside.filter(({ state }) => state === 'used')
    return {
      root_id,
      scope,
      limit: this.scopes[scope]?.real.limit,
      usage: used.map((item) => item.usage).reduce(addUsage, NO_USAGE),
      reserved_tokens: amounts('held', 'starting', 'asked'),
      uncertain_tokens: amounts('uncertain'),
      available_tokens: this.available(scope),
      exceeded: this.closed,
    }
  }
}

test('random siblings never over-reserve an ancestor and never mint a token, and the journal tells the same [B1]', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 0, max: 3000 }),
      fc.array(step, { minLength: 40, maxLength: 120, size: 'max' }),
      async (limit, steps) => {
        const { root, log, recorder } = attached(limit)
        const judge = new Judge(root)
        for (const each of steps) {
          if (each.do === 'wait') await wait(judge)
          else take(each, judge) // in one go: writes move on only while we wait
          judge.check()
        }
        await wait(judge)
        for (let item = 0; item < judge.items.length; item += 1) take({ do: 'release', item }, judge)
        judge.check()
        await recorder.commit({ kind: 'BudgetUpdated', budget: root.snapshot() })

        const recovered = recoveredBudget(numbered(log.entries))
        for (const snapshot of recovered?.scopes ?? []) {
          expect(snapshot).toEqual(judge.scopes[snapshot.scope]?.real.snapshot())
        }
        expect(recovered?.scopes[0]).toEqual(root.snapshot())
      },
    ),
    { numRuns: 150, unbiased: true }, // small numbers alone would reserve next to nothing,
  )
})

async function wait(judge: Judge): Promise<void> {
  await settled()
  for (const item of judge.items.filter(({ state }) => state === 'starting')) {
    item.state = judge.closed ? 'uncertain' : 'asked' // what closed meanwhile may not ask, and is settled as unknown
  }
}

function take(each: Exclude<Step, { do: 'wait' }>, judge: Judge): void {
  switch (each.do) {
    case 'child': {
      const parent = judge.scopes[each.of % judge.scopes.length]
      if (parent === undefined) return
      const real = parent.real.child(Math.floor((parent.real.limit * each.share) / 100))
      judge.scopes.push({ real, path: [...parent.path, real.scope] })
      return
    }
    case 'reserve':
      reserve(judge, each.in % judge.scopes.length, each.input, each.output)
      return
    default: {
      const fitting = judge.items.filter(({ state }) => ELIGIBLE[each.do].includes(state))
      const item = fitting[each.item % Math.max(1, fitting.length)]
      if (item !== undefined) change(judge, item, each)
    }
  }
}

/** Which reservations a step picks from, so that most steps do something. Release and abort are tried on all. */
const ELIGIBLE: Record<'begin' | 'settle' | 'release' | 'abort', readonly Item['state'][]> = {
  begin: ['held'],
  settle: ['asked'],
  release: ['held', 'starting', 'asked', 'uncertain', 'used', 'refunded'],
  abort: ['held', 'starting', 'asked', 'uncertain', 'used', 'refunded'],
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
  if (each.do === 'begin') {
    void reservation.begin(abort.signal).catch(() => undefined)
    item.state = judge.closed || abort.signal.aborted ? 'refunded' : 'starting' // what cannot begin holds nothing
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
  if (each.do === 'settle') settle(judge, item, each.report)
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
