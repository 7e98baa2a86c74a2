import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { instantOf, timestampOf } from '../../../src/core/index.ts'
import type { HoldAnswer } from '../../../src/policy/approvals/queue-calls.ts'
import { testWorld } from '../../../src/testing/index.ts'
import type { World } from '../../../src/world/index.ts'
import { faultyWorld } from '../../support/faulty-world.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { APPROVE, DENY, type Desk, deskIn, namesIn, OPERATOR, pay } from './support.ts'

const signal = new AbortController().signal
const hold = (desk: Desk, amount = 5, lifetimeMs = 60_000): Promise<HoldAnswer> =>
  desk.queue.hold({ ...pay({ amount }), reason: 'it costs', use: 'presented', lifetimeMs }, signal)

async function held(desk: Desk, amount = 5): Promise<string> {
  const answer = await hold(desk, amount)
  if (answer.kind !== 'Held') throw new Error(answer.reason)
  return answer.action.id
}

/** A World whose random bytes are these first, and its own after them. */
function scripted(...first: readonly number[]): World {
  const world = testWorld()
  const left = [...first]
  const bytes = (count: number): Uint8Array => {
    const next = left.shift()
    return next === undefined ? world.random.bytes(count) : new Uint8Array(count).fill(next)
  }
  return { ...world, random: { ...world.random, bytes } }
}

describe('holding a call', () => {
  test.each([0, -1, Number.NaN])('for %d ms holds nothing', async (lifetimeMs) => {
    await using folder = await temporaryFolder()
    const desk = await deskIn(folder.of('approvals'))
    expect(await hold(desk, 5, lifetimeMs)).toEqual({ kind: 'NotHeld', reason: 'timeout' })
    expect(desk.queue.list()).toEqual([])
  })

  test('in a queue that was closed holds nothing', async () => {
    await using folder = await temporaryFolder()
    const desk = await deskIn(folder.of('approvals'))
    await desk.queue[Symbol.asyncDispose]()
    expect(await hold(desk)).toEqual({ kind: 'NotHeld', reason: 'nobody can approve the call any more' })
  })

  test('never gives an id a second time, whether its action still lives or has ended', async () => {
    await using folder = await temporaryFolder()
    // the first action, then the owner of its records; then ids that are taken already
    const desk = await deskIn(folder.of('approvals'), {}, scripted(1, 9, 1, 2, 1, 2, 3))
    const first = await held(desk, 1)
    expect([first, await held(desk, 2)]).toEqual(['01'.repeat(8), '02'.repeat(8)])
    await desk.queue.resolve(first, DENY, OPERATOR)
    expect(await held(desk, 3)).toBe('03'.repeat(8))
  })

  test('takes another name for its records where one is taken', async () => {
    await using folder = await temporaryFolder()
    const one = await deskIn(folder.of('approvals'), {}, scripted(1, 9))
    await held(one)
    const other = await deskIn(folder.of('approvals'), {}, scripted(2, 9, 8))
    await held(other)
    expect(namesIn(one.folder, 'held').filter((name) => name.endsWith('.lock'))).toEqual([
      `${'08'.repeat(8)}.lock`,
      `${'09'.repeat(8)}.lock`,
    ])
  })
})

describe('what a queue remembers', () => {
  test('are the newest ends; of an older one the files still tell', async () => {
    await using folder = await temporaryFolder()
    const desk = await deskIn(folder.of('approvals'), { limits: { recentMax: 1 } })
    const ids = [await held(desk, 1), await held(desk, 2)]
    for (const id of ids) await desk.queue.resolve(id, DENY, OPERATOR)
    await desk.queue.withdraw('nobody') // and with it waits for what is still being written
    expect(ids.map((id) => desk.queue.find(id)?.status)).toEqual([undefined, 'denied'])
    expect(await Promise.all(ids.map(async (id) => (await desk.queue.recall(id))?.status))).toEqual([
      'denied',
      'denied',
    ])
  })

  test('of what was withdrawn, or never was, is nothing, in memory and on the disk', async () => {
    await using folder = await temporaryFolder()
    const desk = await deskIn(folder.of('approvals'), { limits: { recentMax: 1 } })
    const id = await held(desk, 1)
    await desk.queue.withdraw(pay().run.agent_id) // another session's key
    expect(desk.queue.find(id)?.status).toBe('pending')
    const [entry] = desk.queue.list()
    expect(entry?.id).toBe(id)
    await desk.queue[Symbol.asyncDispose]()
    for (const odd of ['0'.repeat(16), 'no handle', '../../etc']) expect(await desk.queue.recall(odd)).toBeNull()
  })
})

describe('who listens to a queue', () => {
  test('and throws is reported, and neither the others nor the decision hear of it', async () => {
    await using folder = await temporaryFolder()
    const reports: string[] = []
    const desk = await deskIn(folder.of('approvals'), { report: (what) => void reports.push(what) })
    desk.queue.subscribe(() => {
      throw new Error('deaf')
    })
    const later: string[] = []
    desk.queue.subscribe(({ kind }) => void later.push(kind))
    const id = await held(desk)
    expect(await desk.queue.resolve(id, APPROVE, OPERATOR)).toMatchObject({ decision: 'approve' })
    expect(later).toEqual(['held', 'resolved'])
    expect(reports).toEqual(Array(2).fill('a listener of the approvals failed'))
  })

  test('as its audit and fails is reported, and the decision stands', async () => {
    await using folder = await temporaryFolder()
    const reports: string[] = []
    const options = {
      audit: () => Promise.reject(new Error('no disk')),
      report: (what: string) => void reports.push(what),
    }
    const desk = await deskIn(folder.of('approvals'), options)
    const id = await held(desk)
    await desk.queue.resolve(id, APPROVE, OPERATOR)
    await desk.queue.withdraw('nobody')
    expect(reports).toEqual(['the audit of an approval failed'])
    expect(desk.queue.find(id)?.status).toBe('approved')
  })
})

describe('deciding', () => {
  test('is refused a second time, and of what never was', async () => {
    await using folder = await temporaryFolder()
    const desk = await deskIn(folder.of('approvals'))
    const id = await held(desk)
    const both = await Promise.allSettled([
      desk.queue.resolve(id, APPROVE, OPERATOR),
      desk.queue.resolve(id, DENY, OPERATOR),
    ])
    expect(both.map(({ status }) => status)).toEqual(['fulfilled', 'rejected'])
    await expect(desk.queue.resolve(id, DENY, OPERATOR)).rejects.toMatchObject({ code: 'APPROVAL_RESOLVED' })
    await expect(desk.queue.resolve('0'.repeat(16), DENY, OPERATOR)).rejects.toMatchObject({
      code: 'APPROVAL_NOT_FOUND',
    })
  })
})

describe('a deadline that passes because the wall clock is set forward while a file is written', () => {
  /** The hands jump at the next append, and no timer of ours fires. */
  async function jumpyDesk(folder: string) {
    const real = testWorld()
    let aheadMicros = 0
    const wall = () => timestampOf(Number(instantOf(real.clock.wall()) / 1000n) + aheadMicros)
    const disk = faultyWorld({ ...real, clock: { ...real.clock, wall } })
    const desk = await deskIn(folder, {}, disk)
    const jump = (): void => {
      disk.add({
        on: 'append',
        before: () => {
          aheadMicros = 61_000_000
        },
      })
    }
    return { desk, jump }
  }

  test.each(['presented', 'waits'] as const)('makes of an approval a no: %s', async (use) => {
    await using folder = await temporaryFolder()
    const { desk, jump } = await jumpyDesk(folder.of('approvals'))
    await using _queue = desk.queue // or its last file would be written into a folder that is being removed
    const asked = { ...pay(), reason: 'it costs', use, lifetimeMs: 60_000 }
    const answer = await desk.queue.hold(asked, signal)
    if (answer.kind !== 'Held') throw new Error(answer.reason)
    const { id } = answer.action
    jump()
    await expect(desk.queue.resolve(id, APPROVE, OPERATOR)).rejects.toMatchObject({ code: 'APPROVAL_EXPIRED' })
    expect(await answer.ended).toEqual({ kind: 'Expired' })
    expect(desk.queue.find(id)?.status).toBe('expired')
    expect(desk.changes.map(({ kind }) => kind)).toEqual(['held', 'expired'])
    expect(await desk.queue.present(id, asked)).toMatchObject({ kind: 'Refused' })
  })

  test('keeps an approval that is being spent from being good for the call', async () => {
    await using folder = await temporaryFolder()
    const { desk, jump } = await jumpyDesk(folder.of('approvals'))
    await using _queue = desk.queue
    const id = await held(desk)
    await desk.queue.resolve(id, APPROVE, OPERATOR)
    jump()
    const presented = await desk.queue.present(id, pay())
    expect(presented).toEqual({ kind: 'Refused', reason: expect.stringContaining('expired') })
    expect(await desk.queue.present(id, pay())).toMatchObject({ kind: 'Refused' })
    expect(desk.queue.isSpent(id)).toBe(true)
  })
})

test('a record of an earlier process that is JSON and no record is reported, kept and never executed', async () => {
  await using folder = await temporaryFolder()
  const path = folder.of('approvals')
  const first = await deskIn(path)
  await held(first)
  const [owner = ''] = namesIn(path, 'held').map((name) => name.split('.')[0])
  await first.queue[Symbol.asyncDispose]()
  writeFileSync(join(path, 'held', `${owner}.${'0'.repeat(16)}.json`), '{"version":1}', { mode: 0o600 })
  const reports: string[] = []
  const second = await deskIn(path, { report: (what) => void reports.push(what) })
  expect(second.queue.list()).toEqual([])
  expect(reports).toEqual(['what an earlier process held cannot be read'])
  expect(namesIn(path, 'held')).toEqual([`${owner}.${'0'.repeat(16)}.json`])
})
