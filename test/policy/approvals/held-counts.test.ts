import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { heldCounts } from '../../../src/policy/index.ts'
import { nodeWorld } from '../../../src/world/index.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { APPROVE, deskIn, OPERATOR, pay } from './support.ts'

const world = nodeWorld()
const signal = new AbortController().signal

describe('who looks at the held actions from outside', () => {
  test('counts none in a project that never held one, and makes no folder', async () => {
    await using folder = await temporaryFolder()
    expect(await heldCounts(world, join(folder.path, 'approvals'))).toEqual({ pending: 0, decided: 0 })
    mkdirSync(join(folder.path, 'approvals'), { mode: 0o700 })
    expect(await heldCounts(world, join(folder.path, 'approvals'))).toEqual({ pending: 0, decided: 0 })
  })

  test('counts what waits, and apart from it what was decided and not used yet', async () => {
    await using folder = await temporaryFolder()
    const path = join(folder.path, 'approvals')
    const desk = await deskIn(path)
    const hold = async (amount: number) =>
      await desk.queue.hold({ ...pay({ amount }), reason: 'it costs', use: 'presented', lifetimeMs: 60_000 }, signal)
    const first = await hold(1)
    await hold(2)
    await hold(3)
    expect(await heldCounts(world, path)).toEqual({ pending: 3, decided: 0 })
    if (first.kind !== 'Held') throw new Error(first.reason)
    await desk.queue.resolve(first.action.id, APPROVE, OPERATOR)
    expect(await heldCounts(world, path)).toEqual({ pending: 2, decided: 1 })
  })

  test('counts nothing that is no record: locks, records under their second name, and what somebody else left there', async () => {
    await using folder = await temporaryFolder()
    const held = join(folder.path, 'approvals', 'held')
    mkdirSync(held, { recursive: true, mode: 0o700 })
    const [owner, id] = ['0123456789abcdef', 'fedcba9876543210']
    for (const name of [`${owner}.lock`, `.${owner}.${id}.json.tmp`, `${owner}.${id}.txt`, 'notes.json']) {
      writeFileSync(join(held, name), '')
    }
    expect(await heldCounts(world, join(folder.path, 'approvals'))).toEqual({ pending: 0, decided: 0 })
  })

  test('believes no folder that others may use', async () => {
    await using folder = await temporaryFolder()
    const path = join(folder.path, 'approvals')
    mkdirSync(join(path, 'held'), { recursive: true, mode: 0o700 })
    chmodSync(join(path, 'held'), 0o777)
    await expect(heldCounts(world, path)).rejects.toMatchObject({ code: 'STORAGE_UNSAFE' })
  })
})
