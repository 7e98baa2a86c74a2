import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { scripted } from '../../src/providers/index.ts'
import type { Message } from '../../src/providers/port.ts'
import { nodeWorld, type World } from '../../src/world/index.ts'
import { faultOf, OPTIONS } from './http-contract.ts'

const user = (content: string): Message => ({ role: 'user', content })
const system = (content: string): Message => ({ role: 'system', content })
const rule = (reply: object, when: object = {}) => ({ when, reply })

async function model(rules: readonly object[], world: World = nodeWorld()) {
  return await scripted({ text: JSON.stringify({ model: 'demo', rules }) }, world)
}

async function ask(rules: readonly object[], messages: readonly Message[], signal = new AbortController().signal) {
  return await (await model(rules)).complete({ messages }, OPTIONS, signal)
}

const folders: string[] = []
afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true })
})
async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'script-'))
  folders.push(path)
  return path
}

describe('scripted: rules', () => {
  test('a reply has the usage 1/1/2, the script’s model and no calls unless the rule says otherwise', async () => {
    expect(await ask([rule({ content: 'Hello.' })], [user('hi')])).toEqual({
      content: 'Hello.',
      tool_calls: [],
      finish_reason: 'stop',
      usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
      model: 'demo',
    })
    expect(await model([])).toMatchObject({ name: 'scripted', defaultModel: 'demo' })
  })

  test('a call’s arguments become canonical JSON text', async () => {
    const tool_calls = [{ id: 'health-call', name: 'system_health', arguments: { b: 1, a: [true, null] } }]
    const usage = { prompt_tokens: 5, completion_tokens: 6, total_tokens: 11 }
    const reply = await ask([rule({ tool_calls, usage })], [user('hi')])
    expect(reply).toMatchObject({ content: '', finish_reason: 'tool_calls', usage })
    expect(reply.tool_calls).toEqual([
      { id: 'health-call', name: 'system_health', arguments: '{"a":[true,null],"b":1}' },
    ])
  })

  test('the first rule whose conditions all hold answers', async () => {
    const rules = [
      rule({ content: '1' }, { agent: 'reviewer', last_role: 'user', contains: 'health' }),
      rule({ content: '2' }, { last_role: 'tool' }),
      rule({ content: '3' }, { contains: 'health' }),
      rule({ content: '4' }, { contains: 'health' }),
      rule({ content: '5' }),
    ]
    const say = async (...messages: Message[]) => (await ask(rules, messages)).content
    const reviewer = system("You are agent 'reviewer'.\nBe strict.")
    expect(await say(reviewer, user('how is its health?'))).toBe('1')
    expect(await say(system("You are agent 'other'."), user('how is its health?'))).toBe('3')
    expect(await say(user('health'), { role: 'tool', content: 'health is fine', tool_call_id: 'c' })).toBe('2')
    expect(await say(user('health'), { role: 'assistant', content: 'bye' })).toBe('5')
    expect(await say()).toBe('5')
  })

  test('the coordinator is the agent "coordinator", and only the system text names an agent', async () => {
    const rules = [rule({ content: 'c' }, { agent: 'coordinator' }), rule({ content: 'x' })]
    const coordinator = system('You are the coordinator of this project.\nTools: …')
    expect((await ask(rules, [coordinator, user('hi')])).content).toBe('c')
    expect((await ask(rules, [user("You are agent 'coordinator'.")])).content).toBe('x')
    expect((await ask(rules, [system('Be brief.'), user('hi')])).content).toBe('x')
  })

  test('{{last}} is the text of the last message, as it stands, everywhere', async () => {
    const reply = await ask([rule({ content: '<{{last}}|{{last}}>' })], [user("a $& {{last}} $' b")])
    expect(reply.content).toBe("<a $& {{last}} $' b|a $& {{last}} $' b>")
  })

  test('no matching rule is an error that says so and does not repeat the message', async () => {
    const asked = ask([rule({}, { contains: 'x' })], [system("You are agent 'a'."), user('the quick brown prompt')])
    const fault = await faultOf(asked)
    expect(fault.code).toBe('PROVIDER_ERROR')
    expect(fault.message).toMatch(/no rule of the script matches \(agent "a", last role "user"\)$/)
  })

  test.each([
    ['provider', 'PROVIDER_ERROR'],
    ['rate_limited', 'PROVIDER_RATE_LIMITED'],
    ['context_overflow', 'PROVIDER_CONTEXT_OVERFLOW'],
    ['model_unavailable', 'PROVIDER_MODEL_UNAVAILABLE'],
    ['invalid_request', 'PROVIDER_INVALID_REQUEST'],
    ['timeout', 'PROVIDER_TIMEOUT'],
    ['parse_error', 'PROVIDER_PARSE_ERROR'],
  ])('the error kind %s is %s', async (error, code) => {
    expect((await faultOf(ask([rule({ error })], [user('x')]))).code).toBe(code)
  })

  test('calls with one id twice, or none, propose nothing, as from any other model', async () => {
    const call = (id: string) => ({ id, name: 'n', arguments: {} })
    for (const tool_calls of [[call('a'), call('a')], [call('')]]) {
      expect((await faultOf(ask([rule({ tool_calls })], [user('x')]))).code).toBe('PROVIDER_PARSE_ERROR')
    }
  })
})

describe('scripted: time', () => {
  test('delay_ms is waited for, on the clock of the World', async () => {
    const real = nodeWorld()
    const slept: number[] = []
    const sleep = async (ms: number) => void slept.push(ms)
    const provider = await model([rule({ content: 'late', delay_ms: 5000 })], {
      ...real,
      clock: { ...real.clock, sleep },
    })
    const reply = await provider.complete({ messages: [] }, OPTIONS, new AbortController().signal)
    expect([reply.content, slept]).toEqual(['late', [5000]])
  })

  test.each([
    ['a stall', { stall: true, content: 'never' }],
    ['a delay', { delay_ms: 600_000 }],
  ])('%s ends with the reason of the abort', async (_what, reply) => {
    const abort = new AbortController()
    const reason = new Error('enough')
    const waiting = ask([rule(reply)], [user('x')], abort.signal)
    await new Promise((resolve) => setImmediate(resolve))
    abort.abort(reason)
    await expect(waiting).rejects.toBe(reason)
    await expect(ask([rule(reply)], [user('x')], AbortSignal.abort(reason))).rejects.toBe(reason)
  })
})

describe('scripted: files', () => {
  test('a script is read from its file, through a link too', async () => {
    const path = join(await folder(), 'demo.json')
    await writeFile(path, JSON.stringify({ model: 'from-file', rules: [] }))
    await symlink(path, `${path}.link`)
    for (const each of [path, `${path}.link`]) {
      expect((await scripted({ path: each }, nodeWorld())).defaultModel).toBe('from-file')
    }
  })

  test('a file that is missing, a folder or too long is refused by name, without its folder', async () => {
    const parent = await folder()
    await mkdir(join(parent, 'folder.json'))
    await writeFile(join(parent, 'long.json'), ' '.repeat(4 * 1024 * 1024 + 1))
    for (const name of ['missing.json', 'folder.json', 'long.json']) {
      const fault = await faultOf(scripted({ path: join(parent, name) }, nodeWorld()))
      expect(fault.code).toBe('CONFIG_INVALID')
      expect(fault.message).toContain(name)
      expect(fault.message).not.toContain(parent)
    }
  })

  test.each([
    ['{', /is not|ends|expected/],
    ['{"model":"m","model":"n","rules":[]}', /appears twice/],
    ['[]', /the value must be an object/],
    ['{"rules":[]}', /"model" is missing/],
    ['{"model":"","rules":[]}', /"model" must be/],
    ['{"model":"m"}', /"rules" is missing/],
    ['{"model":"m","rules":[],"more":1}', /"more" is not a known member/],
    ['{"model":"m","rules":[{"reply":{}}]}', /"rules\[0\].when" is missing/],
    ['{"model":"m","rules":[{"when":{}}]}', /"rules\[0\].reply" is missing/],
    ['{"model":"m","rules":[{"when":{"role":"x"},"reply":{}}]}', /"rules\[0\].when.role" is not a known member/],
    ['{"model":"m","rules":[{"when":{"last_role":"x"},"reply":{}}]}', /"rules\[0\].when.last_role" must be/],
    ['{"model":"m","rules":[{"when":{},"reply":{"error":"x"}}]}', /"rules\[0\].reply.error" must be/],
    ['{"model":"m","rules":[{"when":{},"reply":{"stall":false}}]}', /"rules\[0\].reply.stall" must be/],
    ['{"model":"m","rules":[{"when":{},"reply":{"delay_ms":-1}}]}', /"rules\[0\].reply.delay_ms" must be/],
    [
      '{"model":"m","rules":[{"when":{},"reply":{"usage":{"prompt_tokens":1}}}]}',
      /"rules\[0\].reply.usage.completion_tokens" is missing/,
    ],
    [
      '{"model":"m","rules":[{"when":{},"reply":{}},{"when":{},"reply":{"tool_calls":[{"id":"a","name":"n","arguments":"{}"}]}}]}',
      /"rules\[1\].reply.tool_calls\[0\].arguments" must be an object/,
    ],
  ])('the script %s is refused with the place', async (text, message) => {
    const fault = await faultOf(scripted({ text }, nodeWorld()))
    expect(fault.code).toBe('CONFIG_INVALID')
    expect(fault.message).toMatch(message)
  })
})
