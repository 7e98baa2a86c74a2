import { describe, expect, test } from 'vitest'
import type { SyncCall } from '../support/sync-interposer.ts'
import { unkeptPromise, withoutFailure } from './disks.ts'

const call = (name: SyncCall['call'], failed = false): SyncCall => ({ call: name, path: '/p', failed })
const [fsync, fdatasync, write] = [call('fsync'), call('fdatasync'), call('write')]

describe('a life that says something is durable', () => {
  test('has asked the system for it', () => {
    expect(unkeptPromise({ data: 2, whole: 1 }, [fsync, fdatasync, write])).toBeNull()
    expect(unkeptPromise({ data: 0, whole: 0 }, [])).toBeNull()
  })

  test.each([
    ['data', [fsync, write], '2 times and files and folders 1 times, and the system was asked 1 and 1 times'],
    ['a folder', [fdatasync, write], '2 times and files and folders 1 times, and the system was asked 2 and 0 times'],
  ])('and has not asked for %s is found', (_, calls, says) => {
    expect(unkeptPromise({ data: 2, whole: 1 }, calls)).toContain(says)
  })
})

describe('EIO from the system', () => {
  test('that came, in one life at least, proves something', () => {
    expect(withoutFailure([])).toBeNull()
    const late = { nth: 9, calls: [fsync] }
    expect(withoutFailure([late, { nth: 2, calls: [fsync, call('fdatasync', true)] }])).toBeNull()
  })

  test('that never came proves nothing', () => {
    const lives = [1, 2].map((nth) => ({ nth, calls: [] }))
    expect(withoutFailure(lives)).toBe('EIO was to come from the system in 2 lives, and never came')
  })

  test('that was due and did not come is found, although another came', () => {
    const lives = [
      { nth: 1, calls: [call('fsync', true)] },
      { nth: 2, calls: [fsync, write, write] },
    ]
    expect(withoutFailure(lives)).toBe('the 2. of 3 syncs was to answer EIO, and none did')
  })
})
