import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { listingOf } from '../../scripts/mutants/listing.mjs'
import { PARTS } from '../../scripts/mutants.mjs'
import { ROOT } from '../../scripts/steps.mjs'

const SOURCE = 'const a = 1\nif (a > 1) {\n  throw new Error()\n}\n'
const mutant = (
  status: string,
  start: readonly [number, number],
  end: readonly [number, number],
  replacement = '',
) => ({
  status,
  mutatorName: 'OneMore',
  replacement,
  location: { start: { line: start[0], column: start[1] }, end: { line: end[0], column: end[1] } },
})

test('the listing counts each file, calls noticed what failed in any way, and quotes what no test noticed', () => {
  const mutants = [
    mutant('Killed', [1, 11], [1, 12], '2'),
    mutant('Timeout', [1, 11], [1, 12], '2'),
    mutant('RuntimeError', [1, 11], [1, 12], '2'),
    mutant('Survived', [2, 5], [2, 10], 'true'),
    mutant('NoCoverage', [2, 12], [4, 2], '{}'),
  ]
  expect(listingOf({ files: { 'src/a.ts': { source: SOURCE, mutants } } }).split('\n')).toEqual([
    '| file | mutants | killed | timed out | error outside a test | survived | not reached | score |',
    '| --- | --- | --- | --- | --- | --- | --- | --- |',
    '| src/a.ts | 5 | 1 | 1 | 1 | 1 | 1 | 60.0 % |',
    '| all | 5 | 1 | 1 | 1 | 1 | 1 | 60.0 % |',
    '',
    'src/a.ts:2:5 Survived OneMore: a > 1 -> true',
    'src/a.ts:2:12 NoCoverage OneMore: { throw new Error() } -> {}',
    '',
  ])
})

test('every file of the journal is judged by some tests, and every file and test that is named is there', () => {
  const parts = PARTS.journal ?? []
  const inFolder = readdirSync(join(ROOT, 'src', 'journal')).map((name) => name.replace('.ts', ''))
  expect(parts.flatMap(({ files }) => files).toSorted()).toEqual(inFolder.filter((name) => name !== 'index').toSorted())
  expect(parts.flatMap(({ tests }) => tests).filter((name) => !existsSync(join(ROOT, `${name}.test.ts`)))).toEqual([])
})
