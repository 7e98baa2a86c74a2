import { describe, expect, test } from 'vitest'
import { newId } from '../../src/core/index.ts'
import { type Event, type NewEntry, NO_USAGE } from '../../src/events/index.ts'
import { MeteredLog } from '../../src/session/metered-log.ts'
import { nodeWorld } from '../../src/world/index.ts'
import { MemoryLog } from '../support/memory-log.ts'

const world = nodeWorld()
const MIB = 1024 * 1024
const agent_id = newId('agent', world.random)
const timestamp = world.clock.wall()
const entryOf = (event: Event): NewEntry => ({ timestamp, agent_id, iteration: 0, event })
const end = entryOf({
  kind: 'Terminated',
  reason: 'Completed',
  iterations: 0,
  total_usage: NO_USAGE,
  duration: { secs: 0, nanos: 0 },
})

/** An entry of exactly so many bytes of JSON; the sequence it is going to have takes some of them. */
function ofSize(bytes: number, sequence: number): NewEntry {
  const frame = JSON.stringify({
    agent_id,
    event: { ImprovementOutput: { output: '' } },
    iteration: 0,
    sequence,
    timestamp,
  })
  return entryOf({ kind: 'ImprovementOutput', output: 'x'.repeat(bytes - frame.length) })
}

async function filled(inner: MemoryLog, mebibytes: number): Promise<MeteredLog> {
  const log = new MeteredLog(inner)
  for (let index = 0; index < mebibytes; index += 1) await log.append([ofSize(MIB, index)])
  return log
}

const limit = { code: 'JOURNAL_LIMIT' }

describe('the metered journal', () => {
  test('takes an entry of a mebibyte and refuses one byte more, and the log inside stays usable [G41]', async () => {
    const inner = new MemoryLog()
    const log = new MeteredLog(inner)
    await expect(log.append([ofSize(MIB + 1, 0)])).rejects.toMatchObject(limit)
    await log.append([ofSize(MIB, 0)])
    expect(inner.entries).toHaveLength(1)
  })

  test('takes 63 mebibytes of ordinary entries, and then only the end [G41]', async () => {
    const inner = new MemoryLog()
    const log = await filled(inner, 63)
    await expect(log.append([ofSize(300, 63)])).rejects.toMatchObject(limit)
    await log.append([end])
    expect(inner.events.at(-1)?.kind).toBe('Terminated')
  })

  test('takes an end as large as the room that was kept for it, and no larger [G41]', async () => {
    const message = (bytes: number): NewEntry =>
      entryOf({ ...end.event, reason: { Error: { message: 'x'.repeat(bytes) } } } as Event)
    const log = await filled(new MemoryLog(), 63)
    await expect(log.append([message(MIB)])).rejects.toMatchObject(limit)
    const frame = Buffer.byteLength(
      JSON.stringify({
        agent_id,
        event: {
          Terminated: {
            reason: { Error: { message: '' } },
            iterations: 0,
            total_usage: NO_USAGE,
            duration: { secs: 0, nanos: 0 },
          },
        },
        iteration: 0,
        sequence: 63,
        timestamp,
      }),
    )
    await log.append([message(MIB - frame)])
  })

  test('refuses a list as a whole, and counts nothing of it [G41]', async () => {
    const inner = new MemoryLog()
    const log = await filled(inner, 62)
    await expect(log.append([ofSize(MIB - 1000, 62), ofSize(2000, 63)])).rejects.toMatchObject(limit)
    expect(inner.entries).toHaveLength(62)
    await log.append([ofSize(MIB, 62)])
  })

  test('keeps counting what the log inside failed to write [G41]', async () => {
    const inner = new MemoryLog()
    const log = await filled(inner, 62)
    inner.refuseAt(62)
    await expect(log.append([ofSize(MIB, 62)])).rejects.toMatchObject({ code: 'RECONCILIATION_REQUIRED' })
    await expect(log.append([ofSize(MIB, 63)])).rejects.toMatchObject(limit)
  })

  test('takes nothing behind the end, not even a second one', async () => {
    const inner = new MemoryLog()
    const log = new MeteredLog(inner)
    const release = inner.hold()
    const ending = log.append([end])
    await expect(log.append([ofSize(300, 1)])).rejects.toMatchObject({ code: 'JOURNAL_REFUSED' })
    release()
    await ending
    await expect(log.append([end])).rejects.toMatchObject({ code: 'JOURNAL_REFUSED' })
    expect(inner.entries).toHaveLength(1)
  })

  test('reports the audit reference of the log inside [G43]', () => {
    const audit = { run_id: 'r', path: '/p', public_key: 'k' } as unknown as NonNullable<MemoryLog['audit']>
    expect(new MeteredLog(new MemoryLog(audit)).audit).toBe(audit)
    expect(new MeteredLog(new MemoryLog()).audit).toBe(null)
  })
})
