/**
 * Clients that mean no good, at both doors of the real program, all at the same time. Effects are counted by a process of its own.
 * At the end three accounts must say the same, call by call: what the clients were told, what the counter saw, and what the
 * signed journals say.
 */
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { findAgentSource, runnableAgent } from '../../src/delegation/index.ts'
import { signingKeyOf } from '../../src/keys/index.ts'
import { type TemporaryProject, temporaryProject } from '../../src/testing/index.ts'
import { nodeWorld } from '../../src/world/index.ts'
import { accountsIn } from '../support/call-accounts.ts'
import { type RunningServer, startUp } from '../support/cli.ts'
import { type EffectCounter, effectCounter } from '../support/effect-counter.ts'
import { chanceOf, uuidOf } from '../support/hostile/chance.ts'
import { HostileClient } from '../support/hostile/client.ts'
import { HttpDoor } from '../support/hostile/http-door.ts'
import { Ledger } from '../support/hostile/ledger.ts'
import type { Bait, Call, Loot } from '../support/hostile/parts.ts'
import { stdioDoor } from '../support/hostile/stdio-door.ts'
import { SECRET, testKey } from '../support/key-files.ts'

const SEED = Number(process.env.SYMBI_SEED ?? Date.now() % 1_000_000)
const seeded = (name: string, run: () => Promise<void>): void =>
  test(`${name} (seed ${SEED})`, { timeout: 120_000 }, run)

const POLICY = `
permit(principal, action, resource);
forbid(principal, action == Action::"tool_call::http_request", resource)
  when { context.invocation.resolved.http_path like "/never/*" };
`
const KEYS = ['ann', 'bob', 'eve', 'storm'] as const
const AGENT_OF = { ann: 'clerk', bob: 'clerk', eve: 'reader', storm: 'clerk' } as const

const world = nodeWorld()
const ledger = new Ledger()
const loot: Loot = { invocations: [], handles: [] }
let counter: EffectCounter
let project: TemporaryProject
let server: RunningServer

beforeAll(async () => {
  counter = await effectCounter()
  project = temporaryProject({
    policies: { default: POLICY },
    agents: { clerk: 'agent clerk() {}', reader: 'agent reader() {}' },
  })
  const origin = `{ origin = "${counter.origin}", methods = ["GET", "POST"] }`
  writeFileSync(join(project.path, 'symbiont.toml'), `[tools]\nhttp_origins = [${origin}]\n`)
  writeFileSync(join(project.path, 'demo-model.json'), JSON.stringify({ model: 'demo', rules: [] }))
  const principalOf = async (name: string): Promise<string> =>
    runnableAgent(await findAgentSource(world, project.path, name)).principal
  const keys = KEYS.map(async (id) => testKey(id, { agent_scope: [await principalOf(AGENT_OF[id])] }))
  mkdirSync(join(project.path, '.symbiont'), { mode: 0o700 })
  const all = JSON.stringify(await Promise.all([...keys, testKey('person')]))
  writeFileSync(join(project.path, '.symbiont', 'api-keys.json'), all, { mode: 0o600 })
  server = await startUp(project.path, ['--rate-limit-per-minute', 'off'])
})

afterAll(async () => {
  await server?.[Symbol.asyncDispose]()
  await counter?.[Symbol.asyncDispose]()
  project?.[Symbol.dispose]()
})

const asking = (path: string, method = 'GET'): Call => ({
  name: 'http_request',
  arguments: { method, url: `${counter.origin}${path}` },
})
const bait: Bait = {
  permitted: (mark) => asking(`/effect/${mark}`),
  denied: (mark) => asking(`/never/${mark}`),
  held: (mark) => asking(`/effect/${mark}`, 'POST'),
}
const under = (id: string): object => ({ 'symbi/invocationId': id })
const doorOf = (key: (typeof KEYS)[number]): HttpDoor => new HttpDoor(server.api, `${key}.${SECRET}`, ledger)
const stdio = (): ReturnType<typeof stdioDoor> => stdioDoor(['--project', project.path, '--agent', 'clerk'], ledger)
const cancelled = (requestId: unknown): object => ({
  jsonrpc: '2.0',
  method: 'notifications/cancelled',
  params: { requestId },
})

/** 16 waves of 32 frames through one process, as fast as it takes them. */
async function atStandardInput(): Promise<void> {
  const chance = chanceOf(SEED)
  await using door = stdio()
  const { raw, running } = door
  raw.call('early', 'http_request', asking('/effect/early').arguments)
  expect((await raw.answer('early')).error?.code).toBe(-32600)
  await raw.greet()
  const client = new HostileClient({ chance, client: 'stdio', bait, loot })
  for (let wave = 0; wave < 16; wave += 1) {
    await door.wave(Array.from({ length: 32 }, () => client.next()))
    client.settled()
  }
  const flood = Array.from({ length: 70 }, (_, at) => ({ id: `flood ${at}`, ...asking(`/never/flood-${at}`) }))
  raw.send(
    flood
      .map(({ id, ...params }) => `${JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params })}\n`)
      .join(''),
  )
  const answers = await Promise.all(flood.map(({ id }) => raw.answer(id)))
  expect(answers.filter(({ error }) => error?.data?.code === 'OVERLOADED')).toHaveLength(6) // 64 at once
  running.child.stdin.end('{"jsonrpc":"2.0","id":"half","method":"tools/call","params":{"name":"http_re')
  const { code, stderr } = await running.ended
  expect([code, stderr.split('\n').at(-2)]).toEqual([0, expect.stringMatching(/^\d+ calls, session completed$/)])
}

/** `waves` of 4 frames at once through one session after the other. */
async function atTheServer(key: (typeof KEYS)[number], seed: number, waves: number): Promise<void> {
  const chance = chanceOf(seed)
  const door = doorOf(key)
  await door.open()
  const client = new HostileClient({ chance, client: key, bait, loot })
  for (let wave = 1; wave <= waves; wave += 1) {
    const frames = Array.from({ length: 4 }, () => client.next())
    const answers = await Promise.all(frames.map((frame) => door.send(frame)))
    client.settled()
    answers.forEach(({ answer }, at) => {
      const handle = answer?.result?.structuredContent?.approval_id
      if (typeof handle === 'string') loot.handles.push({ client: key, handle, mark: frames[at]?.mark ?? '' })
    })
    if (wave % 16 !== 0) continue
    const path = `/cut/${key}-${wave}`
    const { answer } = await door.call(1, asking(path))
    expect(answer?.result?.structuredContent).toMatchObject({ code: 'CALL_UNCONFIRMED' })
    ledger.unknown(path)
    const later = await door.call(1, asking(`/effect/${key}-after-${wave}`))
    expect(later.answer?.result?.structuredContent).toMatchObject({ code: 'TOOL_SESSION_CLOSED' })
    expect(await door.close()).toBe(204)
    await door.open()
    client.reconnected()
  }
  expect(await door.close()).toBe(204)
}

seeded(
  'a thousand hostile frames at both doors, of four clients at once, are each answered as they deserve',
  async () => {
    await Promise.all([
      atStandardInput(),
      atTheServer('ann', SEED + 1, 44),
      atTheServer('bob', SEED + 2, 44),
      atTheServer('eve', SEED + 3, 44),
    ])
    expect(ledger.frames).toBeGreaterThanOrEqual(1000)
  },
)

seeded(
  'over stdio a call is cancelled while it waits and while it runs, and nobody who connects again makes it again',
  async () => {
    const invocation = uuidOf(chanceOf(SEED))
    await using first = stdio()
    await first.raw.greet()
    first.raw.call('runs', 'http_request', asking('/hold/stdio-runs').arguments, under(invocation))
    await counter.seen('/hold/stdio-runs')
    first.raw.call('waits', 'http_request', asking('/effect/stdio-waits').arguments)
    first.raw.call('stays', 'http_request', asking('/effect/stdio-stays').arguments)
    first.raw.send(cancelled('waits'))
    first.raw.send(cancelled('runs'))
    expect((await first.raw.result('stays')).isError).toBe(true)
    ledger.unknown('/hold/stdio-runs')
    first.running.child.stdin.end()
    expect((await first.running.ended).code).not.toBe(0)
    expect(first.raw.messages.filter(({ id }) => id === 'runs' || id === 'waits')).toEqual([])

    await using second = stdio()
    await second.raw.greet()
    second.raw.call(1, 'http_request', asking('/hold/stdio-runs').arguments, under(invocation))
    expect((await second.raw.result(1)).structuredContent).toMatchObject({ code: 'INVOCATION_UNRESOLVED' })
    second.raw.call(2, 'http_request', asking('/effect/stdio-other').arguments, under(invocation))
    expect((await second.raw.result(2)).structuredContent).toMatchObject({ code: 'INVOCATION_CONFLICT' })

    // and it vanishes while one call runs and another one waits: both were asked for, so both are made
    second.raw.call(3, 'http_request', asking('/hold/stdio-vanished').arguments)
    second.raw.call(4, 'http_request', asking('/effect/stdio-vanished-too').arguments)
    await counter.seen('/hold/stdio-vanished')
    second.running.child.stdout.destroy()
    second.running.child.stdin.end()
    counter.release()
    await second.running.ended
    ledger.unheard('/hold/stdio-vanished')
    ledger.unheard('/effect/stdio-vanished-too')
  },
)

seeded(
  'over HTTP a handle is worth something to its own session, for its own call, once, and only after a person said yes',
  async () => {
    const [ann, bob] = [doorOf('ann'), doorOf('bob')]
    await Promise.all([ann.open(), bob.open()])
    const codeOf = ({ answer }: Awaited<ReturnType<HttpDoor['call']>>): unknown =>
      answer?.result?.structuredContent?.code
    const holdOne = async (path: string): Promise<string> => {
      const { answer } = await ann.call(1, asking(path, 'POST'))
      expect(answer?.result?.structuredContent).toMatchObject({ code: 'APPROVAL_PENDING' })
      return String(answer?.result?.structuredContent?.approval_id)
    }
    const approve = async (handle: string, who: string): Promise<number> => {
      const headers = { authorization: `Bearer ${who}.${SECRET}` }
      return (await fetch(`${server.api}/api/v1/approvals/${handle}/approve`, { method: 'POST', headers })).status
    }
    const handle = await holdOne('/effect/approved')
    const back = (door: HttpDoor, path: string) => door.call(1, asking(path, 'POST'), { 'symbi/approval': handle })
    expect(codeOf(await back(ann, '/effect/approved'))).toBe('APPROVAL_PENDING')
    for (const thief of ['ann', 'bob']) expect(await approve(handle, thief)).toBe(403)
    expect(await approve(handle, 'person')).toBe(200)
    expect(codeOf(await back(bob, '/effect/approved'))).toBe('POLICY_DENIED')
    expect(codeOf(await back(ann, '/effect/approved-instead'))).toBe('POLICY_DENIED')
    expect(codeOf(await back(ann, '/effect/approved'))).toBeUndefined()
    for (const door of [ann, bob]) expect(codeOf(await back(door, '/effect/approved'))).toBe('POLICY_DENIED')

    // who vanishes while a person thinks about it has asked for nothing any more
    const late = await holdOne('/effect/approved-too-late')
    const session = ann.session
    expect(await ann.close()).toBe(204)
    expect(await approve(late, 'person')).not.toBe(200)
    await ann.open()
    expect((await ann.post({ jsonrpc: '2.0', id: 1, method: 'ping' }, { session })).status).toBe(404)
    expect((await bob.post({ jsonrpc: '2.0', id: 1, method: 'ping' }, { session: ann.session })).status).toBe(404)
    expect(codeOf(await ann.call(1, asking('/effect/approved-too-late', 'POST'), { 'symbi/approval': late }))).toBe(
      'POLICY_DENIED',
    )
    await Promise.all([ann.close(), bob.close()])
  },
)

seeded(
  'over HTTP nobody cancels the call of somebody else, and who vanishes while a call runs has it made once',
  async () => {
    const [ann, eve] = [doorOf('ann'), doorOf('eve')]
    await Promise.all([ann.open(), eve.open()])
    const safe = ann.call(7, asking('/hold/not-yours'))
    await counter.seen('/hold/not-yours')
    expect((await eve.post(cancelled(7))).status).toBe(202)
    expect((await eve.post(cancelled(7), { session: ann.session })).status).toBe(404)
    counter.release()
    expect((await safe).answer?.result?.isError).toBe(false)

    const vanish = new AbortController()
    const frame = { jsonrpc: '2.0', id: 7, method: 'tools/call', params: asking('/hold/vanished') }
    const lost = ann.post(frame, { signal: vanish.signal })
    await counter.seen('/hold/vanished')
    vanish.abort()
    await expect(lost).rejects.toThrow()
    counter.release()
    ledger.unheard('/hold/vanished')
    expect((await ann.call(7, asking('/effect/back-again'))).answer?.result?.isError).toBe(false)

    const own = ann.call(7, asking('/hold/cancelled'))
    await counter.seen('/hold/cancelled')
    expect((await ann.post(cancelled(7))).status).toBe(202)
    expect((await own).status).toBe(204)
    ledger.unknown('/hold/cancelled')
    await Promise.all([ann.close(), eve.close()])
  },
)

seeded('a storm of connections that all ask for the same call has it made once', async () => {
  const chance = chanceOf(SEED + 4)
  const call = asking('/effect/storm')
  const invocation = under(uuidOf(chance))
  const statuses: number[] = []
  const connectAndAsk = async (mood: 'gone at once' | 'gone while it asks' | 'stays'): Promise<void> => {
    const door = doorOf('storm')
    const vanish = new AbortController()
    const vanishSoon = async (): Promise<void> => {
      for (let turns = chance(30); turns > 0; turns -= 1) await new Promise(setImmediate)
      vanish.abort()
    }
    if (mood === 'gone at once') void vanishSoon()
    const status = await door.knock(vanish.signal)
    statuses.push(status)
    if (status !== 200) return
    if (mood === 'gone while it asks') void vanishSoon()
    const params = { ...call, _meta: invocation }
    await door.post({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }, { signal: vanish.signal })
    expect(await door.close()).toBe(204)
  }
  for (let round = 0; round < 3; round += 1) {
    // A key holds 8 sessions, so some are turned away; one that its client left behind holds its place, at most 6 in all.
    const moods = (['gone at once', 'gone while it asks', 'stays'] as const).flatMap((mood, at) =>
      Array.from({ length: [1, 1, 8][at] as number }, () => mood),
    )
    const outcomes = await Promise.allSettled(moods.map(connectAndAsk))
    for (const outcome of outcomes) if (outcome.status === 'rejected') expect(outcome.reason.name).toBe('AbortError')
    await halfARequest(chance(400))
  }
  expect(new Set(statuses)).toEqual(new Set([200, 429]))
  const door = doorOf('storm')
  await door.open()
  const { answer } = await door.call(1, call, invocation)
  expect(answer?.result).toMatchObject({ isError: false, _meta: { 'symbi/replayed': true } })
  await door.close()
})

/** A body that ends before its length, on a connection that then breaks. */
async function halfARequest(bytes: number): Promise<void> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: asking('/effect/half') })
  const { hostname, port } = new URL(server.api)
  const socket = connect(Number(port), hostname).on('error', () => undefined)
  await once(socket, 'connect')
  const head = `POST /mcp HTTP/1.1\r\nhost: ${hostname}:${port}\r\nauthorization: Bearer storm.${SECRET}\r\n`
  const rest = `content-type: application/json\r\ncontent-length: ${body.length + 400}\r\n\r\n${body.slice(0, bytes)}`
  await new Promise((resolve) => socket.write(`${head}${rest}`, resolve))
  socket.destroy()
}

seeded('in the end clients, counter and journals say the same of every call', async () => {
  const { code, stderr } = await server.stop()
  expect([code, stderr.includes('INTERNAL')]).toEqual([0, false])
  expect(await counter.end()).toBe(counter.counted.length)
  const governed = join(project.path, '.symbiont', 'governed')
  const key = signingKeyOf(readFileSync(join(governed, 'audit-signing.key'))).publicKey
  const accounts = await accountsIn(world, governed, key)
  ledger.check(counter.counted, accounts)
  console.info(
    `hostile clients, seed ${SEED}: ${ledger.frames} frames, ${counter.counted.length} effects, ` +
      `${accounts.runs} journals`,
  )
})
