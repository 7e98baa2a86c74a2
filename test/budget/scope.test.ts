import { expect, test } from 'vitest'
import { openBudget, SCOPES_MAX } from '../../src/budget/index.ts'
import { Fault } from '../../src/core/index.ts'
import { Recorder } from '../../src/events/index.ts'
import { attached, never, now, PRINCIPAL, REFERENCE, random, request, usage } from '../support/budget.ts'
import { MemoryLog } from '../support/memory-log.ts'

const refused = expect.objectContaining({ code: 'BUDGET_REFUSED' })
const closed = expect.objectContaining({ code: 'BUDGET_CLOSED' })

test('an allowance of 0 allows nothing [trap:budget-zero]', () => {
  const { root } = attached(0)
  expect(root.snapshot()).toMatchObject({ limit: 0, available_tokens: 0, exceeded: false })
  expect(() => root.reserve(request({ inputTokens: 0, outputTokensMax: 1 }))).toThrow(refused)
})

test('a remaining allowance of 0 is 0 and never unlimited', async () => {
  const { root } = attached(50)
  const reservation = root.reserve(request())
  await reservation.begin(never)
  reservation.settle(usage(10, 40))
  expect(root.snapshot().available_tokens).toBe(0)
  expect(() => root.reserve(request({ inputTokens: 0, outputTokensMax: 1 }))).toThrow(refused)
})

test('reserve() cuts the output to what is available after the input', () => {
  const { root } = attached(100)
  expect(root.reserve(request({ inputTokens: 60, outputTokensMax: 1000 })).outputTokens).toBe(40)
  expect(root.snapshot()).toMatchObject({ reserved_tokens: 100, available_tokens: 0 })
})

test('reserve() refuses when not one output token is left, and holds nothing then', () => {
  const { root } = attached(100)
  for (const inputTokens of [100, 101, 0xffffffff])
    expect(() => root.reserve(request({ inputTokens }))).toThrow(refused)
  expect(() => root.reserve(request({ outputTokensMax: 0 }))).toThrow(refused)
  expect(root.snapshot()).toMatchObject({ reserved_tokens: 0, available_tokens: 100 })
})

test('a refusal says that unreported usage took the tokens, and what to set [trap:provider-usage-unknown]', async () => {
  const { root } = attached(60)
  const reservation = root.reserve(request())
  await reservation.begin(never)
  expect(reservation.settle(usage(0, 0))).toBe('unknown')
  expect(() => root.reserve(request())).toThrow(
    expect.objectContaining({
      message: expect.stringContaining('50 are charged because their use was never reported'),
      hint: expect.stringContaining('report usage'),
    }),
  )
})

test('a request that is not counted in whole tokens is refused, and holds nothing', () => {
  const { root } = attached(100)
  for (const bad of [Number.NaN, -1, 1.5, Number.POSITIVE_INFINITY]) {
    expect(() => root.reserve(request({ inputTokens: bad }))).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID' }),
    )
    expect(() => root.reserve(request({ outputTokensMax: bad }))).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID' }),
    )
  }
  expect(root.snapshot().reserved_tokens).toBe(0)
})

test('the availability of a scope is the smallest one on the way to the root', () => {
  const { root } = attached(100)
  const child = root.child(80)
  const leaf = child.child(80)
  const sibling = root.child(100)
  sibling.reserve(request({ inputTokens: 0, outputTokensMax: 70 }))
  expect(leaf.snapshot()).toMatchObject({ limit: 80, reserved_tokens: 0, available_tokens: 30 })
  leaf.reserve(request({ inputTokens: 5, outputTokensMax: 15 }))
  expect([leaf, child, root, sibling].map((scope) => scope.snapshot().reserved_tokens)).toEqual([20, 20, 90, 70])
  expect([leaf, child, root, sibling].map((scope) => scope.snapshot().available_tokens)).toEqual([10, 10, 10, 10])
})

test('usage counts in the scope and in everything above it', async () => {
  const { root } = attached(1000)
  const child = root.child(500)
  const reservation = child.reserve(request())
  await reservation.begin(never)
  expect(reservation.settle(usage(8, 12))).toBe('confirmed')
  expect(child.usage).toEqual(usage(8, 12))
  expect(root.usage).toEqual(usage(8, 12))
  expect(root.snapshot()).toMatchObject({ reserved_tokens: 0, uncertain_tokens: 0, available_tokens: 980 })
})

test('a child may have as much as its parent and no more', () => {
  const root = openBudget(100, { random })
  expect(root.child(100).limit).toBe(100)
  expect(() => root.child(101)).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }))
  expect(() => root.child(50).child(51)).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }))
})

test('a tree has at most 4096 scopes, the root counted', () => {
  const root = openBudget(100, { random })
  for (let count = 1; count < SCOPES_MAX; count += 1) root.child(100)
  expect(() => root.child(100)).toThrow(refused)
})

test('the record of a reservation names its ancestors leaf first and cannot be changed', () => {
  const { root } = attached(1000)
  const leaf = root.child(400).child(300)
  const { record } = leaf.reserve(request({ iteration: 4 }))
  expect(record).toMatchObject({ root_id: root.rootId, input_tokens: 10, output_tokens: 40, iteration: 4 })
  expect(record.ancestors).toEqual([
    { scope: 2, parent: 1, limit: 300 },
    { scope: 1, parent: 0, limit: 400 },
    { scope: 0, parent: null, limit: 1000 },
  ])
  expect(() => Object.assign(record, { output_tokens: 1_000_000 })).toThrow(TypeError)
  expect(() => Object.assign(record.ancestors[0] as object, { limit: 1 })).toThrow(TypeError)
})

test('attach() stages BudgetOpened, and the next commit of the run makes it durable', async () => {
  const { root, log, recorder } = attached(77)
  expect(log.entries).toEqual([])
  await recorder.commit()
  expect(log.events).toEqual([{ kind: 'BudgetOpened', root_id: root.rootId, limit: 77 }])
})

test('attach() is for the root, and once', () => {
  const { root, recorder } = attached(100)
  expect(() => root.attach(recorder)).toThrow(closed)
  const fresh = openBudget(100, { random })
  expect(() => fresh.child(10).attach(recorder)).toThrow(closed)
})

test('without a journal nothing is reserved and nothing is linked', () => {
  const root = openBudget(100, { random })
  expect(() => root.reserve(request())).toThrow(closed)
  expect(() => root.child(10).reserve(request())).toThrow(closed)
  expect(() => root.child(10).linked()).toThrow(closed)
})

test('attach() to a journal that is lost fails, and closes the allowance', async () => {
  const log = new MemoryLog()
  log.failAt(0)
  const recorder = new Recorder(log, PRINCIPAL, now)
  await expect(recorder.commit({ kind: 'ImprovementOutput', output: '' })).rejects.toThrow(Fault)
  const root = openBudget(100, { random })
  expect(() => root.attach(recorder)).toThrow(closed)
  expect(root.snapshot()).toMatchObject({ exceeded: true, available_tokens: 0 })
})

test('when BudgetOpened is lost, all scopes are closed', async () => {
  const { root, log, recorder } = attached(100)
  const child = root.child(50)
  log.failAt(0)
  await expect(recorder.commit()).rejects.toMatchObject({ code: 'STORAGE_FAILED' })
  expect(child.snapshot()).toMatchObject({ exceeded: true, available_tokens: 0 })
  expect(() => child.reserve(request())).toThrow(closed)
})

test('losing the journal of the root closes work in every scope', async () => {
  const { root, log, recorder } = attached(100)
  const child = root.child(50)
  await recorder.commit()
  log.failAt(1)
  await expect(recorder.commit({ kind: 'ImprovementOutput', output: '' })).rejects.toThrow(Fault)
  expect(() => child.reserve(request())).toThrow(closed)
  expect(root.snapshot().exceeded).toBe(true)
})

test('a child links its own journal to the root and the journal of the root', () => {
  const { root } = attached(100)
  const child = root.child(50)
  expect(child.linked()).toEqual({ kind: 'BudgetScopeLinked', root_id: root.rootId, scope: 1, root_audit: REFERENCE })
  expect(() => root.linked()).toThrow('links to none')
})

test('a copy of a scope has no authority', () => {
  const { root } = attached(100)
  const copy = Object.assign(Object.create(Object.getPrototypeOf(root)), JSON.parse(JSON.stringify(root)))
  expect(() => copy.reserve(request())).toThrow(TypeError)
  expect(() => copy.child(1)).toThrow(TypeError)
})
