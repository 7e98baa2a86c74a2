/** What a server may list, and what becomes of a server or a tool that cannot be used. */
import { expect, test } from 'vitest'
import { toolbox } from '../../src/tools/index.ts'
import { nodeWorld, type World } from '../../src/world/index.ts'
import { benchOf, stdioServer } from '../support/mcp/upstreams.ts'

test.each([
  ['many', 'it lists more than 256 tools'],
  ['exits', 'it exited with code 3'],
  ['babbles', 'is no message'],
])('a server that is "%s" cannot be used, says why, and hinders nobody else', async (mode, reason) => {
  await using bench = await benchOf([stdioServer('bad', mode), stdioServer('good', 'honest', { expose: ['echo'] })])
  expect(bench.upstreams.unavailable.get('bad')).toContain(reason)
  expect(bench.upstreams.tools().map(({ definition }) => definition.name)).toEqual(['mcp__good__echo'])
  expect(await bench.call('mcp__good__echo', { text: 'on' })).toEqual({ content: 'on', is_error: false })
})

test('a command that is not there is told, and its arguments are not', async () => {
  await using bench = await benchOf([
    stdioServer('desk', 'honest', { command: 'no-such-program', args: ['--token=hush'] }),
  ])
  expect(bench.upstreams.unavailable.get('desk')).toContain(
    'Cannot start "no-such-program": it, or the folder it is to run in, is not there',
  )
  expect(JSON.stringify(bench.news)).not.toContain('hush')
})

test('a server that says nothing is given up, and no child is left', async () => {
  await using bench = await benchOf([stdioServer('desk', 'mute', { startTimeoutMs: 300 })])
  expect(bench.upstreams.unavailable.get('desk')).toContain('it was not ready after 300 ms')
})

test.each([
  ['uncompilable', 'uncompilable', 'its input schema cannot be used'],
  ['twice', 'echo', 'it is listed twice'],
  ['wide', 'echo', 'its inputSchema is larger than 65536 bytes'],
])('of a list that is "%s" the tool %s cannot be used, and the others can', async (mode, tool, reason) => {
  await using bench = await benchOf([stdioServer('desk', mode)])
  expect(bench.upstreams.unavailable.get(`desk/${tool}`)).toBe(reason)
  expect(bench.upstreams.tools().map(({ definition }) => definition.name)).toContain('mcp__desk__note')
})

test('a server with many schemas that take too long holds us up for a few of them, and not for each', async () => {
  await using bench = await benchOf([stdioServer('desk', 'slow'), stdioServer('good', 'honest', { expose: ['echo'] })])
  const reasons = [...bench.upstreams.unavailable.values()]
  expect(reasons.slice(0, 3)).toEqual(Array(3).fill('its input schema cannot be used'))
  expect(reasons.slice(3)).toEqual(
    Array(5).fill('its input schema was not looked at: 3 others of the server took too long'),
  )
  expect(bench.upstreams.tools().map(({ definition }) => definition.name)).toEqual(['mcp__good__echo'])
})

test('what is listed and not exposed is no tool, and what is exposed and not listed is told', async () => {
  await using bench = await benchOf([stdioServer('desk', 'honest', { expose: ['note', 'fly'] })])
  expect(bench.upstreams.tools().map(({ definition }) => definition.name)).toEqual(['mcp__desk__note'])
  expect([...bench.upstreams.unavailable]).toEqual([['desk/fly', 'the server does not offer it']])
})

test('no tool of a server takes the name of another tool', async () => {
  await using bench = await benchOf([stdioServer('desk', 'honest')], { taken: ['mcp__desk__echo'] })
  expect(bench.upstreams.unavailable.get('desk/echo')).toBe('another tool is called "mcp__desk__echo"')
})

test('a name that would be longer than 64 characters is refused', async () => {
  const server = 's'.repeat(32)
  await using bench = await benchOf([stdioServer(server, 'many-named')])
  expect(bench.upstreams.unavailable.get(`${server}/${'long'.repeat(8)}`)).toContain('longer than 64 characters')
  expect(bench.upstreams.unavailable.get(`${server}/files.read`)).toContain('characters other than letters')
})

test('a child gets the variables that it was given and no other, and runs in its folder', async () => {
  const print = 'process.stderr.write(JSON.stringify([process.env, process.cwd()]) + "\\n")'
  await using bench = await benchOf(
    [
      stdioServer('desk', 'x', {
        command: process.execPath,
        args: ['-e', print],
        env: { OWN: '1' },
        envFrom: ['GIVEN'],
      }),
    ],
    { env: { PATH: '/usr/bin:/bin', GIVEN: '2', SECRET: '3' } },
  )
  const said = bench.news.flatMap((item) => (item.kind === 'Said' ? [item.line] : []))
  expect(JSON.parse(said[0] ?? '')).toEqual([{ PATH: '/usr/bin:/bin', OWN: '1', GIVEN: '2' }, bench.folder.path])
})

test.each([
  [{ envFrom: ['MISSING'] }, 'the environment variable "MISSING" is not set'],
  [{ cwd: 'no/such' }, 'is not a folder below the project'],
])('a server that lacks what it needs is not started: %j', async (more, reason) => {
  await using bench = await benchOf([stdioServer('desk', 'honest', more)])
  expect(bench.upstreams.unavailable.get('desk')).toContain(reason)
  expect(bench.news.filter(({ kind }) => kind === 'Said')).toEqual([])
})

test('a pattern that takes for ever is judged in its own time, and then its tool is refused [trap:foreign-schema]', async () => {
  await using bench = await benchOf([stdioServer('desk', 'redos')])
  const box = toolbox({ tools: bench.upstreams.tools() }, nodeWorld())
  box.validate()
  const prepare = (name: string, text: string) =>
    box.prepare({ ToolCall: { call_id: '1', name, arguments: JSON.stringify({ text }) } }, box.definitions())
  expect(prepare('mcp__desk__redos', 'aaa').arguments).toEqual({ text: 'aaa' })
  expect(() => prepare('mcp__desk__redos', `${'a'.repeat(64)}!`)).toThrow('its schema cannot be used')
  expect(() => prepare('mcp__desk__redos', 'aaa')).toThrow('its schema cannot be used')
  expect(prepare('mcp__desk__echo', 'aaa').arguments).toEqual({ text: 'aaa' })
})

test('a list that changes all the time is read once a while, and not as often as it changes', async () => {
  const real = nodeWorld()
  const never: World['clock']['sleep'] = (_ms, signal) =>
    new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }))
  const world = { ...real, clock: { ...real.clock, sleep: never } }
  await using bench = await benchOf([stdioServer('desk', 'honest')], { world })
  expect(await bench.call('mcp__desk__misbehave', { how: 'storms' })).toEqual({ content: '1', is_error: false })
  expect(await bench.call('mcp__desk__echo', { text: 'on' })).toEqual({ content: 'on', is_error: false })
})
