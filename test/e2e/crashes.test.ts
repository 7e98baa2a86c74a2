/**
 * A small part of `npm run crashes`, which every run of the tests affords: each scenario once to its end, a dozen kills at moments
 * of chance, and a few disks that fail. And the campaign at work on a process that breaks the laws: it must say so.
 */
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { optionsIn } from '../../scripts/crashes.mjs'
import { main, type Scripts } from '../crashes/main.ts'
import { SCENARIOS } from '../crashes/scenarios.ts'
import type { Row } from '../crashes/tally.ts'
import { bundled } from '../support/child-script.ts'
import { ROOT } from '../support/sources.ts'

const SEED = String(process.env.SYMBI_SEED ?? Date.now() % 1_000_000)

let scripts: Scripts
beforeAll(async () => {
  scripts = {
    child: await bundled('test/crashes/child.ts'),
    witness: await bundled('test/crashes/witness.ts'),
  }
}, 60_000)

async function run(args: readonly string[], given: Partial<Scripts> = {}) {
  const rows: Row[] = []
  const notes: string[] = []
  const code = await main(
    optionsIn([...args, '--json']),
    { ...scripts, ...given },
    { result: (line) => void rows.push(JSON.parse(line)), note: (line) => void notes.push(line) },
  )
  return { code, rows, notes }
}

test(`processes killed at a dozen writes, and disks that fail, leave the truth behind (seed ${SEED})`, {
  timeout: 300_000,
}, async () => {
  const { code, rows, notes } = await run(['--kills', '12', '--faults', '4', '--seed', SEED])
  const told = notes.join('\n')
  expect(code, told).toBe(0)
  expect(rows.at(-1), told).toMatchObject({ scenario: 'all', kills: 12, faults: 4, without: 0, twice: 0, broken: 0 })
  expect(rows.filter(({ moment }) => moment === 'left alone').map(({ scenario }) => scenario)).toEqual([...SCENARIOS])
  expect(rows.at(-1)?.effects).toBeGreaterThanOrEqual(18) // of those that were left alone
})

test('the campaign counts each law that a process breaks, says which, and fails', { timeout: 60_000 }, async () => {
  const outlaw = { child: join(ROOT, 'test/crashes/outlaw.mjs') }
  const { code, rows, notes } = await run(
    ['--kills', '1', '--faults', '0', '--minutes', '0', '--scenario', 'run'],
    outlaw,
  )
  expect(code).toBe(1)
  expect(rows.at(-1)).toMatchObject({ effects: 3, without: 3, twice: 1, broken: 1, unresolved: 1 })
  expect(rows.at(-1)?.contradictions).toBeGreaterThan(0)
  const told = notes.join('\n')
  expect(told).toContain('happened more than once')
  expect(told).toMatch(
    /effect \S+: a journal does not verify|effect \S+: no journal holds an allowed call and its intent/,
  )
  expect(told).toContain('its client was told its result, and now it is Unresolved')
  expect(notes.at(-1)).toContain('verdict: BROKEN')
})

test.runIf(process.platform === 'linux')(
  'the campaign looks at what the system was asked to make durable, and believes no process',
  { timeout: 60_000 },
  async () => {
    const outlaw = { child: join(ROOT, 'test/crashes/outlaw.mjs') }
    const { code, notes } = await run(['--kills', '0', '--faults', '1', '--scenario', 'run'], outlaw)
    const told = notes.join('\n')
    expect(code, told).toBe(1)
    if (told.includes('there is no C compiler')) return // and nobody can look
    expect(told).toContain('files and folders 1 times, and the system was asked 0 and 0 times')
  },
)

test('a campaign that has no time is not finished, and does not say that all is well', {
  timeout: 60_000,
}, async () => {
  const { code, notes } = await run(['--kills', '5', '--faults', '0', '--minutes', '0', '--scenario', 'run'])
  expect(code).toBe(1)
  expect(notes.at(-1)).toMatch(/^verdict: not finished: 5 of 5 kills were not made, the time of 0 minutes was up, /)
})

test.each([
  [['--scenario', 'dreams'], 'there is no such scenario', /^The scenarios are .*"delegations"/],
  [['--kills', 'many'], 'Cannot use --kills "many": it is no whole number from 0 on', undefined],
  [['--abreast', '0'], 'Cannot use --abreast "0": it is no whole number from 1 on', undefined],
  [['--speed', '1'], '--speed', /^The flags are --kills, .*--abreast, --json$/],
  [['--kills', '0', '--faults', '0'], 'nothing happens', 'One of the two is 1 or more'],
])('the campaign refuses %j before anything is bundled', (args, reason, hint) => {
  const told = hint instanceof RegExp ? expect.stringMatching(hint) : hint
  const refusal = { exit: 64, message: expect.stringContaining(reason), hint: told }
  expect(() => optionsIn(args)).toThrow(expect.objectContaining(refusal))
})
