import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { listingOf } from '../../scripts/mutants/listing.mjs'
import { answerOf, askedIn, PARTS } from '../../scripts/mutants.mjs'
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

test('one line is a range of one line, and a file is judged by the tests of its part', () => {
  const { folder, parts } = askedIn([
    '--folder',
    'journal',
    '--file',
    'verify:80',
    '--file',
    'record',
    '--file',
    'verify:1-3',
  ])
  expect(folder).toBe('journal')
  expect(parts.map(({ name, files }) => [name, files])).toEqual([
    ['record', ['record']],
    ['verify', ['verify:80-80', 'verify:1-3']],
  ])
})

test.each([
  [['--folder', 'journal', '--file', 'verify:zz'], '"zz" names no lines of src/journal/verify.ts'],
  [['--folder', 'journal', '--file', 'verify:'], '"" names no lines'],
  [['--folder', 'journal', '--file', 'verify:9-8'], '"9-8" names no lines'],
  [['--folder', 'journal', '--file', 'verify:99999'], '"99999" names no lines'],
  [['--folder', 'journal', '--file', 'index'], 'Cannot change "index": no tests are named that judge it'],
  [['--folder', 'journal', '--file', '../dispatch/verdict'], 'src/journal has no such file'],
  [['--folder', 'journal', '--folder', 'dispatch'], 'one folder is changed at a time'],
])('%j is refused with a sentence before anything is installed', (argv, reason) => {
  const refusal = { exit: 64, message: expect.stringContaining(reason) }
  expect(() => askedIn(argv)).toThrow(expect.objectContaining(refusal))
})

test('nothing that could be changed is no table in which everything was noticed', () => {
  const refusal = { exit: 64, message: expect.stringContaining('nothing that could be changed') }
  expect(() => answerOf({})).toThrow(expect.objectContaining(refusal))
  expect(() => answerOf({ 'src/a.ts': { source: SOURCE, mutants: [] } })).toThrow(expect.objectContaining(refusal))
})
