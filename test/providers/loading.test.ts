import { expect, test, vi } from 'vitest'
import { startAnthropicServer } from '../support/anthropic-server.ts'
import { startOpenAiServer } from '../support/openai-server.ts'

const loaded = vi.hoisted(() => [] as string[])
vi.mock('@ai-sdk/openai-compatible', async (original) => {
  loaded.push('openai-compatible')
  return await original()
})
vi.mock('@ai-sdk/anthropic', async (original) => {
  loaded.push('anthropic')
  return await original()
})

test('an SDK is loaded by the first inference that needs it, and not before', async () => {
  const { anthropic, openAiCompatible, providerFromSettings } = await import('../../src/providers/index.ts')
  const { nodeWorld } = await import('../../src/world/index.ts')
  await using openAi = await startOpenAiServer({ text: 'x' })
  await using claude = await startAnthropicServer({ text: 'x' })
  const world = nodeWorld()
  const providers = [
    openAiCompatible({ baseUrl: openAi.baseUrl, model: 'm' }, world),
    anthropic({ baseUrl: claude.baseUrl, model: 'm' }, world),
  ]
  await providerFromSettings({ OPENAI_API_KEY: 'k' }, undefined, world)
  expect(loaded).toEqual([])
  const after: string[][] = []
  for (const provider of providers) {
    const options = { max_tokens: 9, temperature: 0, response_format: { type: 'text' } } as const
    await provider.complete({ messages: [{ role: 'user', content: 'x' }] }, options, new AbortController().signal)
    after.push([...loaded])
  }
  expect(after).toEqual([['openai-compatible'], ['openai-compatible', 'anthropic']])
})
