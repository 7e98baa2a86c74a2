import { expect, test } from 'vitest'
import type { ServerMessage } from '../../src/coordinator/index.ts'
import type { OutboundLimits } from '../../src/server/index.ts'
import { OutboundQueue } from '../../src/server/outbound-queue.ts'
import type { Clock } from '../../src/world/index.ts'

/** A clock whose timers go off when the test says so. */
function handClock() {
  const timers = new Set<{ readonly ms: number; readonly callback: () => void }>()
  const clock = {
    timer: (ms: number, callback: () => void) => {
      const timer = { ms, callback }
      timers.add(timer)
      return () => void timers.delete(timer)
    },
  } as unknown as Clock
  return {
    clock,
    pending: () => [...timers].map((timer) => timer.ms),
    fire: (ms: number) => {
      for (const timer of [...timers].filter((one) => one.ms === ms)) {
        timers.delete(timer)
        timer.callback()
      }
    },
  }
}

function queueOf(limits: Partial<OutboundLimits> = {}) {
  const time = handClock()
  const written: string[] = []
  const answers: ((error?: Error | null) => void)[] = []
  const state = { stalls: 0 }
  const queue = new OutboundQueue(
    (text, done) => {
      written.push(JSON.parse(text).content)
      answers.push(done)
    },
    () => {
      state.stalls += 1
    },
    { messagesMax: 4, bytesMax: 10_000, sendWaitMsMax: 2_000, writeMsMax: 5_000, ...limits },
    time.clock,
  )
  const answer = (error: Error | null = null): void => answers.shift()?.(error)
  return { queue, written, answer, time, state }
}

const say = (content: string): ServerMessage => ({
  type: 'ChatChunk',
  request_id: 'r',
  content,
  done: false,
  replayed: false,
})

test('messages leave in order, one write at a time', async () => {
  const { queue, written, answer, time } = queueOf()
  for (const content of ['a', 'b', 'c']) await queue.send(say(content))
  expect(written).toEqual(['a'])
  answer()
  answer()
  answer()
  expect(written).toEqual(['a', 'b', 'c'])
  expect(time.pending()).toEqual([])
})

test('a full queue refuses an offer, lets a send wait, and keeps the order of those who wait', async () => {
  const { queue, written, answer } = queueOf()
  for (const content of ['a', 'b', 'c', 'd', 'e']) await queue.send(say(content)) // one on its way, four queued
  expect(queue.offer(say('lost'))).toBe(false)
  const admitted: string[] = []
  const waiting = ['f', 'g'].map((content) => queue.send(say(content)).then(() => admitted.push(content)))
  answer()
  await waiting[0]
  expect(admitted).toEqual(['f'])
  expect(queue.offer(say('lost'))).toBe(false) // nobody overtakes who waits
  answer()
  await waiting[1]
  for (let count = 0; count < 6; count += 1) answer()
  expect(written).toEqual(['a', 'b', 'c', 'd', 'e', 'f', 'g'])
  expect(queue.offer(say('h'))).toBe(true)
})

test('a send that finds no room in time ends the connection and rejects everyone who waits', async () => {
  const { queue, time, state } = queueOf()
  for (const content of ['a', 'b', 'c', 'd', 'e']) await queue.send(say(content))
  const waiting = ['f', 'g'].map((content) => queue.send(say(content)))
  time.fire(2_000)
  for (const send of waiting) await expect(send).rejects.toMatchObject({ code: 'SESSION_CLOSED' })
  expect(state.stalls).toBe(1)
  await expect(queue.send(say('h'))).rejects.toMatchObject({ code: 'SESSION_CLOSED' })
})

test('a write that takes too long, and one that fails, end the connection once', async () => {
  const late = queueOf()
  await late.queue.send(say('a'))
  late.time.fire(5_000)
  late.answer(new Error('destroyed'))
  expect(late.state.stalls).toBe(1)
  const failed = queueOf()
  await failed.queue.send(say('a'))
  failed.answer(new Error('EPIPE'))
  expect([failed.state.stalls, failed.queue.offer(say('b'))]).toEqual([1, false])
})

test('bytes are bounded as well, and one message beyond the bound may still be queued into an empty queue', async () => {
  const { queue, written, answer } = queueOf({ bytesMax: 100 })
  await queue.send(say('x'.repeat(500))) // on its way at once
  await queue.send(say('y'.repeat(500))) // alone in the queue
  expect(queue.offer(say('z'))).toBe(false)
  answer()
  expect(queue.offer(say('z'))).toBe(true)
  answer()
  expect(written.map((content) => content[0])).toEqual(['x', 'y', 'z'])
})

test('a small offer does not overtake a long message that waits for room', async () => {
  const { queue, written, answer } = queueOf({ bytesMax: 1_000 })
  await queue.send(say('a')) // on its way
  await queue.send(say('b'))
  const long = queue.send(say('L'.repeat(990)))
  expect(queue.offer(say('z'))).toBe(false)
  answer()
  await long
  answer()
  expect(written.map((content) => content[0])).toEqual(['a', 'b', 'L'])
})

test('more senders waiting than the queue is long end the connection', async () => {
  const { queue, state } = queueOf()
  const sends = Array.from({ length: 10 }, (_, index) => queue.send(say(String(index))))
  const outcomes = await Promise.allSettled(sends)
  expect(outcomes.map((outcome) => outcome.status)).toEqual([
    ...Array(5).fill('fulfilled'),
    ...Array(5).fill('rejected'),
  ])
  expect(state.stalls).toBe(1)
})

test('flushed() waits for the last write, and for nothing once the queue is closed', async () => {
  const { queue, answer, time } = queueOf()
  await queue.flushed()
  await queue.send(say('a'))
  await queue.send(say('b'))
  let isFlushed = false
  const flushed = queue.flushed().then(() => {
    isFlushed = true
  })
  answer()
  await Promise.resolve()
  expect(isFlushed).toBe(false)
  answer()
  await flushed
  await queue.send(say('c'))
  const abandoned = queue.flushed()
  queue.close()
  await abandoned
  answer()
  expect(time.pending()).toEqual([])
})
