import { expect, test } from 'vitest'
import { verdictOf } from './verdict.ts'

const ASKED = { kills: 1000, everyMoment: true, minutes: 20 }
const DONE = {
  kills: 1000,
  faults: 200,
  disks: 200,
  moments: 700,
  unvisited: 0,
  missed: 3,
  unbegun: 4,
  foundFull: 50,
  systemFailed: 60,
  systemMissed: 2,
  byHand: 1,
  broken: false,
  skipped: [],
}

test('a campaign that did all that was asked, and broke no law, ends with 0', () => {
  const { line, code } = verdictOf(ASKED, DONE)
  expect(code).toBe(0)
  expect(line).toMatch(/^no law was broken, 1000 kills, 200 failing disks, .*, every moment of every write visited, /)
})

test.each([
  [
    'kills',
    { kills: 400, unvisited: 300 },
    '600 of 1000 kills were not made, 300 of 700 moments were not visited, the time',
  ],
  ['moments', { moments: 1200, unvisited: 190 }, '190 of 1200 moments were not visited, no law'],
  ['disks', { faults: 150 }, '50 of 200 failing disks were not tried, the time of 20 minutes was up, no law'],
])('a campaign in which %s are missing is not finished, says so, and ends with 1', (_, less, said) => {
  const { line, code } = verdictOf(ASKED, { ...DONE, ...less })
  expect(code).toBe(1)
  expect(line).toContain(`not finished: ${said}`)
  expect(line).toContain('no law was broken until then')
})

test('a broken law comes first, whatever is missing', () => {
  const { line, code } = verdictOf(ASKED, { ...DONE, broken: true, faults: 0 })
  expect(code).toBe(1)
  expect(line).toMatch(/^BROKEN, not finished: 200 of 200 failing disks were not tried/)
})

test('who asks for fewer kills than there are moments is told how many were visited', () => {
  const { line, code } = verdictOf({ ...ASKED, kills: 20, everyMoment: false }, { ...DONE, kills: 20, unvisited: 680 })
  expect(code).toBe(0)
  expect(line).toMatch(/^no law was broken, 20 kills, .*, of 700 moments 20 were visited, /)
})

test('a machine on which a disk cannot be made to fail has skipped it, and is told', () => {
  const { line, code } = verdictOf(ASKED, { ...DONE, skipped: ['ENOSPC on a small disk: no room'] })
  expect(code).toBe(0)
  expect(line).toContain('kinds of failing disks skipped: 1')
})
