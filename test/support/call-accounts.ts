/**
 * What signed journals say about tool calls, as an auditor would read it: for each effect that was begun, that policy had
 * allowed exactly that call before, and what became of it.
 */
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import type { RunId } from '../../src/core/index.ts'
import type { Entry, EventOf } from '../../src/events/index.ts'
import { recoveryReport, verifyRunPrefix } from '../../src/journal/index.ts'
import type { PublicKey } from '../../src/keys/index.ts'
import type { World } from '../../src/world/index.ts'

export interface CallAccount {
  readonly run_id: string
  readonly fingerprint: string
  /** As policy judged them. */
  readonly arguments: { readonly [name: string]: unknown }
  /** `known`: it is recorded that the call gave its result. */
  readonly outcome: 'known' | 'unknown'
}

export interface Accounts {
  readonly calls: readonly CallAccount[]
  /** Runs whose last entry is not the record of their end. */
  readonly unended: readonly string[]
  readonly runs: number
}

/** Every journal of the folder, each verified as the run that its name says. */
export async function accountsIn(world: World, governed: string, key: PublicKey): Promise<Accounts> {
  const calls: CallAccount[] = []
  const unended: string[] = []
  const names = readdirSync(governed).filter((name) => name.endsWith('.jsonl'))
  for (const name of names) {
    const run_id = name.split('.')[1] ?? ''
    const path = join(governed, name)
    if (statSync(path).size === 0) {
      unended.push(run_id)
      continue
    }
    const prefix = await verifyRunPrefix(world, path, key, run_id as RunId)
    const unknown = new Set(
      recoveryReport(prefix).effects.flatMap(({ identity, outcome }) =>
        identity.kind === 'tool_dispatch' && outcome === 'unknown' ? [identity.dispatch_id] : [],
      ),
    )
    calls.push(...callsIn(prefix.entries, unknown).map((call) => ({ run_id, ...call })))
    if (prefix.entries.at(-1)?.event.kind !== 'Terminated') unended.push(run_id)
  }
  return { calls, unended, runs: names.length }
}

interface Approved {
  readonly fingerprint: string
  readonly arguments: { readonly [name: string]: unknown }
  readonly action: { readonly ToolCall: { readonly call_id: string; readonly name: string } }
}

/** Law 1: the decision stands before the intent, for one action, allows it, and is about the same fingerprint and id. */
export function callsIn(
  entries: readonly Pick<Entry, 'event'>[],
  unknown: ReadonlySet<string>,
): readonly Omit<CallAccount, 'run_id'>[] {
  const seen = new Set<string>()
  return entries.flatMap(({ event }, at) => {
    if (event.kind !== 'ToolDispatchStarted') return []
    const decision = entries[at - 1]?.event
    expect(decision).toMatchObject({ kind: 'PolicyEvaluated', action_count: 1, denied_count: 0 })
    const [approved] = (decision as EventOf<'PolicyEvaluated'>).approved_calls as unknown as readonly Approved[]
    const { call_id, tool_name: name, call_fingerprint: fingerprint, dispatch_id } = event
    expect(approved).toMatchObject({ fingerprint, action: { ToolCall: { call_id, name } } })
    expect(seen.has(call_id)).toBe(false)
    seen.add(call_id)
    const { arguments: args = {} } = approved ?? {}
    return [{ fingerprint, arguments: args, outcome: unknown.has(dispatch_id) ? 'unknown' : 'known' } as const]
  })
}
