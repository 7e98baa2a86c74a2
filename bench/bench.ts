/** What a measurement is, and what it gets. Each file of `bench/` that measures something exports one or some. */
import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import type { Result } from './result.ts'

export interface Bench {
  /** `--only` takes it. */
  readonly name: string
  readonly measure: (context: Context) => Promise<readonly Result[]>
}

export interface Context {
  readonly rounds: number
  /** Smaller amounts, for a look and for the smoke test; its figures mean little. */
  readonly quick: boolean
  /** A folder of this run, on the disk that is measured. It is removed afterwards. */
  readonly place: string
  /** Progress and explanations, to stderr. */
  readonly say: (text: string) => void
}

/** More rounds than others take, for what differs much from one to the next. A quick look stays quick. */
export function withRounds(context: Context, rounds: number): Context {
  return { ...context, rounds: context.quick ? context.rounds : rounds }
}

export function freshFolder({ place }: Context, name: string): string {
  return mkdtempSync(join(place, `${name}-`))
}
