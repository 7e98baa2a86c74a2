import { readFileSync, writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { inProcess, jsonLines, type Ran } from '../support/cli.ts'
import { type TestProject, testProject, testServer } from './support.ts'

const ID = '3f0e2a0e-8a54-4d1c-9f5b-0a8d9c2b7e10'

/** A chat whose tool fails without saying what it did. */
async function unresolved(project: TestProject): Promise<void> {
  await using _server = await testServer(project, { onRun: () => Promise.reject(new Error('who knows')) })
  const done = await inProcess(['chat', 'count', '--id', ID, '--project', project.path])
  expect(done.code).toBe(2)
}

function invocation(project: TestProject, verb: string, ...more: string[]): Promise<Ran> {
  return inProcess(['invocation', verb, '--scope', 'ws:chat:v1', '--id', ID, '--project', project.path, ...more])
}

describe('an unresolved invocation', () => {
  test('is inspected with exit 2, reviewed, reconciled, and never runs again', async () => {
    await using project = await testProject()
    await unresolved(project)
    const draft = project.of('review.json')
    const inspected = await invocation(project, 'inspect', '--review-template', draft)
    expect(inspected.code).toBe(2)
    const found = JSON.parse(inspected.stdout)
    expect(found).toMatchObject({ status: 'unresolved', snapshot: { id: ID, scope: 'ws:chat:v1' }, resolution: null })

    const untouched = await invocation(project, 'reconcile', '--review', draft)
    expect([untouched.code, untouched.stdout]).toEqual([65, ''])
    expect(untouched.stderr).toContain('REVIEW_INVALID: ')

    const review = JSON.parse(readFileSync(draft, 'utf8'))
    expect(review.snapshot_hash).toBe(found.snapshot_hash)
    const decided = { ...review, outcome: 'no_effects', rationale: 'The counter stands at zero', effects_stopped: true }
    writeFileSync(draft, JSON.stringify(decided))
    const signed = await invocation(project, 'reconcile', '--review', draft)
    expect(signed.code).toBe(0)
    const receipt = JSON.parse(signed.stdout)
    expect(receipt).toMatchObject({ payload: { version: 1, review: decided }, signature: expect.any(String) })
    const again = await invocation(project, 'reconcile', '--review', draft, '--json')
    expect(jsonLines(again.stdout)).toEqual([receipt])

    writeFileSync(draft, JSON.stringify({ ...decided, outcome: 'completed' }))
    const different = await invocation(project, 'reconcile', '--review', draft)
    expect([different.code, different.stdout]).toEqual([1, ''])
    expect(different.stderr).toContain('REVIEW_DIFFERENT: ')
    const after = await invocation(project, 'inspect')
    expect([after.code, JSON.parse(after.stdout).status]).toEqual([0, 'reconciled'])

    await using server = await testServer(project)
    const chat = await inProcess(['chat', 'count', '--id', ID, '--json', '--project', project.path])
    expect(chat.code).toBe(3)
    expect(jsonLines(chat.stdout).at(-1)).toMatchObject({ status: 'reconciled', code: 'INVOCATION_RECONCILED' })
    expect(server.runs()).toBe(0)
  })

  test('is not reconciled by a review of other evidence, nor by one that is no review', async () => {
    await using project = await testProject()
    await unresolved(project)
    const review = {
      snapshot_hash: `sha256:${'0'.repeat(64)}`,
      outcome: 'failed',
      rationale: 'x',
      evidence: [{ reference: 'r', sha256: '0'.repeat(64) }],
      effects_stopped: true,
    }
    writeFileSync(project.of('stale.json'), JSON.stringify(review))
    expect((await invocation(project, 'reconcile', '--review', project.of('stale.json'))).stderr).toContain(
      'REVIEW_STALE: ',
    )
    const missing = await invocation(project, 'reconcile', '--review', project.of('none.json'))
    expect([missing.code, missing.stdout]).toEqual([65, ''])
  })
})

test('a review that somebody wrote is not overwritten by a new one', async () => {
  await using project = await testProject()
  await unresolved(project)
  writeFileSync(project.of('mine.json'), 'mine')
  const done = await invocation(project, 'inspect', '--review-template', project.of('mine.json'))
  expect(done.code).toBe(65)
  expect(readFileSync(project.of('mine.json'), 'utf8')).toBe('mine')
})

test('a recorded invocation is inspected with exit 0, and has nothing to reconcile', async () => {
  await using project = await testProject()
  {
    await using _server = await testServer(project)
    await inProcess(['chat', 'again', '--id', ID, '--project', project.path])
  }
  const found = await invocation(project, 'inspect', '--json', '--review-template', project.of('review.json'))
  expect(found.code).toBe(0)
  const [inspection] = jsonLines(found.stdout)
  expect(inspection).toMatchObject({ status: 'recorded', recovery: { terminal_reason: 'Completed' } })
  expect(found.stderr).toContain('No review was begun: the invocation is recorded\n')
  const review = {
    snapshot_hash: inspection?.snapshot_hash,
    outcome: 'failed',
    rationale: 'x',
    evidence: [{ reference: 'r', sha256: '0'.repeat(64) }],
    effects_stopped: true,
  }
  writeFileSync(project.of('review.json'), JSON.stringify(review))
  const refused = await invocation(project, 'reconcile', '--review', project.of('review.json'))
  expect([refused.code, refused.stderr.split(':')[0]]).toEqual([1, 'ALREADY_RECORDED'])
})

test('an invocation whose owner lives is not inspected', async () => {
  await using project = await testProject()
  let entered = (): void => undefined
  const running = new Promise<void>((resolve) => {
    entered = resolve
  })
  const untilCancelled = (signal: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      signal.addEventListener('abort', () => resolve())
      entered()
    })
  const server = await testServer(project, { onRun: untilCancelled })
  const chat = inProcess(['chat', 'count', '--id', ID, '--wait', '0', '--project', project.path])
  await running
  const done = await invocation(project, 'inspect')
  expect([done.code, done.stdout]).toEqual([1, ''])
  expect(done.stderr).toContain('OWNER_ALIVE: ')
  await server[Symbol.asyncDispose]()
  expect((await chat).code).toBe(2)
})

test.each([
  [['inspect'], 64, /required option '--id <uuid>'/],
  [['inspect', '--id', 'nil'], 65, /INVALID_INVOCATION_ID/],
  [['inspect', '--id', ID], 1, /INVOCATION_NOT_FOUND/],
  [['inspect', '--id', ID, '--scope', ''], 65, /INVALID_REQUEST/],
  [['reconcile', '--id', ID], 64, /required option '--review <file>'/],
])('invocation %j exits %i', async (args, exit, words) => {
  await using project = await testProject()
  const done = await inProcess(['invocation', ...args, '--project', project.path])
  expect([done.code, done.stdout]).toEqual([exit, ''])
  expect(done.stderr).toMatch(words)
})
