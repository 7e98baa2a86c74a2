/** Bad input over the real door: each has its code, a sentence and a way out, and costs nobody anything. */
import { randomUUID } from 'node:crypto'
import { chmodSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import WebSocket from 'ws'
import type { ServerMessage } from '../../src/coordinator/index.ts'
import { type Code, parseId } from '../../src/core/index.ts'
import type { AuditReference } from '../../src/events/index.ts'
import { parsePublicKey, verifyRun } from '../../src/journal/index.ts'
import { openRuntime, type PolicyNews, serve } from '../../src/runtime/index.ts'
import { recordedTool, type TemporaryProject, temporaryProject } from '../../src/testing/index.ts'
import { nodeWorld } from '../../src/world/index.ts'
import type { ChatClient } from '../support/coordinator-fixture.ts'
import { modelOf } from '../support/scripted-model.ts'
import { type Served, served } from '../support/served.ts'

const answering = () => modelOf(async ({ messages }) => ({ content: `You said: ${messages.at(-1)?.content}` }))
const ID = 'ab6f8a52-0f0a-4d4a-9a5e-0c1c7a2f1b11'

/** Every refusal says what is wrong and then what to do: two sentences, no stack, no path of this machine. */
function expectRefusal(message: ServerMessage, code: Code, about: RegExp, requestId: string | null = null): void {
  expect(message).toMatchObject({ type: 'Error', code, request_id: requestId })
  const text = message.type === 'Error' ? message.message : ''
  expect(text).toMatch(about)
  expect(text).toMatch(/\. [A-Z].+$/)
  expect(text).not.toMatch(/\n|\/tmp|at \w+ \(/)
}

describe('frames', () => {
  let home: Served
  let model: ReturnType<typeof answering>
  let client: ChatClient
  let recorded: ServerMessage

  beforeEach(async () => {
    model = answering()
    home = await served({ provider: model, withKey: false })
    client = await home.connect()
    client.chat(ID, 'hello')
    recorded = await client.final()
  })

  afterEach(async () => {
    await home[Symbol.asyncDispose]()
  })

  /** What was recorded is still there, for this connection or a new one, and a new turn runs. */
  async function nothingIsLost(through: ChatClient, id = ID): Promise<void> {
    const asked = model.asked.length
    through.inspect(id, 'hello')
    expect(await through.final()).toEqual({ ...recorded, request_id: id, replayed: true })
    expect(model.asked).toHaveLength(asked)
    through.chat(randomUUID(), 'again')
    expect(await through.final()).toMatchObject({ type: 'ChatChunk', content: 'You said: again' })
    await through.close()
    await home.finish()
  }

  const frame = (id: unknown, content: unknown = 'x'): string => JSON.stringify({ type: 'ChatSend', id, content })
  const deep = `{"type":"Ping","x":${'['.repeat(100)}${']'.repeat(100)}}`
  test.each<[string, string | Buffer, RegExp]>([
    ['text that is no JSON', 'hello', /JSON/],
    ['an empty frame', '', /JSON/],
    ['half of a frame', '{"type":"ChatSend","id":"', /JSON/],
    ['a list', '[]', /object/],
    ['a number', '7', /object/],
    ['null', 'null', /object/],
    ['a trailing comma', '{"type":"Ping",}', /JSON/],
    ['two frames in one', '{"type":"Ping"}{"type":"Ping"}', /JSON/],
    ['deep JSON', deep, /deep|nest/],
    ['equal names', `{"type":"ChatSend","id":"${randomUUID()}","content":"a","content":"b"}`, /content/],
    ['the name __proto__', `{"type":"ChatSend","id":"${randomUUID()}","content":"a","__proto__":{}}`, /__proto__/],
    ['a lone surrogate', `{"type":"ChatSend","id":"${randomUUID()}","content":"\\ud800"}`, /surrogate|Unicode/i],
    ['an integer beyond 2^53-1', '{"type":"Ping","n":9007199254740993}', /2\^53|integer|9007199254740991/],
    ['a type that is not known', '{"type":"RunEverything"}', /type/],
    ['no type', '{}', /type/],
    ['a type in lower case', '{"type":"ping"}', /type/],
    ['content that is no text', frame(randomUUID(), 7), /content/],
    ['no content', JSON.stringify({ type: 'ChatSend', id: randomUUID() }), /content/],
    ['an id that is no text', frame(7), /id/],
    ['no id', JSON.stringify({ type: 'ChatSend', content: 'x' }), /id/],
    ['a binary frame', Buffer.from(frame(randomUUID())), /binary/],
    ['a binary frame that is empty', Buffer.alloc(0), /binary/],
  ])('%s is a PARSE_ERROR, and the connection stays open', async (_name, sent, about) => {
    client.send(sent)
    expectRefusal(await client.next(), 'PARSE_ERROR', about)
    expect(model.asked).toHaveLength(1)
    await nothingIsLost(client)
  })

  test.each([
    ['empty', ''],
    ['blank', ' '.repeat(36)],
    ['nil', '00000000-0000-0000-0000-000000000000'],
    ['too long', `${randomUUID()}0`],
    ['too short', randomUUID().slice(1)],
    ['without hyphens', randomUUID().replaceAll('-', '')],
    ['in braces', `{${randomUUID().slice(2)}}`],
    ['a path', '../../../../../../../../etc/passwd/aa'],
    ['very long', 'a'.repeat(60_000)],
  ])('an id that is %s is refused for sending and for asking [trap:empty-id]', async (_name, id) => {
    for (const type of ['ChatSend', 'ChatInspect']) {
      client.send({ type, id, content: 'x' })
      expectRefusal(await client.next(), 'INVALID_INVOCATION_ID', /UUID/)
    }
    expect(model.asked).toHaveLength(1)
    await nothingIsLost(client)
  })

  test('an id in upper case is the same id, and comes back as it was sent', async () => {
    await nothingIsLost(client, ID.toUpperCase())
  })

  test('a frame that is too large closes the connection with 1009, and its id can be asked for afterwards', async () => {
    const [id, large] = [randomUUID(), 'x'.repeat(128 * 1024)]
    const closed = client.closed
    client.chat(id, large)
    expect(await closed).toBe(1009)
    const next = await home.connect()
    next.inspect(id, large.slice(0, 100))
    expectRefusal(await next.next(), 'INVOCATION_NOT_FOUND', /No invocation/, id)
    await nothingIsLost(next)
  })

  test('content that is too large is refused before its id is looked at', async () => {
    client.chat('', 'é'.repeat(32 * 1024 + 1))
    expectRefusal(await client.next(), 'MESSAGE_TOO_LARGE', /65538 bytes.*65536/)
    await nothingIsLost(client)
  })

  test('a turn that runs while bad frames come is not disturbed by them', async () => {
    let go = (): void => undefined
    const waiting = new Promise<void>((resolve) => {
      go = resolve
    })
    await home[Symbol.asyncDispose]()
    home = await served({
      provider: modelOf(async () => {
        await waiting
        return { content: 'undisturbed' }
      }),
      withKey: false,
    })
    const busy = await home.connect()
    busy.chat(ID)
    expect(await busy.next()).toMatchObject({ type: 'AuditOpened' })
    for (const sent of ['{', Buffer.from([1]), frame('nil')]) busy.send(sent)
    for (const code of ['PARSE_ERROR', 'PARSE_ERROR', 'INVALID_INVOCATION_ID'] as const) {
      expect(await busy.next()).toMatchObject({ type: 'Error', code })
    }
    go()
    expect(await busy.final()).toMatchObject({ type: 'ChatChunk', content: 'undisturbed', request_id: ID })
  })
})

describe('policies', () => {
  let project: TemporaryProject
  beforeEach(() => {
    project = temporaryProject()
  })
  afterEach(() => {
    project[Symbol.dispose]()
  })

  const NOTE = 'permit(principal, action == Action::"tool_call::note", resource);'
  const noting = () =>
    modelOf(async ({ messages }) =>
      messages.at(-1)?.role === 'tool'
        ? { content: `It said: ${messages.at(-1)?.content}` }
        : { tool_calls: [{ id: `call-${messages.length}`, name: 'note', arguments: '{}' }] },
    )

  /** One turn; resolves with its final message. */
  async function turn(home: Served): Promise<ServerMessage> {
    const client = await home.connect()
    client.chat(randomUUID())
    const final = await client.final()
    await client.close()
    return final
  }

  test.each<[string, (folder: string) => void]>([
    ['a policy file with a syntax error', (folder) => writeFileSync(join(folder, 'bad.cedar'), 'permit(principal')],
    [
      'a policy file that is not UTF-8',
      (folder) => writeFileSync(join(folder, 'bad.cedar'), Buffer.from([0x70, 0xff])),
    ],
    ['a policy file that is a folder', (folder) => mkdirSync(join(folder, 'bad.cedar'))],
    ['a policy file that is a link to nothing', (folder) => symlinkSync('/nowhere/at-all', join(folder, 'bad.cedar'))],
    [
      'a policy folder that cannot be read',
      (folder) => {
        rmSync(folder, { recursive: true })
        symlinkSync('/nowhere/at-all', folder)
      },
    ],
  ])('%s: at the start everything is denied, replies included; later the old policies stay', async (_name, spoil) => {
    project.policy('note', NOTE)
    const note = recordedTool('note')
    const news: PolicyNews[] = []
    const start = () =>
      served({ project, provider: noting(), tools: [note], onPolicies: (told) => news.push(told), withKey: false })
    const before = await start()
    expect(await turn(before)).toMatchObject({ type: 'ChatChunk', content: expect.stringContaining('done') })
    spoil(join(project.path, 'policies'))
    expect(await turn(before)).toMatchObject({ type: 'ChatChunk', content: expect.stringContaining('done') })
    expect(note.ran).toHaveLength(2)
    expect(news.map(({ kind }) => kind)).toEqual(['Loaded', 'Kept'])
    await before.finish()

    const after = await start()
    const refused = await turn(after)
    expectRefusal(refused, 'LOOP_ERROR', /limit of iterations/, refused.type === 'Error' ? refused.request_id : '')
    expect(note.ran).toHaveLength(2)
    expect(news.at(-1)).toMatchObject({ kind: 'Refused' })
    const { problem } = news.at(-1) as Extract<PolicyNews, { kind: 'Refused' }>
    expect(['POLICY_INVALID', 'POLICY_UNREADABLE']).toContain(problem.code)
    expect(problem.hint).toBeTypeOf('string')
    await after.finish()
  })
})

describe('the signing key', () => {
  test.each<[string, (path: string) => void, RegExp]>([
    ['too short', (path) => writeFileSync(path, Buffer.alloc(31, 7), { mode: 0o600 }), /31 bytes/],
    ['too long', (path) => writeFileSync(path, Buffer.alloc(33, 7), { mode: 0o600 }), /33 bytes/],
    ['empty', (path) => writeFileSync(path, '', { mode: 0o600 }), /0 bytes/],
    ['readable for others', (path) => writeFileSync(path, Buffer.alloc(32, 7), { mode: 0o640 }), /signing key/],
    ['a link', (path) => symlinkSync('/dev/urandom', path), /signing key/],
    ['a folder', (path) => mkdirSync(path), /signing key/],
  ])('that is %s makes the audit unavailable, and the model is not asked', async (_name, make, about) => {
    using project = temporaryProject()
    const governed = join(project.path, '.symbiont', 'governed')
    mkdirSync(governed, { recursive: true, mode: 0o700 })
    chmodSync(join(project.path, '.symbiont'), 0o700)
    const path = join(governed, 'audit-signing.key')
    make(path)
    if (_name === 'readable for others') chmodSync(path, 0o640)
    const model = answering()
    await using home = await served({ project, provider: model, withKey: false })
    const client = await home.connect()
    const id = randomUUID()
    client.chat(id)
    expectRefusal(await client.next(), 'AUDIT_UNAVAILABLE', about, id)
    expect(model.asked).toHaveLength(0)
    // mended, the same id never runs: nobody can know how far it came. Another one does.
    rmSync(path, { recursive: true })
    client.chat(id)
    expect(await client.final()).toMatchObject({ type: 'Error', code: 'INVOCATION_UNRESOLVED' })
    client.chat(randomUUID())
    expect(await client.final()).toMatchObject({ type: 'ChatChunk' })
    expect(model.asked).toHaveLength(1)
  })
})

describe('servers that must not start', () => {
  const options = { log: { write: () => undefined }, port: 0, legacyToken: 'x' }

  test('a second server on a project is refused, told who holds it, and harms nothing', async () => {
    await using home = await served({ provider: answering(), withKey: false })
    const second = await openRuntime({ project: home.project.path, provider: answering() })
    const refusal = await serve(second, options).catch((error: unknown) => error)
    expect(refusal).toMatchObject({ code: 'PROJECT_HELD', hint: expect.any(String) })
    expect(String(refusal)).toContain(String(process.pid))
    expect(String(refusal)).toContain(home.service.server.url)
    // reading and running beside the server is fine: only serving is exclusive
    expect((await second.ask('beside')).content).toBe('You said: beside')
    await second.close()
    const client = await home.connect()
    client.chat(randomUUID(), 'still here')
    expect(await client.final()).toMatchObject({ type: 'ChatChunk', content: 'You said: still here' })
    await client.close()
    await home.finish()
  })

  test('a port in use is refused with a way out, and the project is free afterwards', async () => {
    const taken = createServer().listen(0, '127.0.0.1')
    await new Promise((resolve) => taken.once('listening', resolve))
    const { port } = taken.address() as { port: number }
    using project = temporaryProject()
    await using runtime = await openRuntime({ project: project.path, provider: answering() })
    await expect(serve(runtime, { ...options, port })).rejects.toMatchObject({
      code: 'PORT_IN_USE',
      message: expect.stringContaining(String(port)),
      hint: expect.stringContaining('port'),
    })
    await using service = await serve(runtime, options)
    expect(service.server.port).toBeGreaterThan(0)
    taken.close()
  })
})

test('a platform without the file guarantees runs nothing, and verifies what another one recorded', async () => {
  using project = temporaryProject()
  const model = answering()
  let audit: AuditReference
  {
    await using runtime = await openRuntime({ project: project.path, provider: model })
    ;({ audit } = await runtime.ask('hello'))
  }
  const here = nodeWorld()
  const world = {
    ...here,
    files: { ...here.files, durable: false },
    processes: { ...here.processes, platform: 'win32' },
  }
  await using runtime = await openRuntime({ project: project.path, provider: model, world })
  await expect(runtime.ask('hello')).rejects.toMatchObject({
    code: 'AUDIT_UNAVAILABLE',
    message: expect.stringMatching(/^Cannot keep evidence on win32: .*Keep journals on Linux or macOS/),
  })
  const log = { write: () => undefined }
  await expect(serve(runtime, { log, port: 0, legacyToken: 'x' })).rejects.toMatchObject({
    code: 'PLATFORM_UNSUPPORTED',
  })
  expect(model.asked).toHaveLength(1)
  const entries = await verifyRun(world, audit.path, parsePublicKey(audit.public_key), parseId('run', audit.run_id))
  expect(entries.at(-1)?.event).toMatchObject({ kind: 'Terminated', reason: 'Completed' })
})

test('a client that speaks no WebSocket after the upgrade is closed, and the others notice nothing', async () => {
  await using home = await served({ provider: answering(), withKey: false })
  const good = await home.connect()
  const bad = new WebSocket(`${home.service.server.chatUrl}?token=legacy-token`)
  await new Promise((resolve) => bad.once('open', resolve))
  const closed = new Promise((resolve) => bad.once('close', resolve))
  ;(bad as unknown as { _socket: { write(bytes: Buffer): void } })._socket.write(Buffer.from('GET / HTTP/1.1\r\n\r\n'))
  bad.on('error', () => undefined)
  expect([1002, 1006]).toContain(await closed)
  good.chat(randomUUID(), 'fine')
  expect(await good.final()).toMatchObject({ type: 'ChatChunk', content: 'You said: fine' })
  await good.close()
  await home.finish()
})
