/**
 * The queue on the disk: what a process that died has left is expired by the next one, at whichever write it died; what was
 * told to anybody stays true; and two living processes do not disturb each other.
 */
import { chmodSync, cpSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  ApprovalQueue,
  escalationGate,
  type GateQuestion,
  heldGate,
  permissiveGate,
} from '../../../src/policy/index.ts'
import { nodeWorld, type World } from '../../../src/world/index.ts'
import { scratch } from '../../support/scratch.ts'
import { watchedWorld } from '../../support/watched-world.ts'
import { APPROVE, DENY, deskIn, namesIn, OPERATOR, pay, settledIn } from './support.ts'

const place = scratch()
const never = new AbortController().signal
const open = permissiveGate(() => undefined)

describe('what an earlier process held', () => {
  test('has expired when the queue opens, is listed no more, and its handle is worth nothing', async () => {
    const folder = place.path('approvals')
    const { queue } = await diedWith(folder, async (living) => {
      const gate = heldGate(open, living)
      await gate.approve(pay({ amount: 1 }), never)
      const approved = await gate.approve(pay({ amount: 2 }), never)
      await living.resolve(idOf(approved), APPROVE, OPERATOR)
    })
    expect(queue.list()).toEqual([])
    const ids = namesIn(folder, 'settled').map((name) => name.replace('.json', ''))
    expect(ids).toHaveLength(2)
    for (const id of ids) {
      expect(queue.find(id)).toMatchObject({ id, status: 'expired', context_snapshot: null })
      expect(await queue.recall(id)).toMatchObject({ status: 'expired', context_snapshot: { approval_id: id } })
      await expect(queue.resolve(id, APPROVE, OPERATOR)).rejects.toMatchObject({ code: 'APPROVAL_EXPIRED' })
      for (const amount of [1, 2]) {
        const back = await heldGate(open, queue).approve(pay({ amount }, { presented: id }), never)
        expect(back).toMatchObject({ kind: 'Refused' })
      }
    }
    expect(namesIn(folder, 'held')).toEqual([])
  })

  test('is still recalled by a third process, which has it in no memory', async () => {
    const folder = place.path('approvals')
    const { queue } = await diedWith(folder, async (living) => {
      await heldGate(open, living).approve(pay(), never)
    })
    await queue[Symbol.asyncDispose]()
    const [name = ''] = namesIn(folder, 'settled')
    const { queue: third } = await deskIn(folder)
    const id = name.replace('.json', '')
    expect(third.find(id)).toBeNull()
    expect(await third.recall(id)).toMatchObject({ id, status: 'expired' })
  })
})

test('a request that a crash brought back beside its end changes nothing of that end', async () => {
  const folder = place.path('approvals')
  const { queue } = await diedWith(folder, (living) => day(living, toldNothing()))
  await queue[Symbol.asyncDispose]()
  const before = settledIn(folder)
  expect(before.length).toBeGreaterThan(4)
  for (const { request } of before) {
    const name = `00000000000000aa.${request.action.id}.json`
    writeFileSync(join(folder, 'held', name), JSON.stringify(request), { mode: 0o600 })
  }
  const { queue: next } = await deskIn(folder)
  expect(settledIn(folder)).toEqual(before)
  expect(namesIn(folder, 'held')).toEqual([])
  expect(next.list()).toEqual([])
})

test('two living processes hold side by side, and the second does not take the first for dead', async () => {
  const folder = place.path('approvals')
  const first = await deskIn(folder)
  const one = idOf(await heldGate(open, first.queue).approve(pay({ amount: 1 }), never))
  const second = await deskIn(folder)
  const other = idOf(await heldGate(open, second.queue).approve(pay({ amount: 2 }), never))
  const third = await deskIn(folder)
  expect([first, second, third].map(({ queue }) => queue.list().map(({ id }) => id))).toEqual([[one], [other], []])
  await first.queue.resolve(one, APPROVE, OPERATOR)
  const back = await heldGate(open, first.queue).approve(pay({ amount: 1 }, { presented: one }), never)
  expect(back.kind).toBe('Approved')
})

/** What somebody was told before the process died, by the id of the action. */
interface Told {
  readonly shown: Set<string>
  readonly denied: Set<string>
  readonly approved: Set<string>
  readonly used: Set<string>
}

/** A day of a queue: one approval used, one not, a denial, a wait that was approved, one that was left, one that goes on. */
async function day(queue: ApprovalQueue, told: Told): Promise<void> {
  queue.subscribe(({ kind, action }) => void (kind === 'held' && told.shown.add(action.id)))
  const gate = heldGate(open, queue)
  const ask = async (amount: number): Promise<string> => idOf(await gate.approve(pay({ amount }), never))
  const used = await ask(1)
  await queue.resolve(used, APPROVE, OPERATOR)
  told.approved.add(used)
  const back = await gate.approve(pay({ amount: 1 }, { presented: used }), never)
  if (back.kind === 'Approved') told.used.add(used)
  const unused = await ask(2)
  await queue.resolve(unused, APPROVE, OPERATOR)
  told.approved.add(unused)
  const denied = await ask(3)
  await queue.resolve(denied, DENY, OPERATOR)
  told.denied.add(denied)
  const waiting = wait(queue, pay({ amount: 4 }), never)
  await queue.resolve(await waiting.id, APPROVE, OPERATOR)
  told.used.add(await waiting.id)
  await waiting.answer
  const leaving = new AbortController()
  const left = wait(queue, pay({ amount: 5 }), leaving.signal)
  await left.id
  leaving.abort(new Error('gone'))
  await left.answer
  await ask(6)
}

test('a process that dies at any write of the queue leaves what the next one tells truly', async () => {
  const writes = await writesOf(async (world) => {
    const queue = await ApprovalQueue.open(world, place.path('approvals'))
    await day(queue, toldNothing())
    await queue.withdraw('nobody')
    await queue[Symbol.asyncDispose]()
  })
  expect(writes).toBeGreaterThan(60)
  for (let nth = 1; nth <= writes; nth += 1) {
    const folder = place.path('approvals')
    const told = toldNothing()
    const { queue } = await diedWith(folder, (living) => day(living, told), nth)
    expect(queue.list()).toEqual([])
    if (existsSync(join(folder, 'held'))) expect({ nth, held: namesIn(folder, 'held') }).toEqual({ nth, held: [] })
    const ends = new Map(
      existsSync(join(folder, 'settled')) ? settledIn(folder).map((end) => [end.request.action.id, end]) : [],
    )
    for (const id of told.shown) expect({ nth, id, kept: ends.has(id) }).toEqual({ nth, id, kept: true })
    for (const id of told.denied) expect(ends.get(id)?.ended).toBe('denied')
    for (const id of told.used) expect(['spent', 'approved']).toContain(ends.get(id)?.ended)
    for (const [id, end] of ends) {
      expect(end.ended === 'spent' || end.ended === 'approved' ? end.decision?.decision : 'approve').toBe('approve')
      const call = end.request.action.summary.replace('pay ', '')
      const back = await heldGate(open, queue).approve(pay(JSON.parse(call), { presented: id }), never)
      expect(back.kind).toBe('Refused') // nothing of an earlier process is ever executed
    }
    await queue[Symbol.asyncDispose]()
  }
}, 60_000)

test('a process that dies while it clears up after another one leaves the same', async () => {
  const left = place.path('approvals')
  const told = toldNothing()
  await died(left, (living) => day(living, told))
  const openIt = async (world: World, folder: string): Promise<ApprovalQueue> => await ApprovalQueue.open(world, folder)
  const copy = (): string => {
    const folder = place.path('copy')
    cpSync(left, folder, { recursive: true })
    return folder
  }
  const writes = await writesOf(async (world) => {
    await using _ = await openIt(world, copy())
  })
  expect(writes).toBeGreaterThan(10)
  for (let nth = 1; nth <= writes; nth += 1) {
    const folder = copy()
    await openIt(dyingWorld(nth), folder).then(
      (queue) => queue[Symbol.asyncDispose](),
      () => undefined,
    )
    const { queue } = await deskIn(
      folder,
      {},
      watchedWorld(() => undefined, UNSYNCED),
    )
    expect({ nth, held: namesIn(folder, 'held') }).toEqual({ nth, held: [] })
    const ends = Object.fromEntries(settledIn(folder).map(({ request, ended }) => [request.action.id, ended]))
    expect(Object.keys(ends).sort()).toEqual([...told.shown].sort())
    for (const id of told.denied) expect(ends[id]).toBe('denied')
    for (const id of told.used) expect(['spent', 'approved']).toContain(ends[id])
    await queue[Symbol.asyncDispose]()
  }
}, 60_000)

describe('a folder that cannot be trusted', () => {
  test.each<[string, (folder: string) => void]>([
    ['others may enter', (folder) => chmodSync(folder, 0o755)],
    ['others may enter the live part of', (folder) => chmodSync(join(folder, 'held'), 0o755)],
  ])('is refused: one that %s', async (_, spoil) => {
    const folder = place.path('approvals')
    await died(folder, async (living) => void (await heldGate(open, living).approve(pay(), never)))
    spoil(folder)
    await expect(ApprovalQueue.open(nodeWorld(), folder)).rejects.toMatchObject({ code: 'STORAGE_UNSAFE' })
  })

  test('is refused when it is a link', async () => {
    const folder = place.path('approvals')
    symlinkSync(place.folder(), folder)
    await expect(ApprovalQueue.open(nodeWorld(), folder)).rejects.toMatchObject({ code: 'STORAGE_UNSAFE' })
  })

  test('does not stop the queue for one record that nobody can read: it is reported, and kept', async () => {
    const folder = place.path('approvals')
    mkdirSync(join(folder, 'held'), { recursive: true, mode: 0o700 })
    const names = ['00000000000000aa.00000000000000bb.json', '00000000000000aa.00000000000000cc.json', 'README']
    writeFileSync(join(folder, 'held', names[0] as string), '{', { mode: 0o600 })
    writeFileSync(join(folder, 'held', names[1] as string), '{"version":2}', { mode: 0o644 })
    writeFileSync(join(folder, 'held', names[2] as string), 'mine')
    const reports: unknown[] = []
    const { queue } = await deskIn(folder, { report: (_, error) => reports.push((error as { code: string }).code) })
    expect(reports.sort()).toEqual(['EVIDENCE_INVALID', 'STORAGE_UNSAFE'])
    expect(queue.list()).toEqual([])
    expect(namesIn(folder, 'held')).toEqual([...names].sort())
  })
})

test('a project that never held anything keeps no folder', async () => {
  const folder = place.path('approvals')
  const { queue } = await deskIn(folder)
  await queue[Symbol.asyncDispose]()
  expect(existsSync(folder)).toBe(false)
})

function idOf(answer: { readonly kind: string }): string {
  if (answer.kind !== 'Pending') throw new Error(`the answer is ${JSON.stringify(answer)}`)
  return (answer as unknown as { approval_id: string }).approval_id
}

function wait(queue: ApprovalQueue, question: GateQuestion, signal: AbortSignal) {
  const id = new Promise<string>((resolve) => {
    const stop = queue.subscribe(({ kind, action }) => {
      if (kind !== 'held') return
      stop()
      resolve(action.id)
    })
  })
  const answer = escalationGate(open, queue).approve(question, signal)
  return { answer, id: Promise.race([id, answer.then(() => id)]) }
}

const toldNothing = (): Told => ({ shown: new Set(), denied: new Set(), approved: new Set(), used: new Set() })

const UNSYNCED = { syncs: false }
const CHANGES = ['mkdir', 'create', 'append', 'syncAll', 'link', 'rename', 'unlink', 'syncDirectory']

/** From the nth change of the disk on, nothing happens any more: so it looks when a process died before it. */
function dyingWorld(nth: number): World {
  let count = 0
  return watchedWorld((operation) => {
    count += CHANGES.includes(operation) ? 1 : 0
    if (count >= nth && operation !== 'close') throw new Error('this process is dead')
  }, UNSYNCED)
}

async function writesOf(work: (world: World) => Promise<void>): Promise<number> {
  let count = 0
  await work(
    watchedWorld((operation) => {
      count += CHANGES.includes(operation) ? 1 : 0
    }, UNSYNCED),
  )
  return count
}

async function died(
  folder: string,
  work: (queue: ApprovalQueue) => Promise<void>,
  nth = Number.POSITIVE_INFINITY,
): Promise<void> {
  let dead = false
  const dying = dyingWorld(nth)
  const world = watchedWorld((operation) => {
    if (dead && operation !== 'close') throw new Error('this process is dead')
  }, UNSYNCED)
  // with a number it dies there, without one when its work is done
  const queue = await ApprovalQueue.open(Number.isFinite(nth) ? dying : { ...dying, files: world.files }, folder)
  await work(queue).catch((error: unknown) => {
    if (!(error instanceof Error) || error.message !== 'this process is dead') throw error
  })
  dead = true
  await queue[Symbol.asyncDispose]().catch(() => undefined) // its locks end with it
}

async function diedWith(folder: string, work: (queue: ApprovalQueue) => Promise<void>, nth?: number) {
  await died(folder, work, nth)
  return await deskIn(
    folder,
    {},
    watchedWorld(() => undefined, UNSYNCED),
  )
}
