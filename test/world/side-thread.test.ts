import { expect, test } from 'vitest'
import { startSideThread } from '../../src/world/side-thread.ts'

const ADDING = `({ add }) => ({ bytes, exit }) => {
  if (exit) process.exit(3)
  for (let at = 0; at < bytes.length; at += 1) bytes[at] += add
  return { value: { bytes }, moved: [bytes.buffer] }
}`

test('a thread answers in the order of the questions, and what is moved goes over and comes back', async () => {
  const thread = startSideThread(ADDING, { add: 5 })
  try {
    expect(await thread.ready).toBe(true)
    const questions = [1, 2, 3].map((first) => ({ bytes: Uint8Array.of(first, 10) }))
    const answers = questions.map((question) => thread.ask<{ bytes: Uint8Array }>(question, [question.bytes.buffer]))
    expect(questions.map(({ bytes }) => bytes.length)).toEqual([0, 0, 0])
    expect((await Promise.all(answers)).map((answer) => [...(answer?.bytes ?? [])])).toEqual([
      [6, 15],
      [7, 15],
      [8, 15],
    ])
  } finally {
    await thread.stop()
  }
})

test('a thread that ends answers null to those who wait and to all who come later', async () => {
  const thread = startSideThread(ADDING, { add: 1 })
  const waiting = [thread.ask({ exit: true }), thread.ask({ bytes: Uint8Array.of(1) })]
  expect(await Promise.all(waiting)).toEqual([null, null])
  expect(await thread.ask({ bytes: Uint8Array.of(1) })).toBeNull()
  await thread.stop()
})

test('a thread that is stopped answers null', async () => {
  const thread = startSideThread(ADDING, { add: 1 })
  await thread.ready
  const waiting = thread.ask({ bytes: new Uint8Array(64) })
  await thread.stop()
  expect([null, { bytes: new Uint8Array(64).fill(1) }]).toContainEqual(await waiting) // it may have been quicker
  expect(await thread.ask({ bytes: Uint8Array.of(1) })).toBeNull()
})

test('a thread that cannot begin its work is never ready', async () => {
  const thread = startSideThread('() => { throw new Error("no") }', {})
  expect(await thread.ready).toBe(false)
  expect(await thread.ask({})).toBeNull()
  await thread.stop()
})

test('a question that cannot be sent is refused, and the answers of others stay theirs', async () => {
  const thread = startSideThread(ADDING, { add: 1 })
  const first = thread.ask<{ bytes: Uint8Array }>({ bytes: Uint8Array.of(1) })
  await expect(thread.ask({ bytes: () => undefined })).rejects.toThrow()
  const last = thread.ask<{ bytes: Uint8Array }>({ bytes: Uint8Array.of(8) })
  expect([[...((await first)?.bytes ?? [])], [...((await last)?.bytes ?? [])]]).toEqual([[2], [9]])
  await thread.stop()
})
