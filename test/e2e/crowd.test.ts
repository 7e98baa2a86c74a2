/** Many clients, and bad ones among them, at the real coordinator: nobody pays for somebody else's connection. */
import { randomUUID } from 'node:crypto'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type ChatClient, until, within } from '../support/coordinator-fixture.ts'
import { type ModelForTest, modelOf } from '../support/scripted-model.ts'
import { type Served, served } from '../support/served.ts'

const LARGE = 'x'.repeat(200_000)
let home: Served
let model: ModelForTest

beforeEach(async () => {
  model = modelOf(async ({ messages }) => {
    const asked = messages.at(-1)?.content ?? ''
    return { content: asked === 'large' ? LARGE : `You said: ${asked}` }
  })
  const outbound = { messagesMax: 8, bytesMax: 1024 * 1024, sendWaitMsMax: 300, writeMsMax: 2000 }
  home = await served({ provider: model, withKey: false, serve: { chat: { outbound } } })
})

afterEach(async () => {
  await home[Symbol.asyncDispose]()
})

async function turn(client: ChatClient, content: string): Promise<void> {
  const id = randomUUID()
  client.chat(id, content)
  expect(await client.final()).toMatchObject({ type: 'ChatChunk', request_id: id, content: `You said: ${content}` })
}

test('a client that never reads loses its connection, and the others notice nothing [trap:slow-reader]', async () => {
  const [good, stuck] = await Promise.all([home.connect(), home.connect()])
  const id = randomUUID()
  stuck.chat(id, 'large')
  expect(await stuck.final()).toMatchObject({ type: 'ChatChunk', content: LARGE })
  stuck.stopReading()
  let flood = true
  const flooding = (async () => {
    for (let count = 0; count < 400 && flood; count += 1) {
      stuck.inspect(id, 'large') // 80 MB of answers, which nobody takes
      if (count % 10 === 0) await turn(good, `still ${count}`)
    }
  })()
  await until('the stuck connection is ended', async () => home.service.server.connections === 1, 15_000)
  flood = false
  await flooding
  await until('it holds nothing any more', async () => home.runtime.coordinator.holders === 1)
  await turn(good, 'afterwards')
  const again = await home.connect() // what was recorded for the stuck client is there when it comes back
  again.inspect(id, 'large')
  expect(await again.final()).toMatchObject({ type: 'ChatChunk', content: LARGE, replayed: true })
  stuck.terminate()
  await Promise.all([again.close(), good.close()])
  await home.finish()
})

test('200 connections that come and go, politely or not, leave nothing held and every run recorded', async () => {
  const good = await home.connect()
  for (let wave = 0; wave < 4; wave += 1) {
    await Promise.all(
      Array.from({ length: 50 }, async (_, index) => {
        const client = await home.connect()
        if (index % 5 === 1) client.chat(randomUUID(), 'and gone') // its turn has perhaps begun
        if (index % 5 === 2) client.send('{')
        if (index % 5 === 3) client.terminate()
        else await client.close()
      }),
    )
    await turn(good, `wave ${wave}`)
  }
  await until('only one conversation is left', async () => home.runtime.coordinator.holders === 1)
  expect(home.service.server.connections).toBe(1)
  expect(home.reports.filter((line) => !line.includes('not delivered'))).toEqual([])
  await good.close()
  await home.finish()
})

test('an answer that is slow keeps nobody else waiting', async () => {
  let go = (): void => undefined
  const waiting = new Promise<void>((resolve) => {
    go = resolve
  })
  await using slow = await served({
    provider: modelOf(async ({ messages }) => {
      if (messages.at(-1)?.content === 'slow') await waiting
      return { content: `You said: ${messages.at(-1)?.content}` }
    }),
    withKey: false,
  })
  const [first, second] = await Promise.all([slow.connect(), slow.connect()])
  first.chat(randomUUID(), 'slow')
  expect(await first.next()).toMatchObject({ type: 'AuditOpened' })
  await turn(second, 'quick')
  go()
  expect(await within('the slow answer', first.final())).toMatchObject({ content: 'You said: slow' })
  await Promise.all([first.close(), second.close()])
  await slow.finish()
})
