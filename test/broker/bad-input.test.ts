/**
 * Bad input, as the MCP client sees it: each has a code and a way out, costs no effect that nobody asked for, and ends the session
 * only where nobody can say any more what happened. Whatever becomes of one session, others go on.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { recordedTool, type TemporaryProject } from '../../src/testing/index.ts'
import { startHttpServer } from '../support/mcp/http-server.mjs'
import { type Bench, benchOf, httpServer, stdioServer } from '../support/mcp/upstreams.ts'
import { type Brokered, brokered, type Message, projectOf, type ToolAnswer, textOf } from '../support/mcp-client.ts'

const MIB = 1024 * 1024

let project: TemporaryProject
beforeAll(() => {
  project = projectOf()
})
afterAll(() => project[Symbol.dispose]())

/** What every refusal has, in a result or in an error of the protocol. */
interface Refusal {
  readonly code: string
  readonly hint: string
  readonly message: string
}

function refusalIn({ result, error }: Message): Refusal {
  if (error !== undefined) return { ...(error.data as unknown as Refusal), message: error.message }
  expect(result?.isError).toBe(true)
  const { structuredContent = {} } = result as ToolAnswer
  return { ...(structuredContent as unknown as Refusal), message: textOf(result as ToolAnswer) }
}

/** In sentences for people, without a stack and without a path of this machine. */
function expectRefusal(message: Message, code: string, about: RegExp): void {
  const refusal = refusalIn(message)
  expect(refusal.code).toBe(code)
  expect(refusal.hint).toMatch(/^[A-Z].{10,}/)
  expect(refusal.message).toMatch(about)
  expect(JSON.stringify(message)).not.toMatch(/\/tmp|node_modules|\bat \w+ \(/)
}

async function stillUsable(broker: Brokered): Promise<void> {
  broker.raw.call('still', 'system_health')
  expect((await broker.raw.result('still')).isError).toBe(false)
  expect(await broker.hangUp()).toBeNull()
  expect((await broker.entries()).at(-1)?.event).toMatchObject({ kind: 'Terminated', reason: 'Completed' })
}

describe('a call', () => {
  const CITY = {
    type: 'object',
    properties: {
      city: { type: 'string', maxLength: 10 },
      days: { type: 'array', items: { type: 'integer', minimum: 1 } },
    },
    required: ['city'],
    additionalProperties: false,
  } as const
  const args = (text: string, name = 'weather'): string =>
    `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":${JSON.stringify(name)},"arguments":${text}}}`
  const filled = (size: number): string => {
    const around = args('{"city":""}').length
    return args(`{"city":"${'x'.repeat(size - around)}"}`)
  }

  test.each<[string, string, string, RegExp]>([
    ['of a tool that does not exist', args('{}', 'whether'), 'TOOL_UNKNOWN', /no tool "whether"/],
    ['of a tool that every object has', args('{}', 'toString'), 'TOOL_UNKNOWN', /no tool "toString"/],
    ['of a tool whose name is none', args('{}', 'wea ther'), 'CALL_INVALID', /name of its tool/],
    ['without a member that is required', args('{}'), 'CALL_INVALID', /#.*required.*city/],
    ['with a member of another type', args('{"city":7}'), 'CALL_INVALID', /#\/city .*#\/properties\/city\/type/],
    ['with a text that is too long', args('{"city":"Llanfairpwll"}'), 'CALL_INVALID', /#\/city .*maxLength/],
    ['with a bad item in a list', args('{"city":"Bonn","days":[1,0]}'), 'CALL_INVALID', /#\/days\/1 .*minimum/],
    ['with a member that is not known', args('{"city":"Bonn","approved":true}'), 'CALL_INVALID', /"approved"/],
    ['with the name __proto__', args('{"city":"Bonn","__proto__":{"a":1}}'), 'INVALID_JSON', /__proto__/],
    ['with __proto__ deep inside', args('{"city":"Bonn","days":[{"__proto__":1}]}'), 'INVALID_JSON', /__proto__/],
    ['with the name constructor', args('{"city":"Bonn","constructor":{}}'), 'CALL_INVALID', /constructor/],
    ['with the name prototype', args('{"city":"Bonn","a":{"prototype":1}}'), 'CALL_INVALID', /prototype/],
    ['with arguments that are no object', args('[]'), 'INVALID_REQUEST', /parameters do not fit/],
    ['with a name that is no text', args('{}').replace('"weather"', '7'), 'INVALID_REQUEST', /parameters do not fit/],
    ['with more than its members', args('{},"task":{"ttl":1}'), 'INVALID_REQUEST', /parameters do not fit/],
    ['with a _meta that is no object', args('{},"_meta":7'), 'INVALID_REQUEST', /parameters do not fit/],
    ['that is a byte longer than a mebibyte', filled(MIB + 1), 'PAYLOAD_TOO_LARGE', /1048577 bytes/],
    ['that is larger than its evidence may be', filled(MIB - 200), 'PAYLOAD_TOO_LARGE', /bytes of evidence/],
  ])('%s is refused, does nothing, and leaves the session usable', async (_, frame, code, about) => {
    const weather = recordedTool('weather', { parameters: CITY })
    await using broker = await brokered({ project, tools: [weather] })
    await broker.raw.greet()
    broker.raw.send(`${frame}\n`)
    expectRefusal(await broker.raw.seen(({ id }) => id === 1 || id === null), code, about)
    expect(weather.ran).toEqual([])
    await stillUsable(broker)
  })
})

describe('257 tools', () => {
  test('of our own are more than a session may have, and nothing is opened', async () => {
    const tools = Array.from({ length: 257 }, (_, at) => recordedTool(`tool-${at}`))
    await expect(brokered({ project, tools })).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining('1 to 256 tools'),
      hint: expect.stringMatching(/./),
    })
  })

  test('of a foreign server are too many: none of them is offered, and the session has the others', async () => {
    await using bench = await benchOf([stdioServer('desk', 'many')])
    expect(bench.upstreams.unavailable.get('desk')).toContain('more than 256 tools')
    await expectLeftOut(bench, 'mcp__desk__echo-1')
  })
})

/** A tool that cannot be used is no tool of the session, and harms nobody. */
async function expectLeftOut(bench: Bench, name: string): Promise<void> {
  await using broker = await brokered({ project, tools: bench.upstreams.tools() })
  const { raw } = broker
  await raw.greet()
  raw.send({ jsonrpc: '2.0', id: 'list', method: 'tools/list' })
  const tools = (await raw.answer('list')).result?.tools as readonly { readonly name: string }[]
  expect(tools.map((tool) => tool.name)).not.toContain(name)
  raw.call('call', name)
  expectRefusal(await raw.answer('call'), 'TOOL_UNKNOWN', /no tool/)
  await stillUsable(broker)
}

describe('a foreign server that cannot be used from the start', () => {
  test.each([
    [
      'has a schema that does not compile',
      'uncompilable',
      'mcp__desk__uncompilable',
      /desk\/uncompilable: its input schema cannot be used/,
    ],
    ['exits', 'exits', 'mcp__desk__echo', /desk: .*exited with code 3/],
    ['prints garbage', 'babbles', 'mcp__desk__echo', /desk: .*no message/],
    ['says nothing', 'mute', 'mcp__desk__echo', /desk: .*was not ready after 100 ms/],
  ])('because it %s is left out, and whoever opened it is told why', async (_, mode, name, why) => {
    await using bench = await benchOf([stdioServer('desk', mode, mode === 'mute' ? { startTimeoutMs: 100 } : {})])
    const told = bench.news.flatMap((news) =>
      news.kind === 'Unavailable' ? [`${news.server}${news.tool === null ? '' : `/${news.tool}`}: ${news.reason}`] : [],
    )
    expect(told.join('\n')).toMatch(why)
    await expectLeftOut(bench, name)
  })
})

describe('a foreign server whose answer proves nothing', () => {
  /** Two sessions on one server that counts its effects in a file. */
  async function desk(toolTimeoutMs = 20_000) {
    const bench = await benchOf([])
    const effects = bench.folder.of('effects')
    writeFileSync(effects, '')
    const live = await bench.again(stdioServer('desk', 'honest', { effects }))
    const sessions = [
      await brokered({ project, tools: live.upstreams.tools(), toolTimeoutMs }),
      await brokered({ project, tools: live.upstreams.tools() }),
    ] as const
    for (const { raw } of sessions) await raw.greet()
    return {
      sessions,
      effects: () => readFileSync(effects, 'utf8').split('\n').slice(0, -1),
      [Symbol.asyncDispose]: async () => {
        for (const session of sessions) await session[Symbol.asyncDispose]()
        await live[Symbol.asyncDispose]()
      },
    }
  }

  /** Of the session that made the call: it is over, says why, and its journal says that somebody has to look. */
  async function expectOver(broker: Brokered): Promise<void> {
    broker.raw.call('later', 'system_health')
    expectRefusal(
      await broker.raw.answer('later'),
      'TOOL_SESSION_CLOSED',
      /unconfirmed, and reconciliation is required/,
    )
    expect(await broker.hangUp()).toMatchObject({ code: 'TOOL_SESSION_FAILED' })
    const report = await broker.report()
    expect(report.requires_reconciliation).toBe(true)
    expect(report.effects.filter(({ outcome }) => outcome === 'unknown')).toHaveLength(1)
  }

  async function expectEcho({ raw }: Brokered, id: string): Promise<void> {
    raw.call(id, 'mcp__desk__echo', { text: id })
    expect(textOf(await raw.result(id))).toBe(id)
  }

  test.each<[string, string, RegExp, number?]>([
    ['answers twice', 'twice', /which nobody asked or which it had answered/],
    ['answers with another id', 'other-id', /which nobody asked/],
    ['answers with the id as a text', 'text-id', /which nobody asked/],
    ['answers with invalid JSON', 'invalid-json', /is no message/],
    ['answers with a name that stands twice', 'equal-names', /appears twice/],
    ['prints garbage on stdout', 'garbage', /is no message/],
    ['answers with what is no result', 'no-result', /has not the form of a result/],
    ['answers with more than a mebibyte', 'too-long', /longer than 1048576 bytes/],
    ['exits', 'exits', /it exited with code 7/],
    ['answers late', 'late', /did not (finish|answer)/, 1000],
  ])('because it %s leaves the call unknown and ends its session, and no other', async (_, how, why, timeoutMs) => {
    await using at = await desk(timeoutMs)
    const [broker, other] = at.sessions
    await expectEcho(other, 'before')
    broker.raw.call('bad', 'mcp__desk__misbehave', { how })
    const answer = await broker.raw.answer('bad')
    expectRefusal(answer, 'CALL_UNCONFIRMED', why)
    expect(answer.result?.structuredContent).toMatchObject({ outcome: 'unknown' })
    await expectOver(broker)
    await expectEcho(other, 'after') // the server was started again
    await stillUsable(other)
    expect(at.effects().filter((line) => !line.startsWith('cancelled'))).toEqual([how])
  })

  test('because it answers a second time later spoils the call that runs then, and not the one that was answered', async () => {
    await using at = await desk()
    const [first, second] = at.sessions
    first.raw.call('one', 'mcp__desk__misbehave', { how: 'twice-later' })
    expect(textOf(await first.raw.result('one'))).toBe('one')
    second.raw.call('bad', 'mcp__desk__echo', { text: 'x' })
    expectRefusal(await second.raw.answer('bad'), 'CALL_UNCONFIRMED', /which it had answered/)
    await expectOver(second)
    await expectEcho(first, 'after')
    await stillUsable(first)
  })
})

test('a foreign server that is left alone for a while is not sent the call, and the client hears that from its code', async () => {
  await using bench = await benchOf([stdioServer('desk', 'honest')])
  for (let time = 0; time < 2; time += 1) {
    await expect(bench.call('mcp__desk__misbehave', { how: 'exits' })).rejects.toMatchObject({
      code: 'UPSTREAM_FAILED',
    })
  }
  await using broker = await brokered({ project, tools: bench.upstreams.tools() })
  await broker.raw.greet()
  broker.raw.call(1, 'mcp__desk__echo', { text: 'x' })
  expectRefusal(await broker.raw.answer(1), 'UPSTREAM_UNAVAILABLE', /failed 2 times in a row/)
  await stillUsable(broker)
})

test('a tool that is no longer the one that was pinned is refused with its code, and the session goes on', async () => {
  const server = await startHttpServer()
  await using bench = await benchOf([httpServer('web', server.url)])
  await using broker = await brokered({ project, tools: bench.upstreams.tools() })
  const { raw } = broker
  await raw.greet()
  server.state.mode = 'drifted'
  raw.call(1, 'mcp__web__echo', { text: 'x' })
  const first = await raw.result(1) // asked before every call, and not sent
  expect(first).toMatchObject({ isError: true, structuredContent: { status: 'not_done', code: 'CALL_NOT_DONE' } })
  expect(JSON.parse(textOf(first))).toMatchObject({
    code: 'UPSTREAM_CHANGED',
    sent: false,
    hint: expect.stringContaining('symbi mcp pin web'),
  })
  raw.call(2, 'mcp__web__echo', { text: 'x' })
  expectRefusal(await raw.answer(2), 'UPSTREAM_CHANGED', /is not the one that was pinned/)
  await stillUsable(broker)
  await server.close()
})
