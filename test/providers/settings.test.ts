import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type ProviderSettings, providerFromSettings } from '../../src/providers/index.ts'
import { nodeWorld } from '../../src/world/index.ts'
import { startAnthropicServer } from '../support/anthropic-server.ts'
import { startOpenAiServer } from '../support/openai-server.ts'
import { CONVERSATION, faultOf, KEY, never, OPTIONS } from './http-contract.ts'

const world = nodeWorld()
const chosen = async (settings: ProviderSettings, flag?: string) => {
  const provider = await providerFromSettings(settings, flag, world)
  return provider === null ? null : [provider.name, provider.defaultModel]
}

const ALL = { OPENROUTER_API_KEY: 'a', OPENAI_API_KEY: 'b', ANTHROPIC_API_KEY: 'c' }

test('the first key that is set chooses: OpenRouter, OpenAI, Anthropic', async () => {
  expect(await chosen(ALL)).toEqual(['openrouter', 'anthropic/claude-sonnet-4.5'])
  expect(await chosen({ ...ALL, OPENROUTER_API_KEY: ' ' })).toEqual(['openai', 'gpt-4.1'])
  expect(await chosen({ ANTHROPIC_API_KEY: 'c' })).toEqual(['anthropic', 'claude-sonnet-4-5'])
})

test('each has a model setting of its own', async () => {
  const models = { OPENROUTER_MODEL: 'r', CHAT_MODEL: 'o', ANTHROPIC_MODEL: 'a' }
  expect(await chosen({ ...models, ...ALL })).toEqual(['openrouter', 'r'])
  expect(await chosen({ ...models, OPENAI_API_KEY: 'b', ANTHROPIC_API_KEY: 'c' })).toEqual(['openai', 'o'])
  expect(await chosen({ ...models, ANTHROPIC_API_KEY: 'c' })).toEqual(['anthropic', 'a'])
})

test('nothing configured is null, and a blank setting is not set', async () => {
  expect(await chosen({})).toBeNull()
  expect(
    await chosen({
      OPENAI_API_KEY: '',
      ANTHROPIC_API_KEY: '\n',
      CHAT_MODEL: 'm',
      ANTHROPIC_BASE_URL: 'http://127.0.0.1',
    }),
  ).toBeNull()
})

test('a base URL without a key is a server that needs none, after every key', async () => {
  const local = { OPENAI_BASE_URL: 'http://127.0.0.1:11434/v1', CHAT_MODEL: 'llama' }
  expect(await chosen(local)).toEqual(['openai', 'llama'])
  expect(await chosen({ ...local, ANTHROPIC_API_KEY: 'c' })).toEqual(['anthropic', 'claude-sonnet-4-5'])
})

test('a flag wins over every key, and names its model', async () => {
  expect(await chosen(ALL, 'anthropic:claude-x')).toEqual(['anthropic', 'claude-x'])
  expect(await chosen(ALL, 'openai:llama3.2:3b')).toEqual(['openai', 'llama3.2:3b'])
  expect(await chosen(ALL, 'openrouter:a/b:free')).toEqual(['openrouter', 'a/b:free'])
})

test('scripted:FILE reads the file', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'settings-'))
  try {
    await writeFile(join(folder, 'a:b.json'), '{"model":"demo","rules":[]}')
    expect(await chosen(ALL, `scripted:${join(folder, 'a:b.json')}`)).toEqual(['scripted', 'demo'])
  } finally {
    await rm(folder, { recursive: true })
  }
})

test.each(['', 'openai', 'openai:', ':m', 'scripted:', 'gpt:4', 'OPENAI:m'])(
  'the flag %j is a usage error',
  async (flag) => {
    expect((await faultOf(chosen(ALL, flag))).code).toBe('USAGE')
  },
)

test('a flag without its key is refused before anything is sent, unless a base URL is set', async () => {
  for (const flag of ['openai:m', 'anthropic:m', 'openrouter:m']) {
    const fault = await faultOf(chosen({}, flag))
    expect(fault.code).toBe('CONFIG_INVALID')
    expect(fault.message).toMatch(/_API_KEY is not set$/)
  }
  expect(await chosen({ ANTHROPIC_BASE_URL: 'http://127.0.0.1:9' }, 'anthropic:m')).toEqual(['anthropic', 'm'])
})

test('base URLs and keys reach the wire, a key without its trailing line end', async () => {
  await using openAi = await startOpenAiServer({ text: 'from openai' })
  await using claude = await startAnthropicServer({ text: 'from anthropic' })
  const say = async (settings: ProviderSettings) =>
    (await (await providerFromSettings(settings, undefined, world))?.complete(CONVERSATION, OPTIONS, never()))?.content
  expect(await say({ OPENROUTER_API_KEY: `${KEY}\n`, OPENROUTER_BASE_URL: openAi.baseUrl })).toBe('from openai')
  expect(await say({ OPENAI_API_KEY: KEY, OPENAI_BASE_URL: openAi.baseUrl })).toBe('from openai')
  expect(await say({ ANTHROPIC_API_KEY: KEY, ANTHROPIC_BASE_URL: claude.baseUrl })).toBe('from anthropic')
  expect(openAi.requests.map(({ headers }) => headers.authorization)).toEqual([`Bearer ${KEY}`, `Bearer ${KEY}`])
  expect(claude.requests[0]?.headers['x-api-key']).toBe(KEY)
})

test('a key that no header can carry is refused without being repeated', async () => {
  expect((await faultOf(chosen({ OPENAI_API_KEY: `${KEY}\u0000` }))).code).toBe('CONFIG_INVALID')
})
