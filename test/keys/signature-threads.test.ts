import { afterAll, beforeAll, expect, test } from 'vitest'
import { SignatureThreads, type Signed, signingKeyOf } from '../../src/keys/index.ts'
import { nodeWorld, type Threads } from '../../src/world/index.ts'
import { startSideThread } from '../../src/world/side-thread.ts'
import { encode, encodeY, IDENTITY } from '../support/curve.ts'

const { clock, threads } = nodeWorld()
const key = signingKeyOf(Buffer.alloc(32, 7))
const other = signingKeyOf(Buffer.alloc(32, 8))

const signed = (text: string, by = key): Signed => {
  const payload = Buffer.from(text)
  return { payload, signature: by.sign(payload) }
}

/** Threads that take questions. */
async function upOn(on: Threads, count: number): Promise<SignatureThreads> {
  const made = new SignatureThreads(on, key.publicKey, count)
  while (made.take([signed('are you there?')]) === null) await clock.yield()
  return made
}

let beside: SignatureThreads
beforeAll(async () => {
  beside = await upOn(threads, 1)
})
afterAll(() => beside.stop())

/** What threads say; where they have no room, it is asked again. */
async function told(run: readonly Signed[], by = beside): Promise<readonly boolean[]> {
  for (let answers = by.take(run); ; answers = by.take(run)) {
    if (answers !== null) return await answers
    await clock.yield()
  }
}

test('each signature of a run is judged for its own payload and for this key', async () => {
  const [one, two, three] = ['one', 'the second, which is longer', ''].map((text) => signed(text)) as [
    Signed,
    Signed,
    Signed,
  ]
  const swapped = { payload: one.payload, signature: two.signature }
  expect(await told([one, two, three])).toEqual([true, true, true])
  expect(await told([one, swapped, three, signed('one', other)])).toEqual([true, false, true, false])
  expect(await told([])).toEqual([])
})

test('with any one bit of a signature changed, the answer is the one of this thread', async () => {
  const { payload, signature } = signed('of many bits')
  const changed = Array.from({ length: 512 }, (_, bit) => {
    const copy = Buffer.from(signature)
    copy[bit >> 3] = (copy[bit >> 3] as number) ^ (1 << (bit & 7))
    return { payload, signature: copy }
  })
  expect(await told(changed)).toEqual(changed.map((each) => key.publicKey.verifies(each.payload, each.signature)))
})

test.each([
  ['with an R of small order', Buffer.concat([encode(IDENTITY), Buffer.alloc(32)])],
  ['with an R of small order and a false sign', Buffer.concat([encodeY(1n, 1n), Buffer.alloc(32)])],
  ['of 63 bytes', Buffer.alloc(63, 1)],
  ['of 65 bytes', Buffer.alloc(65, 1)],
])(
  'a run with a signature %s is left to this thread, which refuses it [trap:ed25519-weak-points]',
  async (_what, signature) => {
    const payload = Buffer.from('anything')
    expect(await told([signed('there is room')])).toEqual([true])
    expect(beside.take([signed('before'), { payload, signature }])).toBeNull()
    expect(key.publicKey.verifies(payload, signature)).toBe(false)
  },
)

test('a thread has two runs at once, and takes more when it is done', async () => {
  await told([signed('all is done')])
  const runs = [1, 2, 3].map((run) => beside.take([signed(`run ${run}`)]))
  expect(runs.map((run) => run === null)).toEqual([false, false, true])
  expect(await Promise.all(runs)).toEqual([[true], [true], null])
  expect(beside.room).toBe(2)
})

test('what a thread was asked that died is judged here, and it is asked no more', async () => {
  const dying: Threads = { spare: 1, start: (_work, data) => startSideThread('() => () => process.exit(3)', data) }
  const lost = new SignatureThreads(dying, key.publicKey, 1)
  const run = [signed('mine'), signed('not mine', other)]
  expect(await told(run, lost)).toEqual([true, false])
  expect(lost.take(run)).toBeNull()
  lost.stop()
})

test('where the World starts no threads, none is asked', () => {
  const none = new SignatureThreads({ spare: 0 }, key.publicKey, 4)
  expect(none.take([signed('one')])).toBeNull()
  expect(none.room).toBe(0)
  none.stop()
})
