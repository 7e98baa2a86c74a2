/** Reconciliation: what an operator sees, what he may say, and that it never opens an id again (4.9). */
import { createPublicKey, verify as verifySignature } from 'node:crypto'
import {
  chmodSync,
  linkSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { digest, type Hash, hexHash } from '../../src/core/index.ts'
import {
  type ClaimOwner,
  type ClaimRequest,
  type ClaimStore,
  fileClaims,
  parseReview,
  type Review,
  readReviewFile,
} from '../../src/invocations/index.ts'
import { nodeWorld } from '../../src/world/index.ts'
import { fresh } from '../contract/claims.ts'
import { finishRun, never, PRINCIPAL, RUNS, type RunKind, requestOf, write } from '../support/invocation-runs.ts'
import { type TemporaryProject, temporaryProject } from '../support/temporary-project.ts'
import { watchedWorld } from '../support/watched-world.ts'

interface Case extends Disposable {
  readonly project: TemporaryProject
  readonly claims: ClaimStore
  readonly request: ClaimRequest
  readonly owner: ClaimOwner
  readonly claim: string
  readonly receipt: string
}

/** An invocation whose owner has ended with this run. */
async function ended(run: RunKind, how: 'finish' | 'release' = 'finish'): Promise<Case> {
  const project = temporaryProject()
  const claims = fileClaims(nodeWorld(), project.root)
  const request = requestOf()
  const owner = await fresh(claims, request)
  if (how === 'finish') await finishRun(owner, run)
  else await write(owner.log, RUNS[run])
  await owner.release()
  const name = readdirSync(project.invocations).find((each) => each.endsWith('.jsonl')) as string
  const claim = join(project.invocations, name)
  const receipt = claim.replace(/\.jsonl$/, '.resolved.json')
  return { project, claims, request, owner, claim, receipt, [Symbol.dispose]: () => project[Symbol.dispose]() }
}

const inspect = ({ claims, request }: Case) => claims.inspect(request.scope, request.id, never)
const reconcile = ({ claims, request }: Case, review: Review) =>
  claims.reconcile(request.scope, request.id, review, never)

async function reviewOf(each: Case, changes: Partial<Review> = {}): Promise<Review> {
  return {
    snapshot_hash: (await inspect(each)).snapshot_hash as Hash,
    outcome: 'no_effects',
    rationale: 'The health endpoint only reads – ✓.\n"Checked" by hand.',
    evidence: [{ reference: 'ticket/4711', sha256: hexHash('log') }],
    effects_stopped: true,
    ...changes,
  }
}

describe('inspect()', () => {
  test('shows what the evidence is and what it says, byte for byte', async () => {
    using each = await ended('missing receipt')
    const { request, owner, claim } = each
    const found = await inspect(each)
    const snapshot = {
      scope: request.scope,
      id: request.id,
      request_hash: digest(request.request),
      agent_id: PRINCIPAL,
      claim_sha256: hexHash(readFileSync(claim)),
      journal_sha256: hexHash(readFileSync(owner.audit.path)),
      audit: owner.audit,
    }
    expect(found).toMatchObject({ status: 'unresolved', snapshot, snapshot_hash: digest(snapshot), resolution: null })
    expect(found.recovery).toMatchObject({
      run_id: owner.audit.run_id,
      requires_reconciliation: true,
      journal_complete: true,
    })
  })

  test('says recorded for a proved result', async () => {
    using each = await ended('complete')
    expect(await inspect(each)).toMatchObject({ status: 'recorded', recovery: { requires_reconciliation: false } })
  })

  test('says unresolved for a whole run that was never finished', async () => {
    using each = await ended('complete', 'release')
    expect(await inspect(each)).toMatchObject({ status: 'unresolved', recovery: { requires_reconciliation: false } })
  })

  test('has no recovery for an empty journal', async () => {
    using each = await ended('nothing')
    expect(await inspect(each)).toMatchObject({ status: 'unresolved', recovery: null })
  })

  test('counts a fragment at the end of the journal', async () => {
    using each = await ended('no end')
    writeFileSync(each.owner.audit.path, 'torn', { flag: 'a' })
    expect(await inspect(each)).toMatchObject({ status: 'unresolved', recovery: { unverified_tail_bytes: 4 } })
  })

  test('reads a claim whose result line was torn', async () => {
    using each = await ended('complete')
    writeFileSync(each.claim, readFileSync(each.claim).subarray(0, -5))
    expect(await inspect(each)).toMatchObject({ status: 'unresolved' })
  })

  test('refuses while the owner is alive', async () => {
    using project = temporaryProject()
    const claims = fileClaims(nodeWorld(), project.root)
    const request = requestOf()
    await using _owner = await fresh(claims, request)
    await expect(claims.inspect(request.scope, request.id, never)).rejects.toMatchObject({ code: 'OWNER_ALIVE' })
  })

  test.each<[string, string, (each: Case) => void]>([
    ['an empty claim', 'CLAIM_INVALID', ({ claim }) => writeFileSync(claim, '')],
    [
      'a claim without its audit line',
      'CLAIM_INVALID',
      ({ claim }) => writeFileSync(claim, `${readFileSync(claim, 'utf8').split('\n')[0]}\n`),
    ],
    ['a torn audit line', 'CLAIM_INVALID', ({ claim }) => writeFileSync(claim, readFileSync(claim).subarray(0, 320))],
    ['a journal that others may read', 'STORAGE_UNSAFE', ({ owner }) => chmodSync(owner.audit.path, 0o644)],
    [
      'a journal with a second link',
      'STORAGE_UNSAFE',
      ({ owner, project }) => linkSync(owner.audit.path, join(project.root, 'second')),
    ],
    [
      'a journal behind a link',
      'STORAGE_UNSAFE',
      ({ owner, project }) => {
        renameSync(owner.audit.path, join(project.root, 'moved'))
        symlinkSync(join(project.root, 'moved'), owner.audit.path)
      },
    ],
    ['a missing journal', 'EVIDENCE_INVALID', ({ owner }) => unlinkSync(owner.audit.path)],
    ['a journal that is only a fragment', 'EVIDENCE_INVALID', ({ owner }) => writeFileSync(owner.audit.path, '{')],
    [
      'an edited journal',
      'EVIDENCE_INVALID',
      ({ owner }) =>
        writeFileSync(owner.audit.path, readFileSync(owner.audit.path, 'utf8').replace('health-call', 'wealth-call')),
    ],
    [
      'another signing key',
      'KEY_INVALID',
      ({ project }) => writeFileSync(join(project.governed, 'audit-signing.key'), Buffer.alloc(32, 9)),
    ],
    ['an unknown id', 'INVOCATION_NOT_FOUND', ({ claim }) => unlinkSync(claim)],
  ])('refuses %s', async (_what, code, change) => {
    using each = await ended('missing receipt')
    change(each)
    await expect(inspect(each)).rejects.toMatchObject({ code })
  })
})

describe('reconcile()', () => {
  test('signs the review and the evidence, and closes the id for ever', async () => {
    using each = await ended('missing receipt')
    const before = [readFileSync(each.claim), readFileSync(each.owner.audit.path)]
    const review = await reviewOf(each)
    const { snapshot } = await inspect(each)
    const receipt = await reconcile(each, review)
    expect(receipt.payload).toMatchObject({ version: 1, snapshot, review, operator_uid: process.geteuid?.() })
    const state = { kind: 'Reconciled', audit: each.owner.audit, resolution: receipt }
    expect(await each.claims.open(each.request, never)).toEqual(state)
    expect(await fileClaims(nodeWorld(), each.project.root).lookup(each.request, never)).toEqual(state)
    expect(await inspect(each)).toMatchObject({ status: 'reconciled', resolution: receipt })
    expect([readFileSync(each.claim), readFileSync(each.owner.audit.path)]).toEqual(before)
    await expect(each.claims.open({ ...each.request, request: 'other' }, never)).rejects.toMatchObject({
      code: 'INVOCATION_CONFLICT',
    })
  })

  test('writes a private file that anybody can verify with the public key alone', async () => {
    using each = await ended('unknown effect')
    const { payload, signature } = await reconcile(each, await reviewOf(each, { outcome: 'failed' }))
    const text = JSON.stringify(payload)
    expect(readFileSync(each.receipt, 'utf8')).toBe(`{"payload":${text},"signature":"${signature}"}\n`)
    expect(Object.keys(payload)).toEqual(['version', 'snapshot', 'review', 'operator_uid', 'recorded_at'])
    expect(Object.keys(payload.snapshot)).toEqual([
      'scope',
      'id',
      'request_hash',
      'agent_id',
      'claim_sha256',
      'journal_sha256',
      'audit',
    ])
    expect(Object.keys(payload.review)).toEqual([
      'snapshot_hash',
      'outcome',
      'rationale',
      'evidence',
      'effects_stopped',
    ])
    const spki = Buffer.from(`302a300506032b6570032100${each.owner.audit.public_key}`, 'hex')
    const key = createPublicKey({ key: spki, format: 'der', type: 'spki' })
    const message = Buffer.from(`symbi-invocation-resolution:v1\n${text}`)
    expect(verifySignature(null, message, key, Buffer.from(signature, 'hex'))).toBe(true)
    expect(readdirSync(each.project.invocations).filter((name) => name.endsWith('.tmp'))).toEqual([])
  })

  test.each(['nothing', 'no end', 'unknown effect'] as const)('accepts a review of a run with "%s"', async (run) => {
    using each = await ended(run)
    await reconcile(each, await reviewOf(each))
    expect((await each.claims.open(each.request, never)).kind).toBe('Reconciled')
  })

  test('accepts a review of a claim whose result line was torn', async () => {
    using each = await ended('complete')
    writeFileSync(each.claim, readFileSync(each.claim).subarray(0, -5))
    await reconcile(each, await reviewOf(each, { outcome: 'completed' }))
    expect((await each.claims.open(each.request, never)).kind).toBe('Reconciled')
  })

  test('answers the same review with the same receipt, and refuses another', async () => {
    using each = await ended('missing receipt')
    const review = await reviewOf(each)
    const receipt = await reconcile(each, review)
    const bytes = readFileSync(each.receipt)
    expect(await reconcile(each, review)).toEqual(receipt)
    const reordered = Object.fromEntries(Object.entries(review).reverse()) as Review
    expect(await reconcile(each, reordered)).toEqual(receipt)
    for (const changes of [
      { rationale: 'another' },
      { outcome: 'completed' as const },
      { evidence: [...review.evidence, ...review.evidence] },
    ]) {
      await expect(reconcile(each, { ...review, ...changes })).rejects.toMatchObject({ code: 'REVIEW_DIFFERENT' })
    }
    expect(readFileSync(each.receipt)).toEqual(bytes)
  })

  test('of one invocation twice at once leaves one receipt', async () => {
    using each = await ended('missing receipt')
    const [first, second] = [await reviewOf(each), await reviewOf(each, { rationale: 'another' })]
    const outcomes = await Promise.allSettled([reconcile(each, first), reconcile(each, second)])
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    const loser = outcomes.find(({ status }) => status === 'rejected')
    expect(loser).toMatchObject({ reason: { code: expect.stringMatching(/^(REVIEW_DIFFERENT|OWNER_ALIVE)$/) } })
  })

  test.each<[string, string, (each: Case) => void]>([
    ['the journal grew since', 'REVIEW_STALE', ({ owner }) => writeFileSync(owner.audit.path, 'x', { flag: 'a' })],
    ['the claim grew since', 'REVIEW_STALE', ({ claim }) => writeFileSync(claim, '{', { flag: 'a' })],
    [
      'the signing key is missing',
      'KEY_INVALID',
      ({ project }) => unlinkSync(join(project.governed, 'audit-signing.key')),
    ],
    [
      'the signing key is another one',
      'KEY_INVALID',
      ({ project }) => writeFileSync(join(project.governed, 'audit-signing.key'), Buffer.alloc(32, 9)),
    ],
  ])('refuses when %s', async (_what, code, change) => {
    for (const run of ['missing receipt', 'nothing'] as const) {
      using each = await ended(run)
      const review = await reviewOf(each)
      change(each)
      if (run === 'nothing' && _what.startsWith('the journal')) continue // a fragment alone is no evidence at all
      await expect(reconcile(each, review)).rejects.toMatchObject({ code })
      expect(readdirSync(each.project.invocations).filter((name) => name.includes('.resolved.json'))).toEqual([])
    }
  })

  test('refuses a recorded result', async () => {
    using each = await ended('complete')
    await expect(reconcile(each, await reviewOf(each))).rejects.toMatchObject({ code: 'ALREADY_RECORDED' })
    expect((await each.claims.open(each.request, never)).kind).toBe('Recorded')
  })

  test('refuses while the owner is alive, an unknown id, and another scope', async () => {
    using each = await ended('missing receipt')
    const review = await reviewOf(each)
    const request = requestOf()
    await using _owner = await fresh(each.claims, request)
    await expect(reconcile({ ...each, request }, review)).rejects.toMatchObject({ code: 'OWNER_ALIVE' })
    for (const unknown of [requestOf(), { ...each.request, scope: 'cli:orga' }]) {
      await expect(reconcile({ ...each, request: unknown }, review)).rejects.toMatchObject({
        code: 'INVOCATION_NOT_FOUND',
      })
    }
  })

  test('completes a publication that a crash left with two names', async () => {
    using each = await ended('missing receipt')
    const review = await reviewOf(each)
    const receipt = await reconcile(each, review)
    const { base, dir } = { base: each.receipt.split('/').at(-1), dir: each.project.invocations }
    linkSync(each.receipt, join(dir, `.${base}.0123456789ab.tmp`))
    writeFileSync(join(dir, `.${base}.ba9876543210.tmp`), 'never published', { mode: 0o600 })
    await expect(each.claims.open(each.request, never)).rejects.toMatchObject({ code: 'STORAGE_UNSAFE' })
    expect(await reconcile(each, review)).toEqual(receipt)
    expect((await each.claims.open(each.request, never)).kind).toBe('Reconciled')
    expect(readdirSync(dir).filter((name) => name.endsWith('.tmp'))).toEqual([`.${base}.ba9876543210.tmp`])
  })

  test('fails without a receipt when the disk fails, and can be asked again', async () => {
    using each = await ended('missing receipt')
    const review = await reviewOf(each)
    const world = watchedWorld((operation, path) => {
      if (operation === 'link' && path.includes('invocations')) throw new Error('no link')
    })
    await expect(reconcile({ ...each, claims: fileClaims(world, each.project.root) }, review)).rejects.toThrow(
      'no link',
    )
    expect((await each.claims.open(each.request, never)).kind).toBe('Unresolved')
    await reconcile(each, review)
    expect((await each.claims.open(each.request, never)).kind).toBe('Reconciled')
  })
})

describe('a reconciled id', () => {
  test.each<[string, string, (each: Case) => void]>([
    ['its claim is gone', 'EVIDENCE_LOST', ({ claim }) => unlinkSync(claim)],
    ['its claim was emptied', 'EVIDENCE_INVALID', ({ claim }) => writeFileSync(claim, '')],
    [
      'its claim gained a result',
      'EVIDENCE_INVALID',
      ({ claim }) => writeFileSync(claim, '{"kind":"result","payload":1}\n', { flag: 'a' }),
    ],
    ['its journal changed', 'EVIDENCE_INVALID', ({ owner }) => writeFileSync(owner.audit.path, 'x', { flag: 'a' })],
    ['its journal is gone', 'EVIDENCE_INVALID', ({ owner }) => unlinkSync(owner.audit.path)],
    ['its receipt was edited', 'EVIDENCE_INVALID', ({ receipt }) => edit(receipt, '"no_effects"', '"completed"')],
    [
      'its receipt was cut',
      'EVIDENCE_INVALID',
      ({ receipt }) => writeFileSync(receipt, readFileSync(receipt).subarray(0, -9)),
    ],
    ['its receipt was emptied', 'EVIDENCE_INVALID', ({ receipt }) => writeFileSync(receipt, '')],
    [
      'its receipt gained a member',
      'EVIDENCE_INVALID',
      ({ receipt }) => edit(receipt, '{"payload"', '{"more":1,"payload"'),
    ],
    [
      'its signature was altered',
      'EVIDENCE_INVALID',
      ({ receipt }) =>
        edit(receipt, /"signature":"(.)/, (_all: string, digit: string) => `"signature":"${digit === '0' ? '1' : '0'}`),
    ],
    ['its receipt may be read by others', 'STORAGE_UNSAFE', ({ receipt }) => chmodSync(receipt, 0o644)],
    [
      'its receipt is a link',
      'STORAGE_UNSAFE',
      ({ receipt, project }) => {
        renameSync(receipt, join(project.root, 'moved'))
        symlinkSync(join(project.root, 'moved'), receipt)
      },
    ],
    [
      'the signing key is another one',
      'KEY_INVALID',
      ({ project }) => writeFileSync(join(project.governed, 'audit-signing.key'), Buffer.alloc(32, 9)),
    ],
  ])('is refused when %s', async (_what, code, change) => {
    using each = await ended('missing receipt')
    await reconcile(each, await reviewOf(each))
    change(each)
    await expect(each.claims.open(each.request, never)).rejects.toMatchObject({ code })
    await expect(each.claims.lookup(each.request, never)).rejects.toMatchObject({ code })
  })

  test('is not reconciled by the receipt of another invocation', async () => {
    using each = await ended('missing receipt')
    await reconcile(each, await reviewOf(each))
    const other = requestOf()
    await finishRun(await fresh(each.claims, other), 'missing receipt')
    const names = readdirSync(each.project.invocations).filter((name) => name.endsWith('.jsonl'))
    const name = names.find((candidate) => !each.claim.endsWith(candidate)) as string
    writeFileSync(
      join(each.project.invocations, name.replace('.jsonl', '.resolved.json')),
      readFileSync(each.receipt),
      {
        mode: 0o600,
      },
    )
    await expect(each.claims.open(other, never)).rejects.toMatchObject({ code: 'EVIDENCE_INVALID' })
  })

  test('may have been proved after all: a receipt beside a proved result is refused', async () => {
    using each = await ended('complete', 'release')
    await reconcile(each, await reviewOf(each))
    writeFileSync(each.claim, '{"kind":"result","payload":1}\n', { flag: 'a' })
    await expect(each.claims.open(each.request, never)).rejects.toMatchObject({ code: 'EVIDENCE_INVALID' })
  })
})

describe('a review', () => {
  const good = {
    snapshot_hash: `sha256:${'a'.repeat(64)}`,
    outcome: 'completed',
    rationale: 'r',
    evidence: [{ reference: 'x', sha256: 'b'.repeat(64) }],
    effects_stopped: true,
  }

  test('is read from a regular file', async () => {
    using project = temporaryProject()
    const path = join(project.root, 'review.json')
    writeFileSync(path, JSON.stringify(good, null, 2))
    expect(await readReviewFile(nodeWorld(), path)).toEqual(good)
  })

  test('may be as large as its bounds', () => {
    const evidence = Array.from({ length: 32 }, () => ({ reference: 'é'.repeat(1024), sha256: 'b'.repeat(64) }))
    expect(() => parseReview({ ...good, rationale: 'x'.repeat(8192), evidence })).not.toThrow()
  })

  test.each<[string, object]>([
    ['a blank rationale', { rationale: ' \n\t ' }],
    ['an empty rationale', { rationale: '' }],
    ['a rationale beyond 8192 bytes', { rationale: `${'é'.repeat(4096)}x` }],
    ['a lone surrogate', { rationale: 'x\udc00' }],
    ['no evidence', { evidence: [] }],
    ['33 pieces of evidence', { evidence: Array(33).fill(good.evidence[0]) }],
    ['an empty reference', { evidence: [{ reference: '', sha256: 'b'.repeat(64) }] }],
    ['a reference beyond 2048 bytes', { evidence: [{ reference: 'x'.repeat(2049), sha256: 'b'.repeat(64) }] }],
    ['a short hash', { evidence: [{ reference: 'x', sha256: 'b'.repeat(63) }] }],
    ['another outcome', { outcome: 'retry' }],
    ['effects that may go on', { effects_stopped: false }],
    ['a snapshot hash without its prefix', { snapshot_hash: 'a'.repeat(64) }],
    ['an unknown member', { note: 1 }],
    ['a missing member', { outcome: undefined }],
  ])('with %s is refused', (_what, changes) => {
    expect(() => parseReview({ ...good, ...changes })).toThrow(expect.objectContaining({ code: 'REVIEW_INVALID' }))
  })

  test.each<[string, (path: string, root: string) => void]>([
    ['absent', () => undefined],
    [
      'a link',
      (path, root) => {
        writeFileSync(join(root, 'target'), JSON.stringify(good))
        symlinkSync(join(root, 'target'), path)
      },
    ],
    ['too large', (path) => writeFileSync(path, `${JSON.stringify(good)}${' '.repeat(128 * 1024)}`)],
    ['not JSON', (path) => writeFileSync(path, 'outcome: completed')],
    [
      'JSON with a name twice',
      (path) => writeFileSync(path, JSON.stringify(good).replace('{', '{"outcome":"failed",')),
    ],
  ])('in a file that is %s is refused', async (_what, make) => {
    using project = temporaryProject()
    const path = join(project.root, 'review.json')
    make(path, project.root)
    await expect(readReviewFile(nodeWorld(), path)).rejects.toMatchObject({ code: 'REVIEW_INVALID' })
  })
})

function edit(path: string, found: string | RegExp, put: string | ((all: string, digit: string) => string)): void {
  const text = readFileSync(path, 'utf8')
  const edited = text.replace(found, put as string)
  expect(edited).not.toBe(text)
  writeFileSync(path, edited)
}
