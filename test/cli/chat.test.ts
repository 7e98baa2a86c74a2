import { getEventListeners } from 'node:events'
import { readFileSync } from 'node:fs'
import { chmod, rm, writeFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { Link } from '../../src/cli/chat/link.ts'
import { newId } from '../../src/core/index.ts'
import { inProcess, jsonLines, startUp, symbi } from '../support/cli.ts'
import { cuttableProxy, playedServer, say, start, TOKEN, testProject, testServer, world } from './support.ts'

const LONG = { timeout: 90_000 }
const freshId = (): string => newId('invocation', world.random)

describe('one message', LONG, () => {
  test('prints the answer and nothing else on stdout, and tells the way there on stderr', async () => {
    await using project = await testProject()
    await using _server = await testServer(project)
    const done = await symbi(['chat', 'Inspect', 'system', 'health'], { cwd: project.path })
    expect([done.code, done.stdout]).toEqual([0, 'All is well.\n'])
    const [journal = ''] = project.journals()
    const run = journal.split('.')[1]
    expect(done.stderr).toMatch(/^id {9}[0-9a-f-]{36}\n/)
    expect(done.stderr).toContain(`run        ${run}\n`)
    expect(done.stderr).toContain(`journal    ${project.of('.symbiont', 'governed', journal)}\n`)
    expect(done.stderr).toContain('allowed    1 action: every action is allowed by policy\n')
    expect(done.stderr).toContain('call       system_health {}\n')
    expect(done.stderr).toMatch(/\nresult {5}\{"status":"healthy"/)
    const line = /\nverify {5}\S.* (audit verify .*)\n$/.exec(done.stderr)?.[1] ?? ''
    expect((await symbi(line.split(' '), { cwd: project.path })).code).toBe(0)
  })

  test('lets a denial stand out, and shows no control character of the model', async () => {
    await using project = await testProject()
    await using server = await testServer(project)
    const denied = await symbi(['chat', 'forbidden', '--project', project.path])
    expect([denied.code, denied.stdout]).toEqual([0, 'I was not allowed to.\n'])
    expect(denied.stderr).toMatch(/\nDENIED {5}1 action: policy does not allow Action::"tool_call::list_agents"/)
    const coloured = await symbi(['chat', 'colour', '--url', server.url], { env: { SYMBI_TOKEN: TOKEN } })
    expect(coloured.stdout).toBe('ared end\n')
  })

  test('is one object a line with --json, whose text no terminal obeys and every reader gets back', async () => {
    await using project = await testProject()
    await using _server = await testServer(project)
    const done = await symbi(['chat', '--json', 'colour', '--project', project.path])
    const lines = jsonLines(done.stdout)
    expect(lines.map(({ event }) => event)).toEqual(['id', 'sending', 'audit', 'decision', 'result'])
    expect(lines.at(-1)).toMatchObject({
      status: 'completed',
      exit: 0,
      id: lines[0]?.id,
      content: 'a\u001b[31mred\u001b[0m \u0007\u009b2J\u202eend',
      audit: { run_id: project.journals()[0]?.split('.')[1] },
    })
    expect(/[^\n\x20-\x7e]/.test(done.stdout)).toBe(false)
  })

  test('that fails exits 1, with the code and the reason', async () => {
    await using project = await testProject()
    await using _server = await testServer(project)
    const done = await inProcess(['chat', 'fail', '--project', project.path])
    expect([done.code, done.stdout]).toEqual([1, ''])
    expect(done.stderr).toContain('error      LOOP_ERROR: The run failed: ')
  })

  test('comes from standard input when its text is "-"', async () => {
    await using project = await testProject()
    await using _server = await testServer(project)
    const done = await symbi(['chat', '-', '--project', project.path], { input: 'Are you there\nagain' })
    expect([done.code, done.stdout]).toEqual([0, 'Still there.\n'])
  })
})

describe('an id', LONG, () => {
  test('is told before anything is sent', async () => {
    let admit = (): void => undefined
    const idSeen = new Promise<void>((resolve) => {
      admit = resolve
    })
    const answer = (frame: { id: string }, socket: Parameters<typeof say>[0]): void =>
      say(socket, { type: 'ChatChunk', request_id: frame.id, content: `for ${frame.id}`, done: true })
    await using server = await playedServer(answer, () => idSeen)
    const chat = start(['chat', 'hello', '--url', server.url], { env: { SYMBI_TOKEN: TOKEN }, input: '' })
    const [, id] = await chat.saw(/^id {9}([0-9a-f-]{36})\n/)
    expect(server.frames).toEqual([])
    admit() // until now there was no connection over which it could have been sent
    expect((await chat.done).stdout).toBe(`for ${id}\n`)
    expect(server.frames).toEqual(['ChatSend'])
  })

  test('is looked up after a lost connection, and sent again only because nobody knows it', async () => {
    const ids: string[] = []
    await using server = await playedServer((frame, socket, connection) => {
      ids.push(frame.id)
      if (connection === 1) return socket.terminate()
      if (frame.type === 'ChatInspect') {
        return say(socket, { type: 'Error', request_id: frame.id, code: 'INVOCATION_NOT_FOUND', message: 'none' })
      }
      say(socket, { type: 'Surprise', request_id: frame.id, of: 'a newer server' })
      say(socket, { type: 'ChatChunk', request_id: freshId(), content: 'of somebody else', done: true })
      say(socket, { type: 'ChatChunk', request_id: frame.id, content: 'once', done: true, replayed: false })
    })
    const done = await symbi(['chat', 'hello', '--url', server.url], { env: { SYMBI_TOKEN: TOKEN } })
    expect([done.code, done.stdout]).toEqual([0, 'once\n'])
    expect(server.frames).toEqual(['ChatSend', 'ChatInspect', 'ChatSend'])
    expect(new Set(ids).size).toBe(1)
    expect(done.stderr).toMatch(/\nlost {7}the connection was lost \(1006\); looking again in 1 s\n/)
  })

  test('that is in progress is asked about until it ends, and never sent again', async () => {
    let asked = 0
    await using server = await playedServer((frame, socket, connection) => {
      if (connection === 1) return socket.close(1001, 'the server is shutting down')
      asked += 1
      if (asked < 3) {
        return say(socket, { type: 'Error', request_id: frame.id, code: 'INVOCATION_IN_PROGRESS', message: 'busy' })
      }
      say(socket, { type: 'ChatChunk', request_id: frame.id, content: 'saved', done: true, replayed: true })
    })
    const done = await inProcess(['chat', 'hello', '--url', server.url], { env: { SYMBI_TOKEN: TOKEN } })
    expect([done.code, done.stdout]).toEqual([0, 'saved\n'])
    expect(done.stderr).toContain('replayed   the saved answer; nothing ran now\n')
    expect(server.frames).toEqual(['ChatSend', 'ChatInspect', 'ChatInspect', 'ChatInspect'])
  })

  test('whose connection breaks while its tool runs, runs the tool once and ends unresolved with exit 2', async () => {
    await using project = await testProject()
    let entered = (): void => undefined
    const running = new Promise<void>((resolve) => {
      entered = resolve
    })
    const untilCancelled = (signal: AbortSignal): Promise<void> =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(new Error('nobody knows what was done')))
        entered()
      })
    await using server = await testServer(project, { onRun: untilCancelled })
    await using proxy = await cuttableProxy(server.service.server.port)
    const chat = start(['chat', 'count', '--url', proxy.url], { env: { SYMBI_TOKEN: TOKEN }, input: '' })
    await running
    proxy.cut()
    const done = await chat.done
    expect([done.code, done.stdout]).toEqual([2, ''])
    expect(done.stderr).toContain('error      INVOCATION_UNRESOLVED: ')
    expect(server.runs()).toBe(1)
    expect(project.journals()).toHaveLength(1)
  })

  test('follows a server that was stopped and came back on another port', async () => {
    await using project = await testProject()
    const chat = await (async () => {
      await using _first = await testServer(project)
      const started = start(['chat', 'stall', '--project', project.path], { input: '' })
      await started.saw(/\njournal /)
      return started
    })()
    await using _second = await testServer(project)
    const done = await chat.done
    expect([done.code, done.stdout]).toEqual([2, ''])
    expect(done.stderr).toContain('error      INVOCATION_UNRESOLVED: ')
    expect(done.stderr).toMatch(/\nnext {7}\S.* invocation inspect --scope ws:chat:v1 --id /)
  })

  test('whose server is killed at once and started again is unresolved, and its model is not asked again', async () => {
    await using project = await testProject()
    const script = project.of('model.json')
    await writeFile(script, JSON.stringify({ model: 'demo', rules: [{ when: {}, reply: { stall: true } }] }))
    const up = (): ReturnType<typeof startUp> => startUp(project.path, ['--provider', `scripted:${script}`])
    await using first = await up()
    const chat = start(['chat', 'stall', '--json', '--project', project.path], { input: '' })
    await chat.saw(/"event":"audit"/, 'stdout')
    await first.stop('SIGKILL')
    await using _second = await up()
    const done = await chat.done
    expect(done.code).toBe(2)
    const lines = jsonLines(done.stdout)
    expect(lines.at(-1)).toMatchObject({ event: 'result', status: 'unresolved', id: lines[0]?.id })
    expect(lines.filter(({ event }) => event === 'sending')).toHaveLength(1)
    expect(project.journals()).toHaveLength(1)
  })

  test('of a connection that does not come back is told as unknown, with the way to look it up', async () => {
    await using server = await playedServer((_frame, socket) => {
      void server[Symbol.asyncDispose]()
      socket.terminate()
    })
    const done = await inProcess(['chat', 'it', "isn't", '--wait', '2', '--url', server.url], {
      env: { SYMBI_TOKEN: TOKEN },
    })
    expect([done.code, done.stdout]).toEqual([2, ''])
    expect(done.stderr).toMatch(/\nunknown {4}Cannot reach the server: ECONNREFUSED\n/)
    expect(done.stderr).toMatch(/\nnext .* chat --inspect --id [0-9a-f-]{36} --url ws:\S+ "it isn't"\n/)
  })

  test('that was chosen runs once: the second time it is answered from the record', async () => {
    await using project = await testProject()
    await using server = await testServer(project)
    const id = freshId()
    const ask = (...more: string[]): ReturnType<typeof inProcess> =>
      inProcess(['chat', '--json', '--project', project.path, '--id', id.toUpperCase(), ...more])
    const unknown = await ask('--inspect', 'count')
    expect(unknown.code).toBe(1)
    expect(jsonLines(unknown.stdout).at(-1)).toMatchObject({ status: 'not_found', code: 'INVOCATION_NOT_FOUND' })
    const first = await ask('count')
    const second = await ask('count')
    const looked = await ask('--inspect', 'count')
    for (const [done, replayed] of [
      [first, false],
      [second, true],
      [looked, true],
    ] as const) {
      expect(done.code).toBe(0)
      expect(jsonLines(done.stdout).at(-1)).toMatchObject({ status: 'completed', replayed, content: 'All is well.' })
    }
    expect(server.runs()).toBe(1)
    const other = await ask('count', 'more')
    expect(other.code).toBe(1)
    expect(jsonLines(other.stdout).at(-1)).toMatchObject({ status: 'refused', code: 'INVOCATION_CONFLICT' })
  })

  test('that somebody else is at work on is in progress for --inspect, at once and with exit 2', async () => {
    await using project = await testProject()
    await using _server = await testServer(project)
    const id = freshId()
    const owner = start(['chat', 'stall', '--id', id, '--project', project.path], { input: '' })
    await owner.saw(/\njournal /)
    const looked = await symbi(['chat', 'stall', '--id', id, '--inspect', '--project', project.path])
    expect([looked.code, looked.stdout]).toEqual([2, ''])
    expect(looked.stderr).toContain('error      INVOCATION_IN_PROGRESS: ')

    owner.child.kill('SIGINT')
    const cancelled = await owner.done
    expect([cancelled.code, cancelled.stdout]).toEqual([130, ''])
    expect(cancelled.stderr).toContain('cancelled  the connection was closed, so the server stops the turn')
    expect(cancelled.stderr).toMatch(/\nnow {8}unresolved\n.*INVOCATION_UNRESOLVED/)
  })
})

describe('a refusal of the server', LONG, () => {
  test.each([
    ['INVOCATION_RECONCILED', 3],
    ['INVOCATION_UNRESOLVED', 2],
    ['AUDIT_UNAVAILABLE', 1],
    ['A_CODE_OF_TOMORROW', 1],
  ])('%s exits %i', async (code, exit) => {
    await using server = await playedServer((frame, socket) =>
      say(socket, { type: 'Error', request_id: frame.id, code, message: 'so it is\u001b[2J. Do this next' }),
    )
    const done = await inProcess(['chat', 'hello', '--url', server.url], { env: { SYMBI_TOKEN: TOKEN } })
    expect([done.code, done.stdout]).toEqual([exit, ''])
    expect(done.stderr).toContain(`error      ${code}: so it is. Do this next\n`)
  })

  test('of a frame that is too large is told as such, and nothing is sent again', async () => {
    await using project = await testProject()
    await using _server = await testServer(project)
    const content = '\u0001'.repeat(60_000) // six bytes each on the wire
    const done = await symbi(['chat', '--json', '-', '--project', project.path], { input: content })
    expect(done.code).toBe(1)
    expect(jsonLines(done.stdout).at(-1)).toMatchObject({ status: 'refused', code: 'MESSAGE_TOO_LARGE' })
    expect(jsonLines(done.stdout).filter(({ event }) => event === 'sending')).toHaveLength(1)
  })
})

describe('the token', LONG, () => {
  test('is never taken from the command line, and never put on one', async () => {
    await using project = await testProject()
    await using _server = await testServer(project)
    for (const flags of [['--token', TOKEN], [`--token=${TOKEN}`], ['--token']]) {
      const refused = await inProcess(['chat', 'hello', '--project', project.path, ...flags])
      expect([refused.code, refused.stdout]).toEqual([64, ''])
      expect(refused.stderr).toContain('USAGE: Cannot take a token from the command line')
      expect(refused.stderr).not.toContain(TOKEN)
    }
    const chat = start(['chat', 'stall', '--project', project.path], { input: '' })
    await chat.saw(/\njournal /)
    expect(readFileSync(`/proc/${chat.child.pid}/cmdline`, 'utf8')).not.toContain(TOKEN)
    chat.child.kill('SIGKILL')
    expect((await chat.done).stderr).not.toContain(TOKEN)
  })

  test('comes from --token-file first, then from SYMBI_TOKEN, then from the project, in a header', async () => {
    const seen: (string | undefined)[] = []
    const answer = (frame: { id: string }, socket: Parameters<typeof say>[0]): void =>
      say(socket, { type: 'ChatChunk', request_id: frame.id, content: '', done: true })
    await using server = await playedServer(answer, async (request) => {
      seen.push(request.headers.authorization)
      expect(request.url).toBe('/ws/chat')
    })
    await using project = await testProject()
    const file = project.of('token')
    await writeFile(file, 'from.file\n')
    await chmod(file, 0o644)
    const base = ['chat', 'hello', '--url', server.url, '--project', project.path]
    const warned = await inProcess([...base, '--token-file', file], { env: { SYMBI_TOKEN: 'from.environment' } })
    expect(warned.stderr).toContain('warning: other users may read the token file')
    await inProcess(base, { env: { SYMBI_TOKEN: 'from.environment' } })
    await inProcess(base)
    expect(seen).toEqual(['Bearer from.file', 'Bearer from.environment', `Bearer ${TOKEN}`])
  })

  test('that is missing, empty, unsafe or wrong has its own code', async () => {
    await using project = await testProject()
    await using _server = await testServer(project)
    const ask = async (env: Record<string, string> = {}, ...more: string[]): Promise<readonly unknown[]> => {
      const done = await inProcess(['chat', 'hello', '--json', '--project', project.path, ...more], { env })
      return [done.code, jsonLines(done.stderr).at(-1)?.code]
    }
    expect(await ask({ SYMBI_TOKEN: 'not.right' })).toEqual([77, 'UNAUTHORIZED'])
    await writeFile(project.of('empty'), '\n', { mode: 0o600 })
    expect(await ask({}, '--token-file', project.of('empty'))).toEqual([78, 'CONFIG_INVALID'])
    await chmod(project.of('.symbiont', 'chat.token'), 0o644)
    expect(await ask()).toEqual([74, 'STORAGE_UNSAFE'])
    await rm(project.of('.symbiont', 'chat.token'))
    expect(await ask()).toEqual([77, 'UNAUTHORIZED'])
  })
})

describe('bad input', LONG, () => {
  test.each([
    [['hello', '--inspect'], 64, 'USAGE'],
    [['   '], 64, 'USAGE'],
    [['--id', '3f0e2a0e-8a54-4d1c-9f5b-0a8d9c2b7e10'], 64, 'USAGE'],
    [['hello', '--id', '00000000-0000-0000-0000-000000000000'], 65, 'INVALID_INVOCATION_ID'],
    [['hello', '--id', ' '], 65, 'INVALID_INVOCATION_ID'],
    [['hello', '--url', 'ws://user:pass@127.0.0.1:1'], 64, 'USAGE'],
    [['hello', '--url', 'ws://127.0.0.1:1/ws/chat?token=a.b'], 64, 'USAGE'],
    [['hello', '--wait', '-1'], 64, 'USAGE'],
    [['hello', '--url', 'ws://127.0.0.1:1'], 75, 'CONNECTION_LOST'],
    [['hello'], 75, 'CONNECTION_LOST'],
  ])('%j exits %i with %s, and says nothing on stdout', async (args, exit, code) => {
    await using project = await testProject()
    const done = await inProcess(['chat', ...args, '--project', project.path])
    expect([done.code, done.stdout]).toEqual([exit, ''])
    expect(done.stderr).toContain(`${code}: Cannot `)
    expect(done.stderr).toContain('hint: ')
  })

  test('a project that does not exist is said to be missing', async () => {
    const done = await inProcess(['chat', 'hello', '--project', 'no-such-folder'])
    expect([done.code, done.stdout]).toEqual([66, ''])
  })
})

describe('a conversation', LONG, () => {
  test('takes one message a line, and Ctrl-C cancels the turn that runs and not the sitting', async () => {
    await using project = await testProject()
    await using _server = await testServer(project)
    const chat = start(['chat', '--project', project.path])
    chat.child.stdin.write('again\n\nstall\n')
    await chat.saw(/Still there\.\n/, 'stdout')
    await chat.saw(/run .*[\s\S]*run /)
    chat.child.kill('SIGINT')
    await chat.saw(/\nnow {8}unresolved\n/)
    chat.child.stdin.end('again\n')
    const done = await chat.done
    expect(done.stdout).toBe('Still there.\nStill there.\n')
    expect(done.stderr).toContain('the next message begins a new conversation\n')
    expect(done.code).toBe(130)
  })

  test('leaves at once when the server or the token is wrong', async () => {
    await using project = await testProject()
    const done = await inProcess(['chat', '--project', project.path])
    expect([done.code, done.stdout]).toEqual([75, ''])
  })
})

test('a connection that waited for many messages leaves no listener on the signal', LONG, async () => {
  await using server = await playedServer((frame, socket) =>
    say(socket, { type: 'PolicyDecision', request_id: frame.id, action: '1 actions', decision: 'allow', reason: 'r' }),
  )
  const { signal } = new AbortController()
  const link = await Link.open({ url: server.url, token: TOKEN }, world, signal)
  for (let wait = 0; wait < 20; wait += 1) {
    const arrives = link.next(signal) // asked before there is anything, so that it has to wait
    link.send({ type: 'ChatInspect', id: freshId(), content: 'x' })
    await arrives
  }
  await link.close()
  expect(getEventListeners(signal, 'abort')).toEqual([])
})
