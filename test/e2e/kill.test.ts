/**
 * A server that is ended without a word, at moments chosen by chance, by its own writes, and in the middle of an effect.
 * The next server on the same project must tell the truth about every id: what was recorded, what nobody can know, and what
 * never began. Effects are counted by this process, which outlives all of them.
 */
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import WebSocket from 'ws'
import type { ServerMessage } from '../../src/coordinator/index.ts'
import type { RunId } from '../../src/core/index.ts'
import type { AuditReference, Entry } from '../../src/events/index.ts'
import { verifyRunPrefix } from '../../src/journal/index.ts'
import { openSigningKey } from '../../src/journal/signing-key-file.ts'
import type { SigningKey } from '../../src/keys/index.ts'
import { ensurePrivateDirectory } from '../../src/store/index.ts'
import { LEAST_PRIVILEGE_POLICY, type TemporaryProject, temporaryProject } from '../../src/testing/index.ts'
import { nodeWorld } from '../../src/world/index.ts'
import { bundled, type Child, startChild } from '../support/child-script.ts'
import { ChatClient, until } from '../support/coordinator-fixture.ts'

const SEED = Number(process.env.SYMBI_SEED ?? Date.now() % 1_000_000)
/** xorshift: the same moments for the same seed. */
let state = SEED * 2654435761 + 1
function chance(below: number): number {
  state ^= state << 13
  state ^= state >>> 17
  state ^= state << 5
  return (state >>> 0) % below
}

const world = nodeWorld()
const CHARGE = 'permit(principal, action == Action::"tool_call::charge", resource);'

interface Effect {
  readonly chat: string
  readonly step: string
  /** What the journals held at the moment of the effect, read by this process. */
  readonly evidence: string
}

let script: string
let project: TemporaryProject
let key: SigningKey
let counter: Server
const effects: Effect[] = []
let onEffect: () => void = () => undefined
let onAnswer: () => void = () => undefined

const governed = (): string => join(project.path, '.symbiont', 'governed')
const journals = (): readonly string[] => readdirSync(governed()).filter((name) => name.endsWith('.jsonl'))
const effectsUrl = (): string => `http://127.0.0.1:${(counter.address() as AddressInfo).port}/`

beforeAll(async () => {
  script = await bundled('test/e2e/children/chat-server.ts')
  project = temporaryProject({ policies: { default: LEAST_PRIVILEGE_POLICY, charge: CHARGE } })
  await ensurePrivateDirectory(world, join(project.path, '.symbiont'), 'state folder')
  key = await openSigningKey(world, governed())
  counter = createServer(async (request, response) => {
    const pieces: Buffer[] = []
    for await (const piece of request) pieces.push(piece as Buffer)
    const { chat, step } = JSON.parse(String(Buffer.concat(pieces))) as { chat: string; step: string }
    const evidence = journals()
      .map((name) => readFileSync(join(governed(), name), 'utf8'))
      .join('')
    effects.push({ chat, step, evidence })
    onEffect()
    response.end('once')
  })
  counter.listen(0, '127.0.0.1')
  await once(counter, 'listening')
})

afterAll(async () => {
  for (const child of loaded) await child.kill()
  counter.closeAllConnections()
  counter.close()
  project[Symbol.dispose]()
})

/** Servers that are loaded and wait: most of a round would be spent on that. */
const loaded: Child[] = []

function nextServer(mode = 'answer'): Child {
  const start = (): Child => startChild(script, [project.path, effectsUrl(), mode])
  if (mode !== 'answer') return start()
  const next = loaded.shift() ?? start()
  while (loaded.length < 2) loaded.push(start())
  return next
}

interface Sent {
  readonly id: string
  readonly content: string
  audit: AuditReference | null
  /** The final text, where the client saw one before the server died. */
  answer: string | null
}

type Moment = { readonly kind: 'time' | 'write' | 'effect' | 'answer'; readonly count: number }

function momentOf(round: number): Moment {
  const kinds: readonly Moment[] = [
    { kind: 'time', count: chance(90) },
    { kind: 'write', count: 1 + chance(24) },
    { kind: 'effect', count: 1 + chance(4) },
    { kind: 'write', count: 1 + chance(8) },
    { kind: 'answer', count: 1 + chance(2) },
  ]
  return kinds[round % kinds.length] as Moment
}

test(`a server killed at 20 moments tells the truth afterwards, and no tool runs twice (seed ${SEED})`, {
  timeout: 300_000,
}, async () => {
  const told = { Recorded: 0, Unresolved: 0, NotFound: 0 }
  let before: Sent[] = []
  for (let round = 0; round <= 20; round += 1) {
    await using child = nextServer()
    child.say('open')
    const url = await child.line() // a second server on the project would be refused: the lock died with its holder
    for (const sent of before) told[await truthAbout(sent, url)] += 1
    if (round === 20) break
    const sent = [newMessage(), newMessage()]
    const speakers = await Promise.all(sent.map((one) => speaker(url, one)))
    const moment = arrive(momentOf(round))
    for (const { speak } of speakers) speak()
    await moment
    await child.kill()
    await Promise.all(speakers.map(({ closed }) => closed))
    before = sent
  }
  await checkEvidence()
  expect(told.Recorded + told.Unresolved + told.NotFound).toBe(40)
  expect(told.Recorded).toBeGreaterThanOrEqual(4) // of the four rounds that waited for an answer
  expect(told.Unresolved).toBeGreaterThan(0)
  console.info(`kill test, seed ${SEED}: ${JSON.stringify(told)}, ${effects.length} effects`)
})

function newMessage(): Sent {
  const id = randomUUID()
  return { id, content: `chat ${id}`, audit: null, answer: null }
}

/** A client that keeps what comes until the connection ends. */
async function speaker(url: string, sent: Sent): Promise<{ speak(): void; readonly closed: Promise<void> }> {
  const socket = new WebSocket(url)
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  socket.on('error', () => undefined)
  socket.on('message', (data) => {
    const message = JSON.parse(String(data)) as ServerMessage
    if (message.type === 'AuditOpened') sent.audit = message.audit
    if (message.type !== 'ChatChunk' || !message.done) return
    sent.answer = message.content
    onAnswer()
  })
  await once(socket, 'open')
  const { id, content } = sent
  return { closed, speak: () => socket.send(JSON.stringify({ type: 'ChatSend', id, content })) }
}

/** Resolves when the moment has come, counted from now, or when both chats are answered. */
function arrive({ kind, count }: Moment): Promise<void> {
  const answers = seen((next) => {
    onAnswer = next
  })
  const over = answers(2)
  switch (kind) {
    case 'time':
      return new Promise((resolve) => setTimeout(resolve, count))
    case 'answer':
      return answers(count)
    case 'write':
      return Promise.race([over, writeNo(count, over)])
    case 'effect': {
      const effectsSeen = seen((next) => {
        onEffect = next
      })
      return Promise.race([over, effectsSeen(count)])
    }
  }
}

/** Counts what it is told of, and promises the n-th time. */
function seen(listen: (next: () => void) => void): (nth: number) => Promise<void> {
  let count = 0
  const waiting: { readonly nth: number; readonly resolve: () => void }[] = []
  listen(() => {
    count += 1
    for (const { nth, resolve } of waiting) if (count >= nth) resolve()
  })
  return (nth) => new Promise((resolve) => waiting.push({ nth, resolve }))
}

/** Looks at the sizes of journals and claims without a pause, until they changed so often. */
async function writeNo(nth: number, over: Promise<void>): Promise<void> {
  let isOver = false
  void over.then(() => {
    isOver = true
  })
  let last = sizes()
  for (let seen = 0; seen < nth && !isOver; ) {
    await new Promise(setImmediate)
    const now = sizes()
    if (now !== last) seen += 1
    last = now
  }
}

function sizes(): string {
  const names = (folder: string): readonly string[] => (existsSync(folder) ? readdirSync(folder) : [])
  return [governed(), join(project.path, '.symbiont', 'invocations')]
    .flatMap((folder) => names(folder).map((name) => `${name} ${statSync(join(folder, name)).size}`))
    .join('\n')
}

/** Asks for the id, sends it again, and compares the answers with what the client saw and with the evidence. */
async function truthAbout(sent: Sent, url: string): Promise<'Recorded' | 'Unresolved' | 'NotFound'> {
  const client = await ChatClient.open(url)
  client.inspect(sent.id, sent.content)
  const first = await answerOf(client)
  const ranBefore = ranFor(sent)
  client.chat(sent.id, sent.content)
  const second = await answerOf(client)
  await client.close()
  if (first.final.type === 'Error' && first.final.code === 'INVOCATION_NOT_FOUND') {
    expect(sent.audit).toBeNull() // nobody was told that it began,
    expect(ranBefore).toEqual([]) // it did not begin,
    expect(second.final).toMatchObject({ type: 'ChatChunk', replayed: false }) // and so it may run now
    expect(ranFor(sent)).toEqual(['charge-1', 'charge-2'])
    return 'NotFound'
  }
  expect(second).toEqual(first)
  expect(ranFor(sent)).toEqual(ranBefore) // to ask and to send again is no effect
  if (sent.audit !== null) expect(first.audit).toEqual(sent.audit)
  if (first.final.type === 'ChatChunk') {
    expect(first.final).toMatchObject({ replayed: true, content: `charged for ${sent.content}` })
    expect(ranBefore).toEqual(['charge-1', 'charge-2'])
    expect((await prefixOf(first.audit as AuditReference)).at(-1)?.event).toMatchObject({
      kind: 'Terminated',
      reason: 'Completed',
    })
    return 'Recorded'
  }
  expect(first.final).toMatchObject({ type: 'Error', code: 'INVOCATION_UNRESOLVED' })
  expect(sent.answer).toBeNull() // what a client was told once stays true
  if (first.audit === null) expect(ranBefore).toEqual([])
  return 'Unresolved'
}

async function answerOf(client: ChatClient): Promise<{ audit: AuditReference | null; final: ServerMessage }> {
  const message = await client.next()
  if (message.type !== 'AuditOpened') return { audit: null, final: message }
  return { audit: message.audit, final: await client.final() }
}

function ranFor({ content }: Sent): readonly string[] {
  return effects.filter(({ chat }) => chat === content).map(({ step }) => step)
}

async function prefixOf({ path, run_id }: { path: string; run_id: string }): Promise<readonly Entry[]> {
  return (await verifyRunPrefix(world, path, key.publicKey, run_id as RunId)).entries
}

/** Every journal verifies as a prefix; every effect happened once, after its decision and its intent could be read. */
async function checkEvidence(): Promise<void> {
  const recorded: string[] = []
  for (const name of journals()) {
    const run_id = name.split('.')[1] ?? ''
    const path = join(governed(), name)
    if (statSync(path).size === 0) continue // claimed, and nothing began
    const events = (await prefixOf({ path, run_id })).map(({ event }) => event)
    events.forEach((event, index) => {
      if (event.kind !== 'ToolDispatchStarted') return
      expect(events.slice(0, index).findLast(({ kind }) => kind === 'PolicyEvaluated')).toMatchObject({
        action_count: 1,
        denied_count: 0,
      })
      const proposed = JSON.stringify(events.slice(0, index).findLast(({ kind }) => kind === 'ReasoningComplete'))
      recorded.push(`${/chat [0-9a-f-]{36}/.exec(proposed)?.[0]} ${event.call_id}`)
    })
  }
  expect(new Set(recorded).size).toBe(recorded.length)
  const happened = effects.map(({ chat, step }) => `${chat} ${step}`)
  expect(new Set(happened).size).toBe(happened.length)
  expect(happened.filter((effect) => !recorded.includes(effect))).toEqual([])
  for (const { chat, step, evidence } of effects) {
    const proposal = evidence.indexOf(`{\\"chat\\":\\"${chat}\\",\\"step\\":\\"${step}\\"}`)
    expect(proposal).toBeGreaterThan(-1)
    expect(evidence.slice(proposal)).toMatch(new RegExp(`"PolicyEvaluated"[^]*"ToolDispatchStarted"[^]*"${step}"`))
  }
}

test('asked to end twice, a server cancels what runs, and no claim stays held', { timeout: 120_000 }, async () => {
  await using first = nextServer('stall')
  first.say('open')
  const firstUrl = await first.line()
  const sent = [newMessage(), newMessage()]
  const speakers = await Promise.all(sent.map((one) => speaker(firstUrl, one)))
  for (const { speak } of speakers) speak()
  await until('both turns have opened their audits', async () => sent.every(({ audit }) => audit !== null))
  const exit = once(first.process, 'exit')
  first.process.kill('SIGTERM')
  expect(await first.line()).toBe('term 1')
  expect(first.process.exitCode).toBeNull() // it waits for the turns
  first.process.kill('SIGTERM')
  expect(await first.line()).toBe('term 2')
  expect(await exit).toEqual([0, null])
  await Promise.all(speakers.map(({ closed }) => closed))
  await using second = nextServer()
  second.say('open')
  const url = await second.line()
  for (const one of sent) {
    expect(await truthAbout(one, url)).toBe('Unresolved') // an inference that was cut short stays unknown
    expect((await prefixOf(one.audit as AuditReference)).at(-1)?.event.kind).toBe('Terminated')
  }
})
