/** Answers over HTTP that are no answers: what is wrong with them is a fault of ours, in our words. */
import { expect, test } from 'vitest'
import { answerOf } from '../../src/upstream/http-answer.ts'
import type { WireResponse } from '../../src/upstream/http-wire.ts'

test('a stream of events that is not UTF-8 is a fault, and the journal is told why there is no answer', async () => {
  const told: WireResponse[] = []
  const reply = {
    status: 200,
    headers: [['content-type', 'text/event-stream']] as const,
    body: (async function* () {
      yield Buffer.from([0x64, 0xff, 0x0a, 0x0a])
    })(),
    [Symbol.asyncDispose]: async () => undefined,
  }
  const answering = { asked: 1, isTakenBack: () => false, ends: async (end: WireResponse) => void told.push(end) }
  const response = await answerOf(reply, answering)
  await expect(response.text()).rejects.toMatchObject({
    code: 'UPSTREAM_FAILED',
    message: 'Cannot read the answer: its stream is not valid UTF-8',
  })
  expect(told).toMatchObject([{ body: null, error: 'Cannot read the answer: its stream is not valid UTF-8' }])
})
