/** The corpus is run by every run of the tests, and with it a few fresh inputs, the same ones each time. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ROOT } from '../support/sources.ts'
import { BYTES_MAX, FILES_MAX, nameOf, readCorpus } from './corpus.ts'
import { fuzz } from './fuzzer.ts'
import { TARGETS } from './targets.ts'

const CORPUS = join(ROOT, 'test', 'fuzz', 'corpus')
const FRESH_RUNS = 60
const SEED = 1

test.each(TARGETS.map((target) => [target.name, target] as const))(
  'the property of %s holds for its corpus and for fresh inputs',
  async (_, target) => {
    const kept = readCorpus(CORPUS, target.name)
    const inputs = kept.map(({ input }) => input)
    const { findings, runs } = await fuzz(target, { seed: SEED, kept: inputs, runs: FRESH_RUNS })
    const told = findings.map(
      ({ input, error }) => `seed ${SEED}, base64 ${Buffer.from(input).toString('base64')}: ${String(error)}`,
    )
    expect(told).toEqual([])
    expect(runs).toBeGreaterThanOrEqual(kept.length + FRESH_RUNS)
  },
)

test('every target has a corpus, and nothing else has', () => {
  expect(readdirSync(CORPUS).sort()).toEqual(TARGETS.map(({ name }) => name).sort())
})

test('the files of the corpus are few, small, and named by their digest', () => {
  for (const { name: target } of TARGETS) {
    const kept = readCorpus(CORPUS, target)
    const grown = kept.filter(({ name }) => !name.startsWith('found-'))
    expect(kept.length, target).toBeGreaterThan(0)
    expect(grown.length, target).toBeLessThanOrEqual(FILES_MAX)
    expect(
      grown.reduce((sum, { input }) => sum + input.length, 0),
      target,
    ).toBeLessThanOrEqual(BYTES_MAX)
    for (const { name, input } of kept) expect(name.replace(/^found-/, ''), target).toBe(nameOf(input))
  }
})
