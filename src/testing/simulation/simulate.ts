/**
 * The simulator's front: lives by their seeds, and for a life that broke a law the shortest plan that still breaks it.
 */
import { Fault } from '../../core/index.ts'
import type { LawName } from './laws/law.ts'
import type { LivedLife } from './life/life.ts'
import { type Plan, type PlannedEvent, planOf } from './life/plan.ts'
import { shrink } from './shrink.ts'

export type { Violation } from './laws/law.ts'
export type { LivedLife } from './life/life.ts'

export interface SimulateOptions {
  readonly seed: number
  /** Only the planned events with these numbers, as a shorter trace names them. Default: all. */
  readonly only?: readonly number[]
}

/**
 * One life of the whole runtime. The same seed gives the same life, step by step. Throws `CONFIG_INVALID` for a seed that is no
 * whole number from 0 on, and for planned events that its plan does not have.
 */
export async function simulate({ seed, only }: SimulateOptions): Promise<LivedLife> {
  return await lived(chosen(planFor(seed), only))
}

export interface ShortestLife {
  /** The numbers of the planned events that are left, for `only`. */
  readonly only: readonly number[]
  /** What they are, one line each. */
  readonly plan: readonly string[]
  /** No single event of it can be left out; false where the tries ran out before that was known. */
  readonly minimal: boolean
  readonly life: LivedLife
}

/**
 * Leaves events out of the plan of a failing seed for as long as the same law is still broken. Null when the whole plan does not
 * break it. Throws as `simulate`.
 */
export async function shortestLife(seed: number, law: LawName, triesMax = 150): Promise<ShortestLife | null> {
  const plan = planFor(seed)
  const numbers = plan.events.map((_, index) => index)
  const breaks = async (only: readonly number[]): Promise<boolean> =>
    (await lived(chosen(plan, only))).violations.some((violation) => violation.law === law)
  if (!(await breaks(numbers))) return null
  const { items: only, minimal } = await shrink(numbers, breaks, { triesMax })
  return {
    only,
    plan: only.map((index) => `${index}: ${JSON.stringify(plan.events[index])}`),
    minimal,
    life: await lived(chosen(plan, only)),
  }
}

/** Loaded when it is needed: it brings the whole runtime with its server, and most tests want none of that. */
async function lived(plan: Plan): Promise<LivedLife> {
  const { live } = await import('./life/life.ts')
  return await live(plan)
}

function planFor(seed: number): Plan {
  if (Number.isSafeInteger(seed) && seed >= 0) return planOf(seed)
  throw new Fault('CONFIG_INVALID', {
    message: `Cannot simulate the seed ${seed}`,
    hint: 'A seed is a whole number from 0 on',
  })
}

function chosen({ seed, events }: Plan, only: readonly number[] | undefined): Plan {
  if (only === undefined) return { seed, events }
  const kept = only.map((index): PlannedEvent => {
    const event = events[index]
    if (event !== undefined) return event
    throw new Fault('CONFIG_INVALID', {
      message: `Cannot simulate the event ${index} of seed ${seed}: its plan has the events 0 to ${events.length - 1}`,
      hint: 'Live the whole seed: plans change when the simulator does',
    })
  })
  return { seed, events: kept }
}
