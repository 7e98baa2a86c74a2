/** What every maker of `ClaimStore` keeps. The model in `support/claim-model.ts` is one of them. */
import { expect, test } from 'vitest'
import type { ClaimOwner, ClaimRequest, Existing, Fresh } from '../../src/invocations/index.ts'
import { runOnce } from '../../src/invocations/index.ts'
import type { ClaimDoors } from '../support/claim-model.ts'
import {
  finishRun,
  never,
  RUNS,
  type RunKind,
  requestOf,
  started,
  terminated,
  write,
} from '../support/invocation-runs.ts'

export interface OpenedStore extends AsyncDisposable {
  readonly claims: ClaimDoors
}

export function claimContract(name: string, openStore: () => Promise<OpenedStore>): void {
  test(`${name}: open() makes one of eight callers the owner, and the others see it in progress [V1]`, async () => {
    await using store = await openStore()
    const request = requestOf()
    const states = await Promise.all(Array.from({ length: 8 }, () => store.claims.open(request, never)))
    expect(states.filter(({ kind }) => kind === 'Fresh')).toHaveLength(1)
    expect(states.filter(({ kind }) => kind === 'InProgress')).toHaveLength(7)
    await release(states)
  })

  test(`${name}: a proved result is given to everybody who asks again, and nobody runs again`, async () => {
    await using store = await openStore()
    const request = requestOf()
    const owner = await fresh(store.claims, request)
    const result = { version: 1, output: 'healthy – ✓', nested: [1, null, { deep: true }] }
    expect(await finishRun(owner, 'complete', result)).toBe('Recorded')
    const recorded = { kind: 'Recorded', audit: owner.audit, result }
    expect(await store.claims.open(request, never)).toEqual(recorded)
    expect(await store.claims.lookup(request, never)).toEqual(recorded)
    expect(await store.claims.open(request, never)).toEqual(recorded)
  })

  test(`${name}: a failed run whose effects are all recorded has a result like any other`, async () => {
    await using store = await openStore()
    const request = requestOf()
    expect(await finishRun(await fresh(store.claims, request), 'failed', 'sorry')).toBe('Recorded')
    expect(await store.claims.open(request, never)).toMatchObject({ kind: 'Recorded', result: 'sorry' })
  })

  const unproved: readonly RunKind[] = ['unknown effect', 'missing receipt', 'no end', 'nothing']
  test.each(unproved)(
    `${name}: finish() writes no result for a run with "%s", and the id never runs again [V3]`,
    async (run) => {
      await using store = await openStore()
      const request = requestOf()
      const owner = await fresh(store.claims, request)
      expect(await finishRun(owner, run)).toBe('Unresolved')
      expect(await store.claims.open(request, never)).toEqual({ kind: 'Unresolved', audit: owner.audit })
      expect(await store.claims.lookup(request, never)).toEqual({ kind: 'Unresolved', audit: owner.audit })
    },
  )

  test(`${name}: an owner that goes away leaves the claim unresolved, however often it is released`, async () => {
    await using store = await openStore()
    const request = requestOf()
    const owner = await fresh(store.claims, request)
    await write(owner.log, RUNS.complete)
    await owner.release()
    await owner.release()
    expect(await store.claims.open(request, never)).toEqual({ kind: 'Unresolved', audit: owner.audit })
    await expect(owner.finish('late')).rejects.toMatchObject({ code: 'JOURNAL_REFUSED' })
    expect(await store.claims.open(request, never)).toEqual({ kind: 'Unresolved', audit: owner.audit })
  })

  test(`${name}: other content is a conflict once the owner is gone, and in progress before`, async () => {
    await using store = await openStore()
    const request = requestOf()
    const other = requestOf({ id: request.id, request: { version: 1, caller: 'other' } })
    const owner = await fresh(store.claims, request)
    expect(await store.claims.open(other, never)).toEqual({ kind: 'InProgress' })
    expect(await store.claims.lookup(other, never)).toEqual({ kind: 'InProgress' })
    await finishRun(owner, 'complete')
    await expect(store.claims.open(other, never)).rejects.toMatchObject({ code: 'INVOCATION_CONFLICT' })
    await expect(store.claims.lookup(other, never)).rejects.toMatchObject({ code: 'INVOCATION_CONFLICT' })
    expect(await store.claims.open(request, never)).toMatchObject({ kind: 'Recorded' })
  })

  test(`${name}: the same id under another scope is another invocation`, async () => {
    await using store = await openStore()
    const chat = requestOf()
    const cli = requestOf({ id: chat.id, scope: 'cli:orga' })
    const owners = [await fresh(store.claims, chat), await fresh(store.claims, cli)]
    expect(owners[0]?.audit.run_id).not.toBe(owners[1]?.audit.run_id)
    await finishRun(owners[0] as ClaimOwner, 'complete')
    await owners[1]?.release()
    expect((await store.claims.open(chat, never)).kind).toBe('Recorded')
    expect((await store.claims.open(cli, never)).kind).toBe('Unresolved')
  })

  test(`${name}: an id in upper case is the same id`, async () => {
    await using store = await openStore()
    const request = requestOf({ id: 'ABCDEF01-2345-4678-9abc-def012345678' })
    const owner = await fresh(store.claims, request)
    expect(await store.claims.open({ ...request, id: request.id.toLowerCase() as never }, never)).toEqual({
      kind: 'InProgress',
    })
    await owner.release()
  })

  test(`${name}: lookup() of an id that nobody used finds nothing and takes nothing`, async () => {
    await using store = await openStore()
    const request = requestOf()
    expect(await store.claims.lookup(request, never)).toEqual({ kind: 'NotFound' })
    await (await fresh(store.claims, requestOf())).release()
    expect(await store.claims.lookup(request, never)).toEqual({ kind: 'NotFound' })
    await (await fresh(store.claims, request)).release()
  })

  test(`${name}: the journal takes one start first, and nothing behind its end [V2]`, async () => {
    await using store = await openStore()
    const request = requestOf()
    const owner = await fresh(store.claims, request)
    const refused = { code: 'JOURNAL_REFUSED' }
    await expect(write(owner.log, [terminated()])).rejects.toMatchObject(refused)
    await write(owner.log, [started])
    await expect(write(owner.log, [started])).rejects.toMatchObject(refused)
    await write(owner.log, [terminated()])
    await expect(write(owner.log, [terminated()])).rejects.toMatchObject(refused)
    await expect(write(owner.log, [started])).rejects.toMatchObject(refused)
    expect((await owner.finish(null)).kind).toBe('Recorded')
  })

  test(`${name}: a result beyond 1 MiB is refused, and the claim is free and unresolved`, async () => {
    await using store = await openStore()
    const request = requestOf()
    const owner = await fresh(store.claims, request)
    await expect(finishRun(owner, 'complete', 'x'.repeat(1024 * 1024))).rejects.toMatchObject({
      code: 'PAYLOAD_TOO_LARGE',
    })
    expect(await store.claims.open(request, never)).toEqual({ kind: 'Unresolved', audit: owner.audit })
  })

  test(`${name}: a result of just 1 MiB is kept`, async () => {
    await using store = await openStore()
    const request = requestOf()
    const result = 'x'.repeat(1024 * 1024 - 2)
    expect(await finishRun(await fresh(store.claims, request), 'complete', result)).toBe('Recorded')
    expect(await store.claims.open(request, never)).toMatchObject({ kind: 'Recorded', result })
  })

  test.each([
    ['an empty scope', requestOf({ scope: '' }), 'INVALID_REQUEST'],
    ['a scope of 257 bytes', requestOf({ scope: 'é'.repeat(128).concat('x') }), 'INVALID_REQUEST'],
    ['a scope with a lone surrogate', requestOf({ scope: '\ud800' }), 'INVALID_REQUEST'],
    ['the nil id', requestOf({ id: '00000000-0000-0000-0000-000000000000' }), 'INVALID_INVOCATION_ID'],
    ['an id without hyphens', requestOf({ id: 'abcdef01234546789abcdef012345678' }), 'INVALID_INVOCATION_ID'],
    ['a request beyond 1 MiB', requestOf({ request: 'x'.repeat(1024 * 1024) }), 'PAYLOAD_TOO_LARGE'],
  ])(`${name}: open() and lookup() refuse %s`, async (_what, request, code) => {
    await using store = await openStore()
    await expect(store.claims.open(request, never)).rejects.toMatchObject({ code })
    await expect(store.claims.lookup(request, never)).rejects.toMatchObject({ code })
  })

  test(`${name}: runOnce() gives back what the work returned once it is recorded`, async () => {
    await using store = await openStore()
    const request = requestOf()
    const ran = await runOnce(await fresh(store.claims, request), async (log) => {
      await write(log, RUNS.complete)
      return { output: 'done' }
    })
    expect(ran).toEqual({ kind: 'Recorded', result: { output: 'done' } })
    expect(await store.claims.open(request, never)).toMatchObject({ kind: 'Recorded', result: { output: 'done' } })
  })

  test(`${name}: runOnce() shows no result that the evidence does not prove`, async () => {
    await using store = await openStore()
    const ran = await runOnce(await fresh(store.claims, requestOf()), async (log) => {
      await write(log, RUNS['missing receipt'])
      return 'done'
    })
    expect(ran).toEqual({ kind: 'Unresolved' })
  })

  test(`${name}: runOnce() releases the claim when the work throws`, async () => {
    await using store = await openStore()
    const request = requestOf()
    const owner = await fresh(store.claims, request)
    const broken = new Error('broken')
    const ran = runOnce(owner, async (log) => {
      await write(log, RUNS.complete)
      throw broken
    })
    await expect(ran).rejects.toBe(broken)
    expect(await store.claims.open(request, never)).toEqual({ kind: 'Unresolved', audit: owner.audit })
  })
}

export async function fresh(claims: ClaimDoors, request: ClaimRequest): Promise<ClaimOwner> {
  const state = await claims.open(request, never)
  expect(state.kind).toBe('Fresh')
  return (state as Fresh).owner
}

async function release(states: readonly (Fresh | Existing)[]): Promise<void> {
  for (const state of states) if (state.kind === 'Fresh') await state.owner.release()
}
