/** The queue against a naive model: whatever is asked, decided, presented, left and waited for, in any order. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { defaultContract, preparedCall, type RunContext, runKeyOf } from '../../../src/calls/index.ts'
import { canonical, isFault } from '../../../src/core/index.ts'
import {
  type ApprovalAnswer,
  type ApprovalQueue,
  escalationGate,
  type GateQuestion,
  heldGate,
  permissiveGate,
  ApprovalQueue as Queue,
} from '../../../src/policy/index.ts'
import { type TestWorld, testWorld } from '../../../src/testing/index.ts'
import { scratch } from '../../support/scratch.ts'
import { watchedWorld } from '../../support/watched-world.ts'
import { run } from '../support.ts'
import { OPERATOR } from './support.ts'

const LIFETIME_MS = 100
const place = scratch()
const never = new AbortController().signal
const open = permissiveGate(() => undefined)

type Step =
  | { readonly do: 'ask' | 'wait'; readonly session: number; readonly amount: number }
  | { readonly do: 'resolve'; readonly nth: number; readonly approve: boolean }
  | { readonly do: 'present'; readonly nth: number; readonly session: number; readonly amount: number }
  | { readonly do: 'leave'; readonly nth: number }
  | { readonly do: 'withdraw'; readonly session: number }
  | { readonly do: 'pass'; readonly ms: number }

const two = fc.integer({ min: 0, max: 1 })
const nth = fc.nat({ max: 7 })
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constantFrom('ask' as const, 'wait' as const), session: two, amount: two }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('resolve' as const), nth, approve: fc.boolean() }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('present' as const), nth, session: two, amount: two }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('leave' as const), nth }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('withdraw' as const), session: two }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('pass' as const), ms: fc.integer({ min: 1, max: 60 }) }) },
)

interface Modelled {
  readonly id: string
  readonly waits: boolean
  readonly session: number
  readonly amount: number
  readonly endMs: number
  state: 'pending' | 'approved' | 'denied' | 'expired' | 'withdrawn' | 'spent'
  readonly leave: AbortController
  readonly answer: Promise<ApprovalAnswer> | null
}

test('agrees with a naive model, whatever is done in whatever order', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
      const world: TestWorld = { ...testWorld(), files: watchedWorld(() => undefined, { syncs: false }).files }
      const queue = await Queue.open(world, place.path('approvals'))
      const bench = new Bench(world, queue)
      for (const one of steps) {
        await bench.take(one)
        bench.compare()
      }
      await bench.finish()
    }),
    { numRuns: 100 },
  )
}, 60_000)

class Bench {
  readonly #world: TestWorld
  readonly #queue: ApprovalQueue
  readonly #all: Modelled[] = []

  constructor(world: TestWorld, queue: ApprovalQueue) {
    this.#world = world
    this.#queue = queue
  }

  async take(one: Step): Promise<void> {
    switch (one.do) {
      case 'ask':
        return await this.#ask(one.session, one.amount)
      case 'wait':
        return await this.#wait(one.session, one.amount)
      case 'resolve':
        return await this.#resolve(this.#all[one.nth], one.approve)
      case 'present':
        return await this.#present(this.#all[one.nth], one.session, one.amount)
      case 'leave': {
        const left = this.#all[one.nth]
        left?.leave.abort(new Error('gone'))
        if (left?.waits === true && left.state === 'pending') left.state = 'withdrawn'
        return
      }
      case 'withdraw':
        await this.#queue.withdraw(runKeyOf(runOf(one.session)))
        for (const each of this.#all) if (each.session === one.session && isLive(each)) each.state = 'withdrawn'
        return
      case 'pass':
        await this.#world.advance(one.ms)
        for (const each of this.#all) {
          if (isLive(each) && this.#world.clock.monotonicMs() >= each.endMs) each.state = 'expired'
        }
    }
  }

  compare(): void {
    const pending = this.#all.filter(({ state }) => state === 'pending').map(({ id }) => id)
    expect(this.#queue.list().map(({ id }) => id)).toEqual(pending)
    for (const { id, state } of this.#all) {
      const status = state === 'spent' ? 'approved' : state
      expect(this.#queue.find(id)?.status ?? 'withdrawn').toBe(status)
    }
  }

  async finish(): Promise<void> {
    await this.#queue[Symbol.asyncDispose]()
    for (const { answer, state } of this.#all) {
      if (answer !== null) expect((await answer).kind).toBe(state === 'approved' ? 'Approved' : 'Refused')
    }
  }

  async #ask(session: number, amount: number): Promise<void> {
    const gate = heldGate(open, this.#queue, { lifetimeMs: LIFETIME_MS })
    const answer = await gate.approve(question(session, amount), never)
    const same = this.#all.find(
      (each) => !each.waits && isLive(each) && each.session === session && each.amount === amount,
    )
    expect(answer.kind).toBe('Pending')
    if (answer.kind !== 'Pending') return
    if (same !== undefined) expect(answer.approval_id).toBe(same.id)
    else this.#add(answer.approval_id, { waits: false, session, amount, leave: new AbortController(), answer: null })
  }

  async #wait(session: number, amount: number): Promise<void> {
    const leave = new AbortController()
    const id = new Promise<string>((resolve) => {
      const stop = this.#queue.subscribe(({ kind, action }) => {
        if (kind === 'held') resolve(action.id)
        stop()
      })
    })
    const gate = escalationGate(open, this.#queue, { timeoutMs: LIFETIME_MS })
    const answer = gate.approve(question(session, amount), leave.signal)
    this.#add(await id, { waits: true, session, amount, leave, answer })
  }

  #add(id: string, parts: Omit<Modelled, 'id' | 'endMs' | 'state'>): void {
    this.#all.push({ id, ...parts, endMs: this.#world.clock.monotonicMs() + LIFETIME_MS, state: 'pending' })
  }

  async #resolve(action: Modelled | undefined, approve: boolean): Promise<void> {
    const id = action?.id ?? 'ffffffffffffffff'
    const found = await this.#queue
      .resolve(id, { decision: approve ? 'approve' : 'deny' }, OPERATOR)
      .then(() => 'resolved')
      .catch((error: unknown) => (isFault(error) ? error.code : String(error)))
    const state = action?.state ?? 'withdrawn'
    const expected = { pending: 'resolved', withdrawn: 'APPROVAL_NOT_FOUND', expired: 'APPROVAL_EXPIRED' } as const
    expect(found).toBe(expected[state as keyof typeof expected] ?? 'APPROVAL_RESOLVED')
    if (action?.state === 'pending') action.state = approve ? 'approved' : 'denied'
  }

  async #present(action: Modelled | undefined, session: number, amount: number): Promise<void> {
    const presented = action?.id ?? 'ffffffffffffffff'
    const gate = heldGate(open, this.#queue)
    const answer = await gate.approve({ ...question(session, amount), presented }, never)
    const fits = action !== undefined && action.session === session && action.amount === amount
    const spends = fits && !action.waits && action.state === 'approved'
    expect(answer.kind).toBe(spends ? 'Approved' : fits && action.state === 'pending' ? 'Pending' : 'Refused')
    if (spends) action.state = 'spent'
  }
}

function isLive({ state, waits }: Modelled): boolean {
  return state === 'pending' || (state === 'approved' && !waits)
}

const runs = [run(), run({ trusted_context: { session: 1 }, started_at: '2026-01-02T00:00:00Z' as never })]
function runOf(session: number): RunContext {
  return runs[session] as RunContext
}

let calls = 0
function question(session: number, amount: number): GateQuestion {
  const args = { amount }
  const contract = { ...defaultContract({ name: 'pay', description: '', parameters: {} }), requires_approval: true }
  const action = { ToolCall: { call_id: `c${calls++}`, name: 'pay', arguments: canonical(args) } }
  const call = preparedCall({ action, arguments: args, contract })
  return { call, run: runOf(session), approval: null, presented: null, remainingMs: 1_000_000 }
}
