/** `symbi approvals` against a server in this process, and once as a person in two terminals would use it. */
import { writeFileSync } from 'node:fs'
import { expect, onTestFinished, test } from 'vitest'
import { type HeldAction, reviewDigest, reviewText } from '../../src/policy/index.ts'
import { nodeWorld } from '../../src/world/index.ts'
import { inProcess, jsonLines, type Ran, startUp, symbi } from '../support/cli.ts'
import { HEALTH_SCRIPT, type TestProject, type TestServer, testProject, testServer } from './support.ts'

interface Made {
  readonly project: TestProject
  readonly server: TestServer
  /** A turn that waits for a person, with the action that it waits for. */
  held(): Promise<{ readonly action: HeldAction; readonly turn: Promise<unknown> }>
  approvals(words: readonly string[], options?: Parameters<typeof inProcess>[1]): Promise<Ran>
}

async function made(): Promise<Made> {
  const project = await testProject()
  const server = await testServer(project, { approvals: { tools: ['count_up'] } })
  onTestFinished(async () => {
    await server[Symbol.asyncDispose]()
    await project[Symbol.asyncDispose]()
  })
  return {
    project,
    server,
    held: async () => {
      const { approvals } = server.runtime
      const shown = new Promise<HeldAction>((resolve) => {
        const stop = approvals.subscribe(({ kind, action }) => {
          if (kind !== 'held') return
          stop()
          resolve(action)
        })
      })
      const turn = server.runtime.ask('count').catch((error: unknown) => error)
      return { action: await shown, turn }
    },
    approvals: (words, options) => inProcess(['approvals', ...words, '--project', project.path], options),
  }
}

test('the list says what waits, as a table and as JSON, and that nothing does', async () => {
  const { approvals, held } = await made()
  expect(await approvals(['list'])).toMatchObject({ code: 0, stdout: '', stderr: 'Nothing waits for a decision\n' })
  const { action } = await held()
  const { code, stdout } = await approvals(['list'])
  expect(code).toBe(0)
  expect(stdout.split('\n')[0]).toMatch(/^ID +AGENT +CLIENT +EXPIRES +CALL$/)
  const time = action.expires_at.slice(11, 19)
  expect(stdout.split('\n')[1]).toBe(`${action.id}  ${action.agent_id.slice(0, 8)}…          ${time}Z  count_up {}`)
  expect(jsonLines((await approvals(['list', '--json'])).stdout)).toEqual([action])
})

test('the list fits a terminal of 80 columns, with the name of the agent, and the key of its client', async () => {
  const { approvals, held } = await made()
  const { action } = await held()
  const asked_by = { agent: 'a-clerk-with-a-long-name', transport: 'http', key_id: 'desk' }
  const listed = [{ ...action, summary: `pay ${'x'.repeat(150)}`, asked_by, context_snapshot: null }]
  const world = { ...nodeWorld(), net: { ...nodeWorld().net, fetch: async () => Response.json(listed) } }
  const { stdout } = await approvals(['list'], { world, env: { COLUMNS: '80' } })
  const [, row = ''] = stdout.split('\n')
  expect(row).toMatch(/^[0-9a-f]{16} {2}a-clerk-with-a-… {2}http desk {2}\d\d:\d\d:\d\dZ {2}pay x+…$/)
  expect([...row]).toHaveLength(80)
})

test('show prints the whole review with its digest', async () => {
  const { approvals, held } = await made()
  const { action } = await held()
  const { code, stdout } = await approvals(['show', action.id])
  expect([code, stdout]).toEqual([0, `${reviewText(action)}status: pending, digest: ${reviewDigest(action)}\n`])
  expect(jsonLines((await approvals(['show', action.id, '--json'])).stdout)).toEqual([
    { ...action, review: reviewText(action), review_digest: reviewDigest(action) },
  ])
})

test('approve shows the review and takes exactly "approve" and the id', async () => {
  const { approvals, held, server } = await made()
  const { action, turn } = await held()
  for (const typed of [
    ['yes'],
    ['approve'],
    [`approve ${action.id} `],
    [`Approve ${action.id}`],
    [],
    ['', `approve ${action.id}`],
  ]) {
    const { code, stderr } = await approvals(['approve', action.id], { typed })
    expect([code, server.runs()]).toEqual([1, 0])
    expect(stderr).toContain(reviewText(action).trimEnd())
    expect(stderr).toContain('Nothing was decided')
  }
  const done = await approvals(['approve', action.id, '--reason', 'fine'], { typed: [`approve ${action.id}`] })
  expect(done).toMatchObject({ code: 0, stdout: `Approved ${action.id}\n` })
  await turn
  expect(server.runs()).toBe(1)
})

test('approve without a person takes the digest of the review, and no other way', async () => {
  const { approvals, held, server } = await made()
  const { action, turn } = await held()
  const digest = reviewDigest(action)
  const other = `sha256:${'0'.repeat(64)}`
  for (const [words, code, says] of [
    [[], 64, 'nobody types'],
    [['--yes'], 64, '--yes needs the digest'],
    [['--digest', digest], 64, 'nobody types'],
    [['--yes', '--digest', other], 65, 'of another review'],
  ] as const) {
    const ran = await approvals(['approve', action.id, ...words])
    expect([ran.code, server.runs()]).toEqual([code, 0])
    expect(ran.stderr).toContain(says)
  }
  const done = await approvals(['approve', action.id, '--yes', '--digest', digest, '--json'])
  expect([done.code, jsonLines(done.stdout)]).toEqual([0, [{ id: action.id, decision: 'approve' }]])
  await turn
  expect(server.runs()).toBe(1)
  const again = await approvals(['approve', action.id, '--yes', '--digest', digest])
  expect([again.code, again.stderr.split(':')[0]]).toEqual([1, 'APPROVAL_RESOLVED'])
})

test('deny refuses the call, and its reason reaches the turn', async () => {
  const { approvals, held, server } = await made()
  const { action, turn } = await held()
  expect(await approvals(['deny', action.id, '--reason', 'not now'])).toMatchObject({
    code: 0,
    stdout: `Denied ${action.id}\n`,
  })
  await turn
  expect(server.runs()).toBe(0)
  expect((await approvals(['deny', action.id])).stderr).toMatch(/^APPROVAL_RESOLVED: /)
})

test('what cannot be used says why: no such id, no server, no token, a strange answer', async () => {
  const { approvals, server, project } = await made()
  for (const words of [
    ['show', 'ffffffffffffffff'],
    ['deny', '../keys'],
    ['deny', 'a\u001b[31m'],
  ]) {
    const ran = await approvals(words)
    expect([ran.code, ran.stderr.split('\n')[0]]).toEqual([1, 'APPROVAL_NOT_FOUND: Held action not found'])
  }
  writeFileSync(project.of('wrong.token'), 'fixture.wrong', { mode: 0o600 })
  const wrong = await approvals(['list', '--token-file', project.of('wrong.token')])
  expect([wrong.code, wrong.stderr.split(':')[0]]).toEqual([77, 'UNAUTHORIZED'])
  const lost = await approvals(['list', '--url', 'http://127.0.0.1:9'])
  expect([lost.code, lost.stderr.split(':')[0]]).toEqual([75, 'CONNECTION_LOST'])
  const api = server.service.server.url
  for (const [path, body] of [
    ['', '{"a":1}'],
    ['', '[{"id":1}]'],
    ['', '{'],
    ['/x', '{"id":"x"}'],
    ['/x', '[]'],
  ] as const) {
    const world = { ...nodeWorld(), net: { ...nodeWorld().net, fetch: async () => new Response(body) } }
    const words = path === '' ? ['list'] : ['show', 'x']
    const ran = await approvals([...words, '--url', api], { world })
    expect([ran.code, ran.stdout]).toEqual([75, ''])
  }
})

test('a server that shows one call under the digest of another is not believed', async () => {
  const { approvals, held, server } = await made()
  const { action } = await held()
  const shown = { ...action, reason: 'harmless', review: 'harmless', review_digest: reviewDigest(action) }
  const world = { ...nodeWorld(), net: { ...nodeWorld().net, fetch: async () => Response.json(shown) } }
  const ran = await approvals(['approve', action.id], { world, typed: [`approve ${action.id}`] })
  expect([ran.code, ran.stderr.split(':')[0], server.runs()]).toEqual([1, 'EVIDENCE_INVALID', 0])
})

test('in two terminals: a chat waits, the other one lists, shows and approves, and the chat is answered', async () => {
  await using project = await testProject()
  writeFileSync(project.of('model.json'), HEALTH_SCRIPT)
  const env = { SYMBIONT_REQUIRE_APPROVAL_TOOLS: 'system_health' }
  const unlimited = ['--rate-limit-per-minute', '100000', '--rate-limit-burst', '10000'] // it asks until the chat waits
  const flags = ['--provider', `scripted:${project.of('model.json')}`, ...unlimited]
  await using server = await startUp(project.path, flags, { env })
  const where = ['--project', project.path]
  const chat = symbi(['chat', 'how is it?', ...where])
  let ids: readonly unknown[] = []
  while (ids.length === 0) ids = jsonLines((await inProcess(['approvals', 'list', '--json', ...where])).stdout)
  const [{ id }] = ids as [{ readonly id: string }]
  const shown = await symbi(['approvals', 'show', id, ...where])
  const digest = /^status: pending, digest: (sha256:[0-9a-f]{64})$/m.exec(shown.stdout)?.[1] ?? ''
  const approved = await symbi(['approvals', 'approve', id, '--yes', '--digest', digest, ...where])
  expect([approved.code, approved.stdout]).toEqual([0, `Approved ${id}\n`])
  expect(await chat).toMatchObject({ code: 0, stdout: 'All is well.\n' })
  expect((await server.stop()).code).toBe(0)
  const { stdout } = await inProcess(['audit', 'show', 'latest', ...where])
  expect(stdout).toContain(`approval ${id}, given by fixture (rest) at 20`)
})
