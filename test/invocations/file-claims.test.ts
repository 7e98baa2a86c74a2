/** Claims on a real disk: where they lie, what they cost, who is refused, and that a reader changes nothing. */
import { createHash } from 'node:crypto'
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { canonical, type Json } from '../../src/core/index.ts'
import { type ClaimRequest, fileClaims } from '../../src/invocations/index.ts'
import { parsePublicKey, verifyRun } from '../../src/journal/index.ts'
import { nodeWorld } from '../../src/world/index.ts'
import { fresh } from '../contract/claims.ts'
import { faultyWorld } from '../support/faulty-world.ts'
import { finishRun, never, PRINCIPAL, RUNS, requestOf, terminated, write } from '../support/invocation-runs.ts'
import { temporaryProject } from '../support/temporary-project.ts'
import { watchedWorld } from '../support/watched-world.ts'

const claimName = ({ scope, id }: ClaimRequest): string =>
  `${createHash('sha256')
    .update(JSON.stringify([scope, id]))
    .digest('hex')}.jsonl`

test('a claim is three lines in one order, in a private file named by scope and id', async () => {
  using project = temporaryProject()
  const request = requestOf()
  const owner = await fresh(fileClaims(nodeWorld(), project.root), request)
  await finishRun(owner, 'complete', { b: 1, a: ['x'] })
  const path = join(project.invocations, claimName(request))
  const request_hash = `sha256:${createHash('sha256').update(canonical(request.request)).digest('hex')}`
  const { run_id, public_key } = owner.audit
  const journal = join(project.governed, `${PRINCIPAL}.${run_id}.jsonl`)
  expect(owner.audit.path).toBe(journal)
  expect(readFileSync(path, 'utf8')).toBe(
    `{"kind":"claim","version":1,"scope":"ws:chat:v1","id":"${request.id}","request_hash":"${request_hash}","agent_id":"${PRINCIPAL}","run_id":"${run_id}"}\n` +
      `{"kind":"audit","reference":{"run_id":"${run_id}","path":"${journal}","public_key":"${public_key}"}}\n` +
      '{"kind":"result","payload":{"a":["x"],"b":1}}\n',
  )
  expect(statSync(path).mode & 0o777).toBe(0o600)
  expect(statSync(project.invocations).mode & 0o777).toBe(0o700)
  expect(readdirSync(project.invocations).sort()).toEqual([claimName(request), 'store.lock'].sort())
  const entries = await verifyRun(nodeWorld(), journal, parsePublicKey(public_key), run_id)
  expect(entries[0]?.event).toMatchObject({
    execution_context: { invocation: { id: request.id, scope: request.scope, request_hash } },
  })
})

test('a project that is reached through a link has the same claims, under its canonical path', async () => {
  using project = temporaryProject()
  using elsewhere = temporaryProject()
  const link = join(elsewhere.root, 'link')
  symlinkSync(project.root, link)
  const request = requestOf()
  const claims = fileClaims(nodeWorld(), link)
  const owner = await fresh(claims, request)
  expect(owner.audit.path.startsWith(`${realpathSync(project.root)}/`)).toBe(true)
  unlinkSync(link)
  symlinkSync(elsewhere.root, link) // whoever moves the link later moves nothing
  expect((await claims.open(request, never)).kind).toBe('InProgress')
  await finishRun(owner, 'complete')
  expect((await fileClaims(nodeWorld(), project.root).open(request, never)).kind).toBe('Recorded')
})

test('lookup() leaves a project without claims as it is, and so does open() of bad input', async () => {
  using project = temporaryProject()
  const claims = fileClaims(nodeWorld(), project.root)
  expect(await claims.lookup(requestOf(), never)).toEqual({ kind: 'NotFound' })
  const nil = requestOf({ id: '00000000-0000-0000-0000-000000000000' })
  await expect(claims.open(nil, never)).rejects.toMatchObject({ code: 'INVALID_INVOCATION_ID' })
  await expect(claims.inspect('cli:orga', requestOf().id, never)).rejects.toMatchObject({
    code: 'INVOCATION_NOT_FOUND',
  })
  expect(readdirSync(project.root)).toEqual([])
})

test('lookup() in a store creates no claim and no journal', async () => {
  using project = temporaryProject()
  mkdirSync(project.invocations, { recursive: true, mode: 0o700 })
  expect(await fileClaims(nodeWorld(), project.root).lookup(requestOf(), never)).toEqual({ kind: 'NotFound' })
  expect(readdirSync(project.invocations)).toEqual(['store.lock'])
  expect(existsSync(project.governed)).toBe(false)
})

test('asking again changes no byte and no time of claim and journal', async () => {
  using project = temporaryProject()
  const claims = fileClaims(nodeWorld(), project.root)
  const request = requestOf()
  const owner = await fresh(claims, request)
  await finishRun(owner, 'complete')
  const paths = [join(project.invocations, claimName(request)), owner.audit.path]
  const look = (): unknown =>
    paths.map((path) => {
      const { mtimeNs, ctimeNs, ino } = statSync(path, { bigint: true })
      return [readFileSync(path, 'hex'), mtimeNs, ctimeNs, ino]
    })
  const before = look()
  await claims.open(request, never)
  await claims.lookup(request, never)
  await expect(claims.open({ ...request, request: 'other' }, never)).rejects.toMatchObject({
    code: 'INVOCATION_CONFLICT',
  })
  await claims.inspect(request.scope, request.id, never)
  expect(look()).toEqual(before)
})

test('a missing project is refused, and not made', async () => {
  using project = temporaryProject()
  const claims = fileClaims(nodeWorld(), join(project.root, 'absent'))
  await expect(claims.open(requestOf(), never)).rejects.toMatchObject({ code: 'PROJECT_MISSING' })
  expect(readdirSync(project.root)).toEqual([])
})

test('no request lists the store: among 20,000 other files it does what it does among none', async () => {
  using project = temporaryProject()
  const done: string[] = []
  const world = watchedWorld((operation) => void done.push(operation))
  const claims = fileClaims(world, project.root)
  const cycle = async (): Promise<string> => {
    done.length = 0
    const request = requestOf()
    await finishRun(await fresh(claims, request), 'complete')
    await claims.open(request, never)
    await claims.lookup(request, never)
    await claims.lookup(requestOf(), never)
    return done.join(' ')
  }
  await cycle() // makes folders and key
  const alone = await cycle()
  const other = join(project.invocations, 'other.jsonl')
  writeFileSync(other, '')
  for (let index = 1; index < 20_000; index += 1) linkSync(other, join(project.invocations, `${index}.jsonl`)) // five times as fast
  expect(await cycle()).toBe(alone)
  expect(alone).toContain('create')
  expect(done).not.toContain('list')
})

test('a claim costs four syncs to open and one to finish', async () => {
  using project = temporaryProject()
  const done: string[] = []
  const world = watchedWorld((operation, path) => {
    if (operation.startsWith('sync'))
      done.push(`${operation} ${path.slice(project.root.length + 1).replace(/[0-9a-f-]{36,}/g, '*')}`)
  })
  const claims = fileClaims(world, project.root)
  await (await fresh(claims, requestOf())).release()
  done.length = 0
  const owner = await fresh(claims, requestOf())
  expect(done).toEqual([
    'syncDirectory .symbiont/invocations',
    'syncAll .symbiont/governed/*.*.jsonl',
    'syncDirectory .symbiont/governed',
    'syncData .symbiont/invocations/*.jsonl',
  ])
  await write(owner.log, RUNS.complete)
  done.length = 0
  await owner.finish(null)
  expect(done).toEqual(['syncData .symbiont/invocations/*.jsonl'])
})

test('what is told of a claim that is there already was synced first: who wrote it may have died before', async () => {
  using project = temporaryProject()
  const request = requestOf()
  await finishRun(await fresh(fileClaims(nodeWorld(), project.root), request), 'complete')
  const done: string[] = []
  const world = watchedWorld((operation, path) => {
    if (operation === 'readAll' || operation.startsWith('sync'))
      done.push(`${operation} ${path.slice(project.root.length + 1).replace(/[0-9a-f-]{36,}/g, '*')}`)
  })
  const claims = fileClaims(world, project.root)
  const asks = [() => claims.lookup(request, never), () => claims.open(request, never)]
  for (const ask of asks) {
    done.length = 0
    expect((await ask()).kind).toBe('Recorded')
    const read = done.indexOf('readAll .symbiont/invocations/*.jsonl')
    expect(read).toBeGreaterThan(-1)
    expect(done.slice(read)).toEqual(
      expect.arrayContaining(['syncData .symbiont/invocations/*.jsonl', 'syncDirectory .symbiont/invocations']),
    )
  }
})

test('a result whose sync failed is told by nobody in this process, though the file shows it and the next sync succeeds', async () => {
  using project = temporaryProject()
  const request = requestOf()
  const world = faultyWorld(nodeWorld())
  const claims = fileClaims(world, project.root)
  const owner = await fresh(claims, request)
  await write(owner.log, RUNS.complete)
  world.add({ on: 'syncData', path: claimName(request), errno: 'EIO', late: true })
  await expect(owner.finish('healthy')).rejects.toMatchObject({ code: 'STORAGE_FAILED' })
  expect(readFileSync(join(project.invocations, claimName(request)), 'utf8')).toContain('"kind":"result"')
  for (const ask of [() => claims.lookup(request, never), () => claims.open(request, never)]) {
    await expect(ask()).rejects.toMatchObject({ code: 'STORAGE_FAILED', message: expect.stringContaining(request.id) })
  }
  expect((await claims.lookup(requestOf(), never)).kind).toBe('NotFound')
  expect((await fileClaims(nodeWorld(), project.root).lookup(request, never)).kind).toBe('Recorded') // another process cannot know
})

test.each(['syncData', 'syncDirectory'] as const)(
  'a claim whose %s failed while it was read is told by nobody in this process',
  async (on) => {
    using project = temporaryProject()
    const request = requestOf()
    await finishRun(await fresh(fileClaims(nodeWorld(), project.root), request), 'complete')
    const world = faultyWorld(nodeWorld())
    const claims = fileClaims(world, project.root)
    world.add({ on, path: on === 'syncData' ? claimName(request) : project.invocations, errno: 'EIO' })
    await expect(claims.lookup(request, never)).rejects.toMatchObject({ code: 'STORAGE_FAILED' })
    await expect(claims.lookup(request, never)).rejects.toMatchObject({ code: 'STORAGE_FAILED' })
  },
)

test('the store lock is free again before a claim touches the disk with its lines', async () => {
  using project = temporaryProject()
  let held = false
  const world = watchedWorld((operation, path) => {
    if (path.endsWith('store.lock') && operation === 'tryLock') held = true
    if (operation === 'append' || operation.startsWith('sync')) expect(path.endsWith('store.lock')).toBe(false)
  })
  const first = fileClaims(world, project.root)
  const owner = await fresh(first, requestOf())
  expect(held).toBe(true)
  const other = await fresh(fileClaims(nodeWorld(), project.root), requestOf()) // while the first is still at work
  await owner.release()
  await other.release()
})

test('64 opens of one process at once wait for each other in line, and all get their claim', async () => {
  using project = temporaryProject()
  const claims = fileClaims(nodeWorld(), project.root)
  const states = await Promise.all(Array.from({ length: 64 }, () => claims.open(requestOf(), never)))
  expect(new Set(states.map(({ kind }) => kind))).toEqual(new Set(['Fresh']))
  for (const state of states) if (state.kind === 'Fresh') await state.owner.release()
})

test('a store lock that somebody keeps is waited for, then answered with STORAGE_BUSY, and nothing is claimed', async () => {
  using project = temporaryProject()
  await (await fresh(fileClaims(nodeWorld(), project.root), requestOf())).release()
  await using keeper = await nodeWorld().files.open(join(project.invocations, 'store.lock'), 'lock')
  expect(await keeper?.tryLock()).toBe(true)
  const real = nodeWorld()
  let now = 0
  let looks = 0
  let came = (): void => undefined
  const bothCame = new Promise<void>((resolve) => {
    came = resolve
  })
  const lstat = async (path: string) => {
    const facts = await real.files.lstat(path)
    if (path === project.invocations && ++looks === 2) came()
    return facts
  }
  const sleep = async (ms: number): Promise<void> => {
    await bothCame // no time passes before, so that both wait from the same moment
    await real.clock.yield()
    now += ms
  }
  const clock = { ...real.clock, monotonicMs: () => now, sleep }
  const claims = fileClaims({ ...real, clock, files: { ...real.files, lstat } }, project.root)
  const request = requestOf()
  const both = await Promise.allSettled([claims.lookup(request, never), claims.lookup(request, never)])
  expect(both).toMatchObject([{ reason: { code: 'STORAGE_BUSY' } }, { reason: { code: 'STORAGE_BUSY' } }])
  expect(now).toBe(2000) // the second waited in line meanwhile, and does not wait again
  await expect(claims.open(request, never)).rejects.toMatchObject({ code: 'STORAGE_BUSY' })
  await keeper?.close()
  await (await fresh(claims, request)).release()
})

test('an aborted open claims nothing', async () => {
  using project = temporaryProject()
  const claims = fileClaims(nodeWorld(), project.root)
  const request = requestOf()
  const reason = new Error('gone')
  await expect(claims.open(request, AbortSignal.abort(reason))).rejects.toBe(reason)
  await (await fresh(claims, request)).release()
})

test('finish() answers once the claim is free: the next caller never meets its lock', async () => {
  using project = temporaryProject()
  const claims = fileClaims(nodeWorld(), project.root)
  const other = fileClaims(nodeWorld(), project.root)
  for (const run of ['complete', 'unknown effect', 'nothing'] as const) {
    const request = requestOf()
    await finishRun(await fresh(claims, request), run)
    expect((await other.lookup(request, never)).kind).not.toBe('InProgress')
  }
})

test('finish() settles only after claim and journal are closed, whatever its outcome', async () => {
  for (const run of ['complete', 'unknown effect'] as const) {
    using project = temporaryProject()
    const order: string[] = []
    const world = watchedWorld(async (operation, path) => {
      if (operation !== 'close' || !path.endsWith('.jsonl')) return
      await new Promise((resolve) => setImmediate(resolve)) // long enough for a finish that does not wait
      order.push(path.includes('governed') ? 'journal' : 'claim')
    })
    const owner = await fresh(fileClaims(world, project.root), requestOf())
    await write(owner.log, RUNS[run])
    order.length = 0
    await owner.finish('done').then(() => order.push('finished'))
    expect(order.at(-1)).toBe('finished')
    expect(order).toContain('claim')
    expect(order).toContain('journal')
  }
})

test('finish() waits for entries that are still being written before it judges the run', async () => {
  using project = temporaryProject()
  const order: string[] = []
  const world = watchedWorld((operation, path) => {
    if (path.includes('governed') && path.endsWith('.jsonl')) order.push(operation)
  })
  const owner = await fresh(fileClaims(world, project.root), requestOf())
  await write(owner.log, RUNS['no end'])
  order.length = 0
  const last = write(owner.log, [terminated()])
  expect(await owner.finish('done')).toEqual({ kind: 'Recorded' })
  await last
  expect(order.indexOf('open')).toBeGreaterThan(order.indexOf('syncData'))
  expect(order).toContain('syncData')
})

test('release() during finish() waits for the result and takes nothing away from it', async () => {
  using project = temporaryProject()
  const claims = fileClaims(nodeWorld(), project.root)
  const request = requestOf()
  const owner = await fresh(claims, request)
  await write(owner.log, RUNS.complete)
  const finished = owner.finish('done')
  await owner.release()
  expect(await claims.open(request, never)).toMatchObject({ kind: 'Recorded', result: 'done' })
  expect(await finished).toEqual({ kind: 'Recorded' })
  await expect(owner.finish('again')).rejects.toMatchObject({ code: 'JOURNAL_REFUSED' })
})

test.each<[string, Json]>([
  ['an integer beyond 2^53-1', { tokens: 2 ** 60 }],
  ['the name "__proto__"', JSON.parse('{"__proto__":1}')],
])('finish() refuses a result with %s: no reader could give it back', async (_what, result) => {
  using project = temporaryProject()
  const claims = fileClaims(nodeWorld(), project.root)
  const request = requestOf()
  const owner = await fresh(claims, request)
  await write(owner.log, RUNS.complete)
  await expect(owner.finish(result)).rejects.toMatchObject({ code: 'INVALID_JSON' })
  expect(await claims.open(request, never)).toEqual({ kind: 'Unresolved', audit: owner.audit })
})

test('a worker that outlives finish() or release() writes nothing more', async () => {
  using project = temporaryProject()
  const claims = fileClaims(nodeWorld(), project.root)
  const owner = await fresh(claims, requestOf())
  await write(owner.log, RUNS['no end'])
  const bytes = readFileSync(owner.audit.path)
  await owner.release()
  await expect(write(owner.log, RUNS.complete.slice(1))).rejects.toMatchObject({ code: 'JOURNAL_FAILED' })
  expect(readFileSync(owner.audit.path)).toEqual(bytes)
})

test.each(['a symbolic link', 'a hard link', 'a folder', 'a file that others may read', 'a file beyond 2 MiB'])(
  'a claim path that is %s is refused, and its target stays as it is [V5]',
  async (kind) => {
    using project = temporaryProject()
    mkdirSync(project.invocations, { recursive: true, mode: 0o700 })
    const request = requestOf()
    const path = join(project.invocations, claimName(request))
    const target = join(project.root, 'target')
    writeFileSync(target, 'precious', { mode: 0o600 })
    if (kind === 'a symbolic link') symlinkSync(target, path)
    if (kind === 'a hard link') linkSync(target, path)
    if (kind === 'a folder') mkdirSync(path, { mode: 0o700 })
    if (kind === 'a file that others may read') writeFileSync(path, '', { mode: 0o644 })
    if (kind === 'a file beyond 2 MiB') writeFileSync(path, Buffer.alloc(2 * 1024 * 1024 + 1), { mode: 0o600 })
    const before = statSync(path).mtimeMs
    const claims = fileClaims(nodeWorld(), project.root)
    const refused = { code: expect.stringMatching(/^STORAGE_(UNSAFE|FAILED)$/) }
    await expect(claims.open(request, never)).rejects.toMatchObject(refused)
    await expect(claims.lookup(request, never)).rejects.toMatchObject(refused)
    expect(readFileSync(target, 'utf8')).toBe('precious')
    expect(statSync(path).mtimeMs).toBe(before)
    expect(readdirSync(project.invocations).sort()).toEqual([claimName(request), 'store.lock'].sort())
    expect(existsSync(project.governed)).toBe(false)
  },
)

test('a dangling link in place of a claim creates nothing where it points [V5]', async () => {
  using project = temporaryProject()
  mkdirSync(project.invocations, { recursive: true, mode: 0o700 })
  const request = requestOf()
  symlinkSync(join(project.root, 'target'), join(project.invocations, claimName(request)))
  await expect(fileClaims(nodeWorld(), project.root).open(request, never)).rejects.toMatchObject({
    code: 'STORAGE_UNSAFE',
  })
  expect(existsSync(join(project.root, 'target'))).toBe(false)
})

test.each(['0777', 'a symbolic link'])('a store that is %s is refused, with no new file [V5]', async (kind) => {
  using project = temporaryProject()
  const target = join(project.root, 'target')
  mkdirSync(target, { mode: 0o700 })
  mkdirSync(join(project.root, '.symbiont'), { mode: 0o700 })
  if (kind === '0777') {
    mkdirSync(project.invocations)
    chmodSync(project.invocations, 0o777)
  } else symlinkSync(target, project.invocations)
  const claims = fileClaims(nodeWorld(), project.root)
  await expect(claims.open(requestOf(), never)).rejects.toMatchObject({ code: 'STORAGE_UNSAFE' })
  await expect(claims.lookup(requestOf(), never)).rejects.toMatchObject({ code: 'STORAGE_UNSAFE' })
  expect(readdirSync(project.invocations)).toEqual([])
  expect(existsSync(project.governed)).toBe(false)
})

test('a governed folder that is not private gives no owner, and the claim never runs', async () => {
  using project = temporaryProject()
  mkdirSync(project.governed, { recursive: true })
  chmodSync(project.governed, 0o777)
  const claims = fileClaims(nodeWorld(), project.root)
  const request = requestOf()
  await expect(claims.open(request, never)).rejects.toMatchObject({ code: 'STORAGE_UNSAFE' })
  expect(readdirSync(project.governed)).toEqual([])
  chmodSync(project.governed, 0o700)
  expect(await claims.open(request, never)).toEqual({ kind: 'Unresolved', audit: null })
})

test.each<[string, (path: string, project: string) => void]>([
  ['others may read the claim', (path) => chmodSync(path, 0o640)],
  ['the claim has a second link', (path, project) => linkSync(path, join(project, 'second'))],
  ['the claim is gone', (path) => unlinkSync(path)],
  ['the claim was lengthened', (path) => writeFileSync(path, '{}\n', { flag: 'a' })],
  ['the claim was shortened', (path) => writeFileSync(path, '')],
  ['others may enter the store', (path) => chmodSync(join(path, '..'), 0o755)],
  ['the store was moved away', (path, project) => renameSync(join(path, '..'), join(project, 'moved'))],
])('finish() writes no result when %s', async (_what, change) => {
  using project = temporaryProject()
  const request = requestOf()
  const owner = await fresh(fileClaims(nodeWorld(), project.root), request)
  await write(owner.log, RUNS.complete)
  const path = join(project.invocations, claimName(request))
  change(path, project.root)
  await expect(owner.finish('done')).rejects.toMatchObject({
    code: expect.stringMatching(/^(STORAGE_UNSAFE|CLAIM_INVALID)$/),
  })
  const left = [path, join(project.root, 'moved', claimName(request))].find((candidate) => existsSync(candidate))
  if (left !== undefined) expect(readFileSync(left, 'utf8')).not.toContain('"result"')
})

test('a journal that somebody else lengthened with a fragment is unresolved, and with a line an error', async () => {
  using project = temporaryProject()
  const claims = fileClaims(nodeWorld(), project.root)
  const fragment = await fresh(claims, requestOf())
  await write(fragment.log, RUNS.complete)
  writeFileSync(fragment.audit.path, 'stray', { flag: 'a' })
  expect(await fragment.finish('done')).toEqual({ kind: 'Unresolved' })
  const request = requestOf()
  const line = await fresh(claims, request)
  await write(line.log, RUNS.complete)
  writeFileSync(line.audit.path, 'stray\n', { flag: 'a' })
  await expect(line.finish('done')).rejects.toMatchObject({ code: 'EVIDENCE_INVALID' })
  expect(await claims.open(request, never)).toEqual({ kind: 'Unresolved', audit: line.audit })
})
