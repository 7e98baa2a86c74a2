/** Lives of the whole runtime: the seeds that everybody runs. `npm run sim` runs more, and shows one step by step. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { simulate } from '../../src/testing/index.ts'
import { ROOT } from '../support/sources.ts'

const SEEDS = 500
/** What a life may meet, and is counted. */
const MET = [
  'breaks',
  'foreign effects',
  'holes',
  'policies',
  'refused changes',
  'requests',
  'stdio kills',
  'stdio processes',
]

interface Sum {
  readonly lives: number
  readonly boots: number
  readonly effects: number
  readonly steps: number
  readonly met: Readonly<Record<string, number>>
  readonly broken: readonly { readonly seed: number; readonly law: string; readonly what: string }[]
}

function lives(from: number, seeds: number): Sum {
  const args = ['--slice', '--from', String(from), '--seeds', String(seeds), '--dist', join(ROOT, 'dist')]
  const done = spawnSync(process.execPath, [join(ROOT, 'scripts', 'sim.mjs'), ...args], { encoding: 'utf8' })
  expect(done.stderr).toBe('')
  return JSON.parse(done.stdout) as Sum
}

test(`no law is broken in the lives of seeds 1 to ${SEEDS}`, { timeout: 180_000 }, () => {
  const { broken, ...sum } = lives(1, SEEDS)
  const again = broken.map((row) => ({ ...row, again: `npm run sim -- --seed ${row.seed}` }))
  expect(again).toEqual([])
  expect(sum.lives).toBe(SEEDS)
  // a life in which nothing happens breaks no law either
  expect(sum.boots).toBeGreaterThan(2 * SEEDS)
  expect(sum.effects).toBeGreaterThan(SEEDS)
  expect(Object.keys(sum.met).sort()).toEqual(MET)
  for (const [what, times] of Object.entries(sum.met)) expect(times, what).toBeGreaterThan(20)
})

/**
 * What they found is told in docs/reliability.md. Faults of the runtime: with one of them put back, these seeds object still (the first
 * of each is a row of `deliberate-faults.ts`). Faults of a law: it objected to something honest.
 */
const FOUND_IN_THE_RUNTIME = [1_606, 20_246, 61_037, 61_801, 67_286]
const FOUND_IN_A_LAW = [3_146, 20_476, 76_216, 96_534]

test('the lives that once found a fault, of the runtime or of a law, keep the laws', { timeout: 180_000 }, async () => {
  for (const seed of [...FOUND_IN_THE_RUNTIME, ...FOUND_IN_A_LAW])
    expect((await simulate({ seed })).violations, `npm run sim -- --seed ${seed}`).toEqual([])
})

/** In the life of the second one a client starts processes of its own. */
test.each([18, 394])('seed %i gives the same life in every process, step by step', { timeout: 60_000 }, (seed) => {
  const trace = (): string => {
    const args = ['--seed', String(seed), '--trace', '--dist', join(ROOT, 'dist')]
    return spawnSync(process.execPath, [join(ROOT, 'scripts', 'sim.mjs'), ...args], { encoding: 'utf8' }).stdout
  }
  const first = trace()
  expect(first.split('\n').length).toBeGreaterThan(20)
  expect(trace()).toBe(first)
})
