/**
 * The simulator's front: lives by their seeds, and for a life that broke a law the shortest plan that still breaks it.
 */
import { assert } from '../../core/index.ts'
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

/** One life of the whole runtime. The same seed gives the same life, step by step. */
export async function simulate({ seed, only }: SimulateOptions): Promise<LivedLife> {
  assert(Number.isSafeInteger(seed) && seed >= 0, 'a seed is a whole number')
  return await lived(chosen(planOf(seed), only))
}

export interface ShortestLife {
  /** The numbers of the planned events that are left, for `only`. */
  readonly only: readonly number[]
  /** What they are, one line each. */
  readonly plan: readonly string[]
  readonly life: LivedLife
}

/** Leaves events out of the plan of a failing seed for as long as the same law is still broken. */
export async function shortestLife(seed: number, law: string, triesMax = 150): Promise<ShortestLife> {
  const plan = planOf(seed)
  const numbers = plan.events.map((_, index) => index)
  const breaks = async (only: readonly number[]): Promise<boolean> =>
    (await lived(chosen(plan, only))).violations.some((violation) => violation.law === law)
  const only = (await shrink(numbers, breaks, { triesMax })).items
  return {
    only,
    plan: only.map((index) => `${index}: ${JSON.stringify(plan.events[index])}`),
    life: await lived(chosen(plan, only)),
  }
}

/** Loaded when it is needed: it brings the whole runtime with its server, and most tests want none of that. */
async function lived(plan: Plan): Promise<LivedLife> {
  const { live } = await import('./life/life.ts')
  return await live(plan)
}

function chosen({ seed, events }: Plan, only: readonly number[] | undefined): Plan {
  if (only === undefined) return { seed, events }
  return { seed, events: only.flatMap((index): PlannedEvent[] => (events[index] === undefined ? [] : [events[index]])) }
}
