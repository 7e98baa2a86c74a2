import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { start } from '../support/cli.ts'
import { NO_ORPHAN } from '../support/no-orphan.ts'

const SERVER = `
  const server = require('node:net').createServer(() => undefined)
  server.listen(0, '127.0.0.1', () => console.log(server.address().port))`
/** Starts the server as tests start processes, hands its port on, and waits. */
const STARTER = `
  const stdio = ['ignore', 'pipe', 'inherit', 'ipc']
  const child = require('node:child_process').spawn(process.execPath, [...process.argv.slice(1), '-e', ${JSON.stringify(SERVER)}], { stdio })
  child.stdout.pipe(process.stdout)`

test('a server ends with the process that started it, even when that one is killed', async () => {
  const starter = spawn(process.execPath, ['-e', STARTER, '--', ...NO_ORPHAN], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [port] = await once(starter.stdout, 'data')
  const socket = connect(Number(port), '127.0.0.1')
  await once(socket, 'connect')
  socket.on('error', () => undefined) // a reset is an end as well
  const closed = new Promise((resolve) => socket.once('close', resolve))
  starter.kill('SIGKILL')
  await closed // the system closes it with the server
})

test('a process with nothing left to do ends by itself, and every command of the tests is started so', async () => {
  const running = start(['--version'])
  for (const flag of NO_ORPHAN) expect(running.child.spawnargs).toContain(flag)
  expect(running.child.channel).toBeDefined()
  expect(await running.ended).toMatchObject({ code: 0, signal: null })
})
