/** Parts that tests of budgets and of their evidence share. */
import { randomBytes } from 'node:crypto'
import type { BudgetScope, ReservationRequest } from '../../src/budget/index.ts'
import { openBudget } from '../../src/budget/index.ts'
import { type AgentId, digest, parseId, timestampOf } from '../../src/core/index.ts'
import { type Entry, type NewEntry, Recorder, type Usage } from '../../src/events/index.ts'
import { MemoryLog } from './memory-log.ts'

export const PRINCIPAL: AgentId = parseId('agent', '6f0e2a0e-8a54-4d1c-9f5b-0a8d9c2b7e10')
export const REFERENCE = {
  run_id: parseId('run', '0d0a3f0e-3a3f-4b1a-9d1e-2f1c5a7b9e11'),
  path: '/project/.symbiont/governed/run.jsonl',
  public_key: 'ab'.repeat(32) as never,
}
export const random = { bytes: (count: number): Uint8Array => randomBytes(count) }

let micros = 1_700_000_000_000_000
export const now = () => timestampOf(micros++)

export function usage(prompt: number, completion: number, total = prompt + completion): Usage {
  return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: total }
}

export function request(parts: Partial<ReservationRequest> = {}): ReservationRequest {
  return {
    inputTokens: 10,
    outputTokensMax: 40,
    agent_id: PRINCIPAL,
    audit: REFERENCE,
    iteration: 0,
    provider: 'scripted',
    model: 'demo',
    request_hash: digest('request'),
    request_bytes: 7,
    ...parts,
  }
}

export interface Attached {
  readonly root: BudgetScope
  readonly log: MemoryLog
  readonly recorder: Recorder
}

/** A root that is attached to the recorder of a run; `BudgetOpened` is staged, as it is in life. */
export function attached(limit: number, log = new MemoryLog(REFERENCE)): Attached {
  const root = openBudget(limit, { random })
  const recorder = new Recorder(log, PRINCIPAL, now)
  root.attach(recorder)
  return { root, log, recorder }
}

export function numbered(entries: readonly NewEntry[]): readonly Entry[] {
  return entries.map((entry, sequence) => ({ sequence, ...entry }))
}

export const never = new AbortController().signal

/** Lets everything run that waits for nothing but its turn. */
export async function settled(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve))
}
