import { join } from 'node:path'
import { expect, test } from 'vitest'
import { sum } from '../../scripts/coverage.mjs'
import { ROOT } from '../../scripts/steps.mjs'

const counts = (total: number, covered: number) => ({
  lines: { total, covered },
  branches: { total: 2 * total, covered },
  functions: { total: 1, covered: 1 },
})
const at = (...path: readonly string[]) => join(ROOT, 'src', ...path)

test('a folder counts all files below it, by what they hold and not by their percentages', () => {
  const files = {
    [at('policy', 'gate.ts')]: counts(90, 90),
    [at('policy', 'cedar', 'judge.ts')]: counts(10, 0),
    [at('policyless', 'gate.ts')]: counts(1000, 0),
    [at('loop', 'act.ts')]: counts(1000, 0),
  }
  expect(sum(files, 'policy')).toEqual({
    lines: { total: 100, covered: 90 },
    branches: { total: 200, covered: 90 },
    functions: { total: 2, covered: 2 },
  })
})

test('a folder of which nothing was measured is no folder that is covered', () => {
  expect(() => sum({ [at('loop', 'act.ts')]: counts(1, 1) }, 'policy')).toThrow('nothing was measured')
})
