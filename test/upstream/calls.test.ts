/** One call of a foreign tool: its answer, its bounds, its end. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { done } from '../../src/broker/results.ts'
import { Fault } from '../../src/core/index.ts'
import { type Bench, benchOf, stdioServer } from '../support/mcp/upstreams.ts'
import { notDoneIn } from '../support/tools.ts'

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve))
}

async function desk(mode = 'honest'): Promise<Bench & { readonly effects: string }> {
  const first = await benchOf([])
  const effects = first.folder.of('effects')
  return Object.assign(await first.again(stdioServer('desk', mode, { effects })), { effects })
}

const misbehave = (bench: Bench, how: string) => bench.call('mcp__desk__misbehave', { how })

test('a large answer is cut once, and says so: a tool client is shown all that is kept, and the notice', async () => {
  await using bench = await desk()
  const { content } = (await misbehave(bench, 'huge')) as { readonly content: string }
  expect(content.slice(-120)).toMatch(
    /xx\n\[cut: the server answered with 921600 bytes of text, and the first 261120 are kept\]$/,
  )
  expect(done(content)).toEqual({ content: [{ type: 'text', text: content }], isError: false })
})

test('an error of the tool is unknown, until the operator vouches that this server knows when it says so', async () => {
  await using strict = await desk()
  expect(await strict.call('mcp__desk__fail')).toEqual({ content: 'it did not work', is_error: true })
  const vouched = await strict.again(stdioServer('desk', 'honest', { effects: strict.effects, errorAnswers: 'known' }))
  expect(await vouched.call('mcp__desk__fail')).toEqual({
    content: 'The tool reported an error: it did not work',
    is_error: false,
    not_done: true,
  })
  expect(await misbehave(vouched, 'error-answer')).toMatchObject({ is_error: true }) // no answer of the tool
  const [before, after] = [strict, vouched].map((bench) => bench.tool('mcp__desk__fail').contract?.digest)
  expect(after).not.toBe(before)
  await vouched.upstreams.close()
})

test('content that is no text is described, and structured content is shown where there is no text', async () => {
  await using bench = await desk()
  expect(await misbehave(bench, 'mixed')).toEqual({
    content:
      'first\n[image, "image/png", 3 bytes, not shown]\n[resource "file:///a"]\ninside\n[content of the kind "hologram", which is not shown]',
    is_error: false,
  })
  expect(await misbehave(bench, 'structured')).toEqual({ content: '{"a":[true],"b":1}', is_error: false })
})

test('an error in the form of the protocol is an error of the tool, with its text made visible', async () => {
  await using bench = await desk()
  expect(await misbehave(bench, 'error-answer')).toEqual({
    content: expect.stringMatching(/^The server answered with the error -32602: .*no such \\u\{001b\}\[2Jthing$/),
    is_error: true,
  })
  expect(await bench.call('mcp__desk__echo', { text: 'on' })).toEqual({ content: 'on', is_error: false })
})

test('what a server asks of us is refused: sampling, roots, elicitation', async () => {
  await using bench = await desk()
  expect(await misbehave(bench, 'asks')).toEqual({
    content: 'ask-sampling/createMessage -32601\nask-roots/list -32601\nask-elicitation/create -32601',
    is_error: false,
  })
})

test('a second answer that comes later breaks the connection: what is in flight then is unknown', async () => {
  await using bench = await desk()
  expect(await misbehave(bench, 'twice-later')).toEqual({ content: 'one', is_error: false })
  await expect(bench.call('mcp__desk__echo', { text: 'x' })).rejects.toMatchObject({ code: 'UPSTREAM_FAILED' })
  expect(await bench.call('mcp__desk__echo', { text: 'y' })).toEqual({ content: 'y', is_error: false })
})

test('a call that is cancelled is taken back at the server, and its late answer harms nobody', async () => {
  await using bench = await desk()
  const cancel = new AbortController()
  const call = bench.call('mcp__desk__misbehave', { how: 'late' }, { signal: cancel.signal })
  await until(() => fileText(bench.effects).includes('late'))
  cancel.abort(new Fault('RUN_CANCELLED', { message: 'enough' }))
  await expect(call).rejects.toMatchObject({ code: 'RUN_CANCELLED' })
  await until(() => fileText(bench.effects).includes('cancelled'))
  expect(await bench.call('mcp__desk__echo', { text: 'on' })).toEqual({ content: 'on', is_error: false })
  expect(bench.news.filter(({ kind }) => kind === 'Lost')).toEqual([])
})

test('a call without an answer ends at its deadline, unknown, and the server is replaced', async () => {
  await using first = await benchOf([])
  const effects = first.folder.of('effects')
  const bench = await first.again(stdioServer('desk', 'honest', { effects, callTimeoutMs: 200 }))
  await expect(misbehave(bench, 'late')).rejects.toMatchObject({
    code: 'UPSTREAM_FAILED',
    message: expect.stringContaining('it did not answer in time'),
  })
  expect(bench.news).toContainEqual(expect.objectContaining({ kind: 'Lost', server: 'desk' }))
  expect(fileText(effects)).toMatch(/^late\n/)
  await bench.upstreams.close()
})

test('a server that breaks again and again is left alone for a while, and the call is not sent', async () => {
  await using bench = await desk()
  for (let time = 0; time < 2; time += 1) {
    await expect(misbehave(bench, 'exits')).rejects.toMatchObject({ code: 'UPSTREAM_FAILED' })
  }
  const answer = notDoneIn(await misbehave(bench, 'exits'))
  expect(answer).toMatchObject({
    code: 'UPSTREAM_UNAVAILABLE',
    sent: false,
    reason: expect.stringMatching(/failed 2 times in a row/),
  })
  expect(fileText(bench.effects)).toBe('exits\nexits\n')
})

test('arguments that fill more than a message are refused before policy', async () => {
  await using bench = await desk()
  expect(() => bench.tool('mcp__desk__echo').resolve?.({ text: 'x'.repeat(1024 * 1024 - 100) })).toThrow(
    expect.objectContaining({ code: 'CALL_INVALID' }),
  )
})

test('many calls at once get their own answers', async () => {
  await using bench = await desk()
  const texts = Array.from({ length: 50 }, (_, at) => `text ${at}`)
  const answers = await Promise.all(texts.map((text) => bench.call('mcp__desk__echo', { text })))
  expect(answers).toEqual(texts.map((content) => ({ content, is_error: false })))
})

test('closing waits until every child is gone, also one that does not want to go', async () => {
  await using bench = await benchOf([])
  const pidFile = bench.folder.of('pid')
  const live = await bench.again(stdioServer('desk', 'stubborn', { effects: pidFile }))
  await live.call('mcp__desk__note', { line: 'alive' })
  const pid = Number(await pidOf(live))
  expect(isAlive(pid)).toBe(true)
  await live.upstreams.close()
  expect(isAlive(pid)).toBe(false)
  const answer = await live.call('mcp__desk__note', { line: 'again' })
  expect(notDoneIn(answer)).toMatchObject({ code: 'UPSTREAM_UNAVAILABLE', sent: false })
})

async function pidOf(bench: Bench): Promise<string> {
  const { content } = (await misbehave(bench, 'pid')) as { readonly content: string }
  return content
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

function fileText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
