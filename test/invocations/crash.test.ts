/**
 * Crashes: whatever the moment, the same id later answers by the table of 4.8, and never runs a second time. Files cut at
 * every byte, a disk that fails at every operation, and real processes that are killed.
 */
import { existsSync, readdirSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { Fault, isFault } from '../../src/core/index.ts'
import { type ClaimRequest, type ClaimStore, fileClaims } from '../../src/invocations/index.ts'
import { nodeWorld } from '../../src/world/index.ts'
import { fresh } from '../contract/claims.ts'
import { bundled, type Child, startChild } from '../support/child-script.ts'
import { finishRun, never, RUNS, requestOf, write } from '../support/invocation-runs.ts'
import { type TemporaryProject, temporaryProject } from '../support/temporary-project.ts'
import { watchedWorld } from '../support/watched-world.ts'

const claimPathOf = (project: TemporaryProject): string => {
  const name = readdirSync(project.invocations).find((candidate) => candidate.endsWith('.jsonl'))
  return join(project.invocations, name as string)
}

async function recorded(project: TemporaryProject, request: ClaimRequest) {
  const claims = fileClaims(nodeWorld(), project.root)
  const owner = await fresh(claims, request)
  await finishRun(owner, 'complete', { output: 'healthy' })
  const path = claimPathOf(project)
  return { claims, audit: owner.audit, path, bytes: readFileSync(path), journal: readFileSync(owner.audit.path) }
}

test('a claim cut at any byte is unresolved, names its journal only at the end of a line, and is not touched', async () => {
  using project = temporaryProject()
  const request = requestOf()
  const { claims, audit, path, bytes } = await recorded(project, request)
  const ends = [...bytes.entries()].filter(([, byte]) => byte === 0x0a).map(([at]) => at + 1)
  expect(ends).toHaveLength(3)
  for (let length = 0; length < bytes.length; length += 1) {
    writeFileSync(path, bytes.subarray(0, length))
    const state = await claims.lookup(request, never)
    expect({ length, state }).toEqual({
      length,
      state: { kind: 'Unresolved', audit: length === ends[1] ? audit : null },
    })
  }
  expect(await claims.open(request, never)).toEqual({ kind: 'Unresolved', audit: null })
  expect(readFileSync(path)).toEqual(bytes.subarray(0, -1))
  writeFileSync(path, bytes)
  expect((await claims.open(request, never)).kind).toBe('Recorded')
})

test('a claim with a sector that was never written is unresolved, and one with other zeros is refused', async () => {
  using project = temporaryProject()
  const request = requestOf()
  const { claims, path, bytes } = await recorded(project, request)
  expect(bytes.length).toBeGreaterThan(512)
  const first = bytes.indexOf(0x0a) + 1
  for (const from of [0, first]) {
    const holed = Buffer.from(bytes).fill(0, from, 512) // its newlines behind it are there
    writeFileSync(path, holed)
    expect(await claims.open(request, never)).toEqual({ kind: 'Unresolved', audit: null })
    expect(readFileSync(path)).toEqual(holed)
  }
  writeFileSync(path, Buffer.from(bytes).fill(0, first, 511))
  await expect(claims.open(request, never)).rejects.toMatchObject({ code: 'CLAIM_INVALID' })
})

test('a complete claim whose journal was cut at any record, or inside one, is unresolved', async () => {
  using project = temporaryProject()
  const request = requestOf()
  const { claims, audit, journal } = await recorded(project, request)
  const ends = [0, ...[...journal.entries()].filter(([, byte]) => byte === 0x0a).map(([at]) => at + 1)]
  expect(ends).toHaveLength(RUNS.complete.length + 1)
  for (const end of ends.slice(0, -1)) {
    writeFileSync(audit.path, journal.subarray(0, end))
    expect(await claims.open(request, never)).toEqual({ kind: 'Unresolved', audit })
    if (end === 0) continue // a fragment alone is no evidence at all
    writeFileSync(audit.path, journal.subarray(0, end + 7))
    expect(await claims.open(request, never)).toEqual({ kind: 'Unresolved', audit })
  }
  writeFileSync(audit.path, journal)
  expect((await claims.open(request, never)).kind).toBe('Recorded')
})

test('a result whose journal is edited, gone, or a fragment is an error, never a result', async () => {
  using project = temporaryProject()
  const request = requestOf()
  const { claims, audit, journal } = await recorded(project, request)
  const refused = { code: 'EVIDENCE_INVALID' }
  writeFileSync(audit.path, Buffer.from(journal.toString().replace('"is_error":false', '"is_error":true ')))
  await expect(claims.open(request, never)).rejects.toMatchObject(refused)
  writeFileSync(audit.path, '{')
  await expect(claims.open(request, never)).rejects.toMatchObject(refused)
  unlinkSync(audit.path)
  await expect(claims.open(request, never)).rejects.toMatchObject(refused)
  writeFileSync(audit.path, journal, { mode: 0o600 })
  expect((await claims.open(request, never)).kind).toBe('Recorded')
})

test('a result is worth nothing under another signing key, or without one', async () => {
  using project = temporaryProject()
  const request = requestOf()
  const { claims } = await recorded(project, request)
  const keyPath = join(project.governed, 'audit-signing.key')
  const key = readFileSync(keyPath)
  writeFileSync(keyPath, Buffer.alloc(32, 7))
  await expect(claims.open(request, never)).rejects.toMatchObject({ code: 'KEY_INVALID' })
  unlinkSync(keyPath)
  await expect(claims.lookup(request, never)).rejects.toMatchObject({ code: 'KEY_INVALID' })
  expect(existsSync(keyPath)).toBe(false)
  writeFileSync(keyPath, key, { mode: 0o600 })
  expect((await claims.open(request, never)).kind).toBe('Recorded')
})

test('a sound journal of another invocation proves nothing about this one', async () => {
  using project = temporaryProject()
  const request = requestOf()
  const { claims, path, bytes } = await recorded(project, request)
  const other = requestOf({ scope: 'cli:orga' })
  const owner = await fresh(claims, other)
  await finishRun(owner, 'complete')
  const line = bytes.toString().split('\n')
  const swapped = [
    (line[0] as string).replace(/"run_id":"[^"]*"/, `"run_id":"${owner.audit.run_id}"`),
    JSON.stringify({ kind: 'audit', reference: owner.audit }),
    line[2],
    '',
  ]
  writeFileSync(path, swapped.join('\n'))
  await expect(claims.open(request, never)).rejects.toMatchObject({ code: 'EVIDENCE_INVALID' })
})

describe('a claim that no crash leaves behind', () => {
  const edits: readonly [string, (lines: string[]) => string][] = [
    ['an empty object', () => '{}\n'],
    ['an empty line', () => '\n'],
    ['an unknown member', ([claim = '']) => `${claim.replace('"version"', '"more":1,"version"')}\n`],
    ['another version', ([claim = '']) => `${claim.replace('"version":1', '"version":2')}\n`],
    ['a member twice', ([claim = '']) => `${claim.replace('"version":1', '"version":1,"version":1')}\n`],
    ['an upper-case id', ([claim = '']) => `${claim.replace(/"id":"[^"]*"/, (id) => id.toUpperCase())}\n`],
    ['the audit line first', ([, audit = '']) => `${audit}\n`],
    ['no audit line', ([claim = '', , result = '']) => `${claim}\n${result}\n`],
    ['a claim line twice', ([claim = '']) => `${claim}\n${claim}\n`],
    ['a result twice', (lines) => `${lines.join('\n')}\n${lines[2]}\n`],
    ['invalid UTF-8 written as text', ([claim = '']) => `${claim}\n${Buffer.from([0x7b, 0x22]).toString()}\u0001\n`],
    [
      'a journal elsewhere',
      ([claim = '', audit = '']) => `${claim}\n${audit.replace('/.symbiont/governed/', '/elsewhere/')}\n`,
    ],
    [
      'a journal of another run',
      ([claim = '', audit = '']) =>
        `${claim}\n${audit.replace(/"run_id":"[^"]*"/, '"run_id":"0d0a3f0e-3a3f-4b1a-9d1e-2f1c5a7b9e11"')}\n`,
    ],
    [
      'a relative journal path',
      ([claim = '', audit = '']) => `${claim}\n${audit.replace('/governed/', '/governed/../governed/')}\n`,
    ],
  ]
  test.each(edits)('with %s is an error, and stays as it is [V4]', async (_what, edit) => {
    using project = temporaryProject()
    const request = requestOf()
    const { claims, path, bytes } = await recorded(project, request)
    const edited = edit(bytes.toString().trimEnd().split('\n'))
    writeFileSync(path, edited)
    await expect(claims.open(request, never)).rejects.toMatchObject({ code: 'CLAIM_INVALID' })
    await expect(claims.lookup(request, never)).rejects.toMatchObject({ code: 'CLAIM_INVALID' })
    expect(readFileSync(path, 'utf8')).toBe(edited)
  })
})

test('a claim that was replaced by one brace is unresolved [V4]', async () => {
  using project = temporaryProject()
  const request = requestOf()
  const { claims, path } = await recorded(project, request)
  writeFileSync(path, '{')
  expect(await claims.open(request, never)).toEqual({ kind: 'Unresolved', audit: null })
  expect(readFileSync(path, 'utf8')).toBe('{')
})

test('other content meets a conflict in a torn claim too, and a claim under the wrong name is one', async () => {
  using project = temporaryProject()
  const request = requestOf()
  const { claims, path, bytes } = await recorded(project, request)
  writeFileSync(path, bytes.subarray(0, -1))
  const other = { ...request, request: 'other' }
  await expect(claims.open(other, never)).rejects.toMatchObject({ code: 'INVOCATION_CONFLICT' })
  for (const [found, put] of [
    ['"scope":"ws:chat:v1"', '"scope":"cli:orga"'],
    [request.id, requestOf().id],
  ] as const) {
    writeFileSync(path, bytes.toString().replace(found, put))
    await expect(claims.open(request, never)).rejects.toMatchObject({ code: 'INVOCATION_CONFLICT' })
  }
})

describe('a disk that fails', () => {
  /** Every operation that changes or syncs something, of one whole life of a claim, in order. */
  const CHANGES = ['mkdir', 'create', 'append', 'syncData', 'syncAll', 'syncDirectory', 'link', 'unlink', 'tryLock']

  async function live(claims: ClaimStore, request: ClaimRequest): Promise<'ran' | 'refused' | 'not mine'> {
    try {
      const state = await claims.open(request, never)
      if (state.kind !== 'Fresh') return 'not mine'
      await using owner = state.owner
      await write(owner.log, RUNS.complete)
      await owner.finish('done')
      return 'ran'
    } catch (error) {
      if (isFault(error, 'STORAGE_FULL')) return 'refused'
      throw error
    }
  }

  test('at any one operation: the failure is told, and the id runs at most once', async () => {
    let failed = 0
    for (let at = 0; ; at += 1) {
      using project = temporaryProject()
      const request = requestOf()
      let count = 0
      let executing = false
      const world = watchedWorld((operation, path) => {
        if (!CHANGES.includes(operation)) return
        if (operation === 'append' && path.includes('governed') && path.endsWith('.jsonl')) executing = true
        if (count++ === at) throw new Fault('STORAGE_FULL', { message: 'Cannot store: the disk is full' })
      })
      const outcome = await live(fileClaims(world, project.root), request)
      if (outcome === 'ran') break // more operations than there are
      failed += 1
      expect({ at, outcome }).toEqual({ at, outcome: 'refused' })
      const claims = fileClaims(nodeWorld(), project.root)
      const found = await claims.lookup(request, never)
      const again = await live(claims, request)
      expect({ at, kind: found.kind, again }).toEqual({
        at,
        // Nothing was claimed, so it may run now; or something was, and it never will.
        ...(found.kind === 'NotFound' ? { kind: 'NotFound', again: 'ran' } : { kind: found.kind, again: 'not mine' }),
      })
      if (executing) expect(found.kind).not.toBe('NotFound')
      expect(found.kind).not.toBe('InProgress')
    }
    expect(failed).toBeGreaterThan(15)
  })

  test('full at the claim itself: STORAGE_FULL, and nothing lies there that may run', async () => {
    using project = temporaryProject()
    await (await fresh(fileClaims(nodeWorld(), project.root), requestOf())).release()
    const before = readdirSync(project.invocations)
    const world = watchedWorld((operation, path) => {
      if (operation === 'create' && path.endsWith('.jsonl')) {
        throw new Fault('STORAGE_FULL', { message: 'Cannot store: the disk is full' })
      }
    })
    await expect(fileClaims(world, project.root).open(requestOf(), never)).rejects.toMatchObject({
      code: 'STORAGE_FULL',
    })
    expect(readdirSync(project.invocations)).toEqual(before)
  })

  test('full at a line of the claim: STORAGE_FULL, and the id stays unresolved when there is room again', async () => {
    using project = temporaryProject()
    const world = watchedWorld((operation, path) => {
      if (operation === 'append' && path.includes('invocations')) {
        throw new Fault('STORAGE_FULL', { message: 'Cannot store: the disk is full' })
      }
    })
    const request = requestOf()
    await expect(fileClaims(world, project.root).open(request, never)).rejects.toMatchObject({ code: 'STORAGE_FULL' })
    expect(existsSync(project.governed)).toBe(false)
    expect(await fileClaims(nodeWorld(), project.root).open(request, never)).toEqual({
      kind: 'Unresolved',
      audit: null,
    })
  })
})

describe('real processes', () => {
  let script = ''
  beforeAll(async () => {
    script = await bundled('test/invocations/children/claim-holder.ts')
  }, 60_000)

  async function ready(given: readonly string[]): Promise<Child> {
    const child = startChild(script, given)
    expect(await child.line()).toBe('ready')
    return child
  }

  async function openIn(child: Child): Promise<{ kind: string; run_id: string | null }> {
    child.say('open')
    return JSON.parse(await child.line()) as { kind: string; run_id: string | null }
  }

  test('8 processes open one id at the same moment: one owns it, seven see it in progress [V1]', async () => {
    using project = temporaryProject()
    const request = requestOf()
    const children = await Promise.all(Array.from({ length: 8 }, () => ready([project.root, request.id])))
    try {
      const states = await Promise.all(children.map(openIn))
      expect(states.map(({ kind }) => kind).sort()).toEqual(['Fresh', ...Array(7).fill('InProgress')])
      expect(readdirSync(project.governed).filter((name) => name.endsWith('.jsonl'))).toHaveLength(1)
    } finally {
      await Promise.all(children.map((child) => child.kill()))
    }
  }, 60_000)

  test('a killed owner was in progress before and is unresolved afterwards, in every other process', async () => {
    using project = temporaryProject()
    const request = requestOf()
    const claims = fileClaims(nodeWorld(), project.root)
    await using child = await ready([project.root, request.id, 'run'])
    const { kind, run_id } = await openIn(child)
    expect(kind).toBe('Fresh')
    expect(await claims.open(request, never)).toEqual({ kind: 'InProgress' })
    expect(await claims.lookup(request, never)).toEqual({ kind: 'InProgress' })
    await expect(claims.inspect(request.scope, request.id, never)).rejects.toMatchObject({ code: 'OWNER_ALIVE' })
    await child.kill()
    expect(await claims.open(request, never)).toMatchObject({ kind: 'Unresolved', audit: { run_id } })
    const { status, recovery } = await claims.inspect(request.scope, request.id, never)
    expect({ status, unknown: recovery?.effects.map(({ outcome }) => outcome) }).toEqual({
      status: 'unresolved',
      unknown: ['unknown'],
    })
  }, 60_000)

  test('a killed owner that had not started leaves an empty journal, and its id does not run either', async () => {
    using project = temporaryProject()
    const request = requestOf()
    await using child = await ready([project.root, request.id])
    const { run_id } = await openIn(child)
    await child.kill()
    const state = await fileClaims(nodeWorld(), project.root).open(request, never)
    expect(state).toMatchObject({ kind: 'Unresolved', audit: { run_id } })
    if (state.kind === 'Unresolved') expect(readFileSync(state.audit?.path as string)).toHaveLength(0)
  }, 60_000)
})
