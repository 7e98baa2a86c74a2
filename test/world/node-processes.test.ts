import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { testWorld } from '../../src/testing/index.ts'
import { nodeWorld } from '../../src/world/index.ts'
import { temporaryFolder } from '../support/folder.ts'
import { scratch } from '../support/scratch.ts'

const place = scratch()
const node = (script: string, env: Record<string, string> = {}) => ({
  command: process.execPath,
  args: ['-e', script],
  cwd: place.folder(),
  env,
})

async function textOf(stream: AsyncIterable<unknown>): Promise<string> {
  let text = ''
  for await (const piece of stream) text += String(piece)
  return text
}

async function firstLine(stream: AsyncIterable<unknown>): Promise<string> {
  for await (const piece of stream) return String(piece).trim()
  return ''
}

test.each([nodeWorld(), testWorld()])(
  'a program gets its arguments as they are, its folder, and no variable that it was not given',
  async (world) => {
    await using folder = await temporaryFolder()
    const child = await world.processes.spawn({
      command: process.execPath,
      args: ['-e', 'console.log(JSON.stringify([process.argv.slice(1), process.cwd(), process.env]))', '$HOME; *', '"'],
      cwd: folder.path,
      env: { ONE: '1' },
    })
    child.stdin.end()
    expect(JSON.parse(await textOf(child.stdout))).toEqual([['$HOME; *', '"'], folder.path, { ONE: '1' }])
    expect(await child.exited).toEqual({ code: 0, signal: null })
  },
)

test('what is not there cannot be started, and its arguments are not told', async () => {
  const { processes } = nodeWorld()
  const program = { command: '/no/such/program', args: ['--password=hush'], cwd: '/', env: {} }
  const failure = await processes.spawn(program).catch((error: unknown) => error)
  expect(failure).toMatchObject({ code: 'PROCESS_FAILED', facts: { errno: 'ENOENT' } })
  expect(String(failure)).not.toContain('hush')
})

test('a child whose input is closed may leave by itself', async () => {
  const child = await nodeWorld().processes.spawn(node('process.stdin.resume().on("end", () => process.exit(4))'))
  await child.end(20_000)
  expect(await child.exited).toEqual({ code: 4, signal: null })
})

test('a child that does not want to go is killed, and so is what it started', async () => {
  const script = `
    process.on('SIGTERM', () => undefined)
    const inner = require('node:child_process').spawn(process.execPath, ['-e', 'setInterval(() => 0, 1000)'], { stdio: 'ignore' })
    console.log(inner.pid)
    setInterval(() => 0, 1000)`
  const child = await nodeWorld().processes.spawn(node(script))
  const inner = Number(await firstLine(child.stdout))
  expect(isAlive(inner)).toBe(true)
  await child.end(100)
  expect(await child.exited).toEqual({ code: null, signal: 'SIGKILL' })
  while (isAlive(inner)) await new Promise((resolve) => setImmediate(resolve))
  await child.end(100) // idempotent
})

test('a process that left the group and holds the pipes of a child that ended does not hold us', async () => {
  const script = `
    const stdio = ['ignore', 'inherit', 'inherit']
    const inner = require('node:child_process').spawn(process.execPath, ['-e', 'setInterval(() => 0, 1000)'], { detached: true, stdio })
    console.log(inner.pid)
    inner.unref()
    process.exit(5)`
  const child = await nodeWorld().processes.spawn(node(script))
  const closed = [child.stdout, child.stderr].map((stream) => new Promise((resolve) => stream.once('close', resolve)))
  child.stderr.resume()
  const inner = Number(await firstLine(child.stdout))
  expect(await child.exited).toEqual({ code: 5, signal: null })
  await Promise.all(closed)
  expect(isAlive(inner)).toBe(true) // nobody can end what left its group; docs/mcp-upstream.md says so
  process.kill(inner, 'SIGKILL')
})

/** False also for one that is dead and waits for somebody to ask how it died. */
function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}
