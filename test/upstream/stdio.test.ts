import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { benchOf, stdioServer } from '../support/mcp/upstreams.ts'

test('a server over stdio is started, its tools are ours under prefixed names, and a call gives its text', async () => {
  await using bench = await benchOf([stdioServer('desk', 'honest')])
  const names = bench.upstreams.tools().map(({ definition }) => definition.name)
  expect(names).toEqual(['mcp__desk__echo', 'mcp__desk__note', 'mcp__desk__fail', 'mcp__desk__misbehave'])
  expect(bench.news[0]).toMatchObject({ kind: 'Said', line: 'hello \\u{001b}[31mred\\u{001b}[0m' })
  expect(bench.news).toContainEqual({ kind: 'Pinned', server: 'desk', tools: names })
  expect(await bench.call('mcp__desk__echo', { text: 'hi' })).toEqual({ content: 'hi', is_error: false })
  expect(await bench.call('mcp__desk__fail')).toEqual({ content: 'it did not work', is_error: true })
  expect(bench.tool('mcp__desk__echo').contract).toMatchObject({ action_id: 'tool_call::mcp__desk__echo' })
})

test.each([
  ['twice', 'which nobody asked or which it had answered'],
  ['other-id', 'which nobody asked'],
  ['text-id', 'it answered "'],
  ['invalid-json', 'is no message'],
  ['equal-names', 'appears twice'],
  ['garbage', 'is no message'],
  ['no-result', 'has not the form of a result'],
  ['exits', 'it exited with code 7'],
  ['babbles', 'it does not stop sending'],
  ['floods', 'it asks more than it takes answers to'],
  ['too-long', 'longer than 1048576 bytes'],
])(
  'a server that answers in the way "%s" leaves the call unknown, is started again, and the call is not repeated',
  async (how, reason) => {
    await using bench = await benchOf([stdioServer('desk', 'honest')])
    const effects = bench.folder.of('effects')
    await using live = await bench.again(stdioServer('desk', 'honest', { effects }))
    await expect(live.call('mcp__desk__misbehave', { how })).rejects.toMatchObject({
      code: expect.stringMatching('UPSTREAM_FAILED'),
      message: expect.stringContaining(reason),
    })
    expect(await live.call('mcp__desk__echo', { text: 'after' })).toEqual({ content: 'after', is_error: false })
    expect(readFileSync(effects, 'utf8')).toBe(`${how}\n`)
    expect(live.news).toContainEqual(expect.objectContaining({ kind: 'Lost', server: 'desk' }))
  },
)
