import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { nodeWorld, type World } from '../../src/world/index.ts'
import { temporaryFolder } from '../support/folder.ts'
import { type Bench, benchOf, stdioServer } from '../support/mcp/upstreams.ts'
import { notDoneIn } from '../support/tools.ts'

const CHANGED = 'its description or its schema is not the one that was pinned'

describe('pins', () => {
  test('are made at the first use, told, kept in a private file, and hold the next time', async () => {
    await using first = await benchOf([stdioServer('desk', 'honest', { expose: ['echo', 'note'] })])
    expect(first.news).toContainEqual({ kind: 'Pinned', server: 'desk', tools: ['mcp__desk__echo', 'mcp__desk__note'] })
    expect(statSync(first.pinFile).mode & 0o777).toBe(0o600)
    const file = JSON.parse(readFileSync(first.pinFile, 'utf8'))
    expect(Object.keys(file.servers.desk)).toEqual(['echo', 'note'])
    expect(file.servers.desk.echo).toMatchObject({
      digest: expect.stringMatching(/^sha256:/),
      definition: { name: 'echo' },
    })
    const second = await first.again(stdioServer('desk', 'honest', { expose: ['echo', 'note'] }))
    expect(second.news.filter(({ kind }) => kind === 'Pinned')).toEqual([])
    expect(second.upstreams.tools()).toHaveLength(2)
    await second.upstreams.close()
  })

  test('a tool that drifted while nobody looked is refused, and the others stay', async () => {
    await using first = await benchOf([stdioServer('desk', 'honest')])
    const second = await first.again(stdioServer('desk', 'drifted'))
    expect(second.upstreams.unavailable.get('desk/echo')).toContain(CHANGED)
    expect(second.upstreams.unavailable.get('desk/echo')).toContain('symbi mcp pin desk')
    expect(second.upstreams.tools().map(({ definition }) => definition.name)).not.toContain('mcp__desk__echo')
    expect(await second.call('mcp__desk__fail')).toMatchObject({ is_error: true })
    await second.upstreams.close()
  })

  test('of two that use a server for the first time at once, the second takes what the first has pinned', async () => {
    const real = nodeWorld()
    let rival: Bench | null = null
    const open: World['files']['open'] = async (path, how) => {
      const file = await real.files.open(path, how)
      if (rival === null && path.endsWith('mcp-pins.json')) {
        rival = await benchOf([stdioServer('desk', 'drifted')], { folder }) // there are no pins yet, and now there are
      }
      return file
    }
    const folder = await temporaryFolder()
    await using bench = await benchOf([stdioServer('desk', 'honest')], {
      folder,
      world: { ...real, files: { ...real.files, open } },
    })
    const pinned = readFileSync(bench.pinFile, 'utf8')
    expect(pinned).toContain('send me your')
    expect(bench.upstreams.unavailable.get('desk/echo')).toContain(CHANGED)
    expect(bench.news.filter(({ kind }) => kind === 'Pinned')).toEqual([])
    await (rival as Bench | null)?.upstreams.close()
  })

  test('a changed command does not open the first use again: the server is known by its name', async () => {
    await using first = await benchOf([stdioServer('desk', 'honest')])
    const second = await first.again(stdioServer('desk', 'drifted', { env: { OTHER: '1' } }))
    expect(second.upstreams.unavailable.get('desk/echo')).toContain(CHANGED)
    await second.upstreams.close()
  })

  test('what a known server adds is not taken under "*", and is pinned where the operator names it', async () => {
    await using first = await benchOf([stdioServer('desk', 'honest')])
    const second = await first.again(stdioServer('desk', 'grown'))
    expect(second.upstreams.unavailable.get('desk/shout')).toContain('added it after its tools were pinned')
    const third = await second.again(stdioServer('desk', 'grown', { expose: ['shout'] }))
    expect(third.news).toContainEqual({ kind: 'Pinned', server: 'desk', tools: ['mcp__desk__shout'] })
    await third.upstreams.close()
  })

  test('a change that is announced while it runs is found, and policy is not even asked', async () => {
    await using first = await benchOf([])
    const mode = first.folder.of('mode')
    writeFileSync(mode, 'honest')
    const bench = await first.again(stdioServer('desk', `@${mode}`))
    expect(await bench.call('mcp__desk__echo', { text: 'a' })).toEqual({ content: 'a', is_error: false })
    writeFileSync(mode, 'drifted')
    await bench.call('mcp__desk__misbehave', { how: 'changes' })
    const answer = await bench.call('mcp__desk__echo', { text: 'secret' })
    expect(notDoneIn(answer)).toMatchObject({ code: 'UPSTREAM_CHANGED', sent: false })
    expect(() => bench.tool('mcp__desk__echo').resolve?.({ text: 'secret' })).toThrow(
      expect.objectContaining({ code: 'UPSTREAM_CHANGED', hint: expect.stringContaining('symbi mcp pin desk') }),
    )
    expect(bench.news).toContainEqual({ kind: 'Unavailable', server: 'desk', tool: 'echo', reason: CHANGED })
    expect(await bench.call('mcp__desk__fail')).toMatchObject({ is_error: true })
    writeFileSync(mode, 'honest') // and a change that is taken back is forgiven: what is pinned is what counts
    await bench.call('mcp__desk__misbehave', { how: 'changes' })
    expect(await bench.call('mcp__desk__echo', { text: 'b' })).toEqual({ content: 'b', is_error: false })
    await bench.upstreams.close()
  })

  test('a server that comes back with another tool than before is not called', async () => {
    await using first = await benchOf([])
    const mode = first.folder.of('mode')
    writeFileSync(mode, 'honest')
    const bench = await first.again(stdioServer('desk', `@${mode}`))
    writeFileSync(mode, 'drifted')
    await expect(bench.call('mcp__desk__misbehave', { how: 'exits' })).rejects.toMatchObject({
      code: 'UPSTREAM_FAILED',
    })
    const answer = await bench.call('mcp__desk__echo', { text: 'secret' })
    expect(notDoneIn(answer)).toMatchObject({ code: 'UPSTREAM_CHANGED', sent: false })
    await bench.upstreams.close()
  })

  test.each([
    ['{"version":1,"servers":{"desk":{"echo":', 'it cannot be read'],
    ['{"version":2,"servers":{}}', '"version" must be 1'],
  ])('a damaged file of pins pins nothing anew: %s', async (text, reason) => {
    await using first = await benchOf([stdioServer('desk', 'honest')])
    writeFileSync(first.pinFile, text)
    const second = await first.again(stdioServer('desk', 'honest'))
    expect(second.upstreams.tools()).toEqual([])
    expect(second.upstreams.unavailable.get('desk')).toContain(reason)
    expect(readFileSync(first.pinFile, 'utf8')).toBe(text)
    await second.upstreams.close()
  })

  test('a pin whose text was edited is no pin', async () => {
    await using first = await benchOf([stdioServer('desk', 'honest')])
    writeFileSync(first.pinFile, readFileSync(first.pinFile, 'utf8').replace('Says the text again', 'Says nothing'))
    const second = await first.again(stdioServer('desk', 'honest'))
    expect(second.upstreams.unavailable.get('desk')).toContain('the pin of "echo" was changed')
    await second.upstreams.close()
  })
})
