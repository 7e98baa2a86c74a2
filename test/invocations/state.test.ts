import { expect, test } from 'vitest'
import { type HexHash, parseId } from '../../src/core/index.ts'
import type { AuditReference } from '../../src/events/index.ts'
import type { ClaimLines } from '../../src/invocations/claim-file.ts'
import type { Receipt } from '../../src/invocations/receipt.ts'
import { stateOf, statusOf } from '../../src/invocations/state.ts'
import { PRINCIPAL, requestOf } from '../support/invocation-runs.ts'

const audit: AuditReference = {
  run_id: parseId('run', '0d0a3f0e-3a3f-4b1a-9d1e-2f1c5a7b9e11'),
  path: '/srv/project/.symbiont/governed/a.b.jsonl',
  public_key: 'a'.repeat(64) as HexHash,
}
const claim = {
  kind: 'claim',
  version: 1,
  scope: 'cli:orga',
  id: requestOf().id,
  request_hash: `sha256:${'b'.repeat(64)}` as never,
  agent_id: PRINCIPAL,
  run_id: audit.run_id,
} as const
const full: ClaimLines = { claim, audit, result: { payload: null }, torn: false }
const receipt = { payload: {}, signature: 'c' } as unknown as Receipt

test.each<[string, ClaimLines, boolean, Receipt | null, unknown]>([
  [
    'an empty file',
    { claim: null, audit: null, result: null, torn: false },
    true,
    null,
    { kind: 'Unresolved', audit: null },
  ],
  ['a claim line', { ...full, audit: null, result: null }, true, null, { kind: 'Unresolved', audit: null }],
  ['an audit line', { ...full, result: null }, false, null, { kind: 'Unresolved', audit }],
  ['a torn result', { ...full, result: null, torn: true }, false, null, { kind: 'Unresolved', audit: null }],
  ['bytes behind a result', { ...full, torn: true }, false, null, { kind: 'Unresolved', audit: null }],
  ['a result whose run is not proved', full, true, null, { kind: 'Unresolved', audit }],
  ['a result whose run is proved', full, false, null, { kind: 'Recorded', audit, result: null }],
  ['a receipt', { ...full, result: null }, true, receipt, { kind: 'Reconciled', audit, resolution: receipt }],
  [
    'a receipt and a torn result',
    { ...full, result: null, torn: true },
    true,
    receipt,
    { kind: 'Reconciled', audit, resolution: receipt },
  ],
])('stateOf() answers for %s', (_what, lines, needsReconciling, resolution, expected) => {
  expect(stateOf(lines, needsReconciling, resolution)).toEqual(expected)
})

test('statusOf() spells the states in snake case, and each with what it has', () => {
  expect(statusOf({ kind: 'InProgress' })).toEqual({ status: 'in_progress' })
  expect(statusOf({ kind: 'Unresolved', audit: null })).toEqual({ status: 'unresolved', audit: null })
  expect(statusOf({ kind: 'Recorded', audit, result: 1 })).toEqual({ status: 'recorded', audit, result: 1 })
  expect(statusOf({ kind: 'Reconciled', audit, resolution: receipt })).toEqual({
    status: 'reconciled',
    audit,
    resolution: receipt,
  })
})
