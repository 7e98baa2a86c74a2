import { describe, expect, test } from 'vitest'
import { Bug, Fault } from '../../src/core/index.ts'
import type { EventLog, NewEntry } from '../../src/events/index.ts'
import { bufferedLog, createJournal, streamingLog } from '../../src/journal/index.ts'
import { nodeWorld } from '../../src/world/index.ts'
import { faultyWorld, gate } from '../support/faulty-world.ts'
import { scratch } from '../support/scratch.ts'
import { entry, output, principal, receipt, started } from './entries.ts'

const world = nodeWorld()
const disk = scratch()
const outputs = (entries: readonly NewEntry[]): unknown[] =>
  entries.map(({ event }) => (event.kind === 'ImprovementOutput' ? event.output : event.kind))

describe('a buffered log', () => {
  test('keeps the newest 1000 entries and evicts the oldest', async () => {
    const log = bufferedLog()
    for (let count = 0; count < 1005; count += 1) await log.append([entry(output(String(count)))])
    expect(log.entries).toHaveLength(1000)
    expect(log.entries[0]).toMatchObject({ sequence: 5, event: output('5') })
  })

  test('goes on counting after it was drained', async () => {
    const log = bufferedLog(3)
    await log.append([entry(started), entry(output('a'))])
    expect(outputs(log.drain())).toEqual(['Started', 'a'])
    expect(log.drain()).toEqual([])
    await log.append([entry(output('b')), entry(output('c')), entry(output('d')), entry(output('e'))])
    expect(log.drain().map(({ sequence }) => sequence)).toEqual([3, 4, 5])
  })

  test('may keep a single entry', async () => {
    const log = bufferedLog(1)
    await log.append([entry(output('a')), entry(output('b'))])
    expect(outputs(log.drain())).toEqual(['b'])
  })

  test('is no evidence', () => {
    expect(bufferedLog().audit).toBeNull()
  })

  test.each([0, -1, 1.5, Number.NaN])('of capacity %d is a bug', (capacity) => {
    expect(() => bufferedLog(capacity)).toThrow(Bug)
  })
})

describe('a streaming log', () => {
  test('offers entries after they are durable, in order, and passes the audit reference through', async () => {
    const beforeSync = gate()
    const faulty = faultyWorld(world, [{ on: 'syncData', gate: beforeSync }])
    await using journal = await createJournal(faulty, { directory: disk.folder(), principal })
    const seen: NewEntry[] = []
    const log = streamingLog(journal, (offered) => void seen.push(offered))
    const appended = log.append([entry(started), entry(receipt(false))])
    await beforeSync.reached
    expect(seen).toEqual([])
    beforeSync.open()
    await appended
    expect(outputs(seen)).toEqual(['Started', 'ToolDispatchFinished'])
    expect(log.audit).toEqual(journal.audit)
  })

  test('returns the failure of the inner log and streams nothing', async () => {
    const inner: EventLog = {
      audit: null,
      append: () => Promise.reject(new Fault('STORAGE_FULL', { message: 'Cannot store: full' })),
    }
    const seen: NewEntry[] = []
    const log = streamingLog(inner, (offered) => void seen.push(offered))
    await expect(log.append([entry(started)])).rejects.toMatchObject({ code: 'STORAGE_FULL' })
    expect(seen).toEqual([])
  })

  test('an observer that throws misses an entry; what is durable stays a success', async () => {
    const seen: NewEntry[] = []
    const log = streamingLog(bufferedLog(), (offered) => {
      if (offered.event.kind === 'Started') throw new Error('the channel is full')
      seen.push(offered)
    })
    await log.append([entry(started), entry(output('next'))])
    expect(outputs(seen)).toEqual(['next'])
  })
})
