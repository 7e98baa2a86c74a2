import { expect, test } from 'vitest'
import { createJournal } from '../../src/journal/index.ts'
import { nodeWorld } from '../../src/world/index.ts'
import { faultyWorld, gate } from '../support/faulty-world.ts'
import { scratch } from '../support/scratch.ts'
import { entry, principal, started } from './entries.ts'

const disk = scratch()
const world = nodeWorld()

test('a journal is closed when its scope ends, and the scope waits for that', async () => {
  const closing = gate()
  const faulty = faultyWorld(world, [{ on: 'close', path: '.jsonl', gate: closing }])
  let left = false
  const scope = (async () => {
    await using journal = await createJournal(faulty, { directory: disk.folder(), principal })
    await journal.append([entry(started)])
  })().then(() => {
    left = true
  })
  await closing.reached
  await world.clock.yield()
  expect(left).toBe(false)
  closing.open()
  await scope
  expect(faulty.done.filter((line) => line.startsWith('close') && line.endsWith('.jsonl'))).toHaveLength(1)
})
