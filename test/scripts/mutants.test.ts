import { expect, test } from 'vitest'
import { listingOf } from '../../scripts/mutants/listing.mjs'

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
