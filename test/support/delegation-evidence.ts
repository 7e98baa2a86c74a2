/**
 * The journals of one delegated turn as a stranger finds them, and what must be true of them at any moment of its life. It
 * compares entry with entry and knows nothing of how they were made.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { hexHash, instantOf, isJsonObject, type RunId } from '../../src/core/index.ts'
import type { Entry, EventKind, EventOf } from '../../src/events/index.ts'
import { type PublicKey, verifyRun, verifyRunPrefix } from '../../src/journal/index.ts'
import { nodeWorld } from '../../src/world/index.ts'

const world = nodeWorld()
const NEWLINE = 0x0a

export interface FoundRun {
  readonly path: string
  readonly agentId: string
  readonly runId: string
  /** Verified; empty when no line is complete. */
  readonly entries: readonly Entry[]
  readonly torn: boolean
}

/** Every journal of a folder, each verified as far as it goes. Throws for a line that does not verify. */
export async function journalsIn(governed: string, key: PublicKey): Promise<readonly FoundRun[]> {
  const found: FoundRun[] = []
  for (const name of readdirSync(governed).filter((entry) => entry.endsWith('.jsonl'))) {
    const [agentId = '', runId = ''] = name.split('.')
    const path = join(governed, name)
    const bytes = readFileSync(path)
    const whole = bytes.includes(NEWLINE) ? await verifyRunPrefix(world, path, key, runId as RunId) : null
    const torn = bytes.length > 0 && bytes.at(-1) !== NEWLINE
    expect(whole?.unverified_tail_bytes ?? bytes.length).toBe(
      torn ? bytes.length - (bytes.lastIndexOf(NEWLINE) + 1) : 0,
    )
    found.push({ path, agentId, runId, entries: whole?.entries ?? [], torn })
  }
  return found
}

export function eventsOf<K extends EventKind>({ entries }: FoundRun, kind: K): readonly EventOf<K>[] {
  return entries.flatMap(({ event }) => (event.kind === kind ? [event as EventOf<K>] : []))
}

/** How a run ended, or null. */
export function endOf(run: FoundRun): EventOf<'Terminated'>['reason'] | null {
  return eventsOf(run, 'Terminated')[0]?.reason ?? null
}

/** The two runs of a turn; each is null while its journal was not created. */
export interface Pair {
  readonly parent: FoundRun | null
  readonly child: FoundRun | null
}

export function pairOf(runs: readonly FoundRun[], childAgentId: string): Pair {
  const [child = null, ...children] = runs.filter(({ agentId }) => agentId === childAgentId)
  const [parent = null, ...parents] = runs.filter(({ agentId }) => agentId !== childAgentId)
  expect([...children, ...parents]).toEqual([])
  return { parent, child }
}

/** Whatever stopped the two, and wherever: neither says what the other denies. */
export async function neverContradict({ parent, child }: Pair, key: PublicKey): Promise<void> {
  const begun = parent === null ? [] : eventsOf(parent, 'DelegationStarted')
  const finished = parent === null ? [] : eventsOf(parent, 'DelegationFinished')
  expect(begun.length).toBeLessThanOrEqual(1)
  expect(finished.length).toBeLessThanOrEqual(begun.length)
  const [intent] = begun
  if (intent !== undefined) expect(child).toMatchObject({ path: intent.audit.path, agentId: intent.child_agent_id })
  if (child !== null && child.entries.length > 0) {
    expect(intent).toBeDefined() // the child began only after its parent had said so
    repeats(child, parent as FoundRun, intent as EventOf<'DelegationStarted'>)
  }
  const [end] = finished
  if (end !== undefined) await ended(child as FoundRun, intent as EventOf<'DelegationStarted'>, end, key)
  if (parent !== null && endOf(parent) === 'Completed') {
    expect(end?.reason).toBe('Completed')
    expect(child === null ? null : endOf(child)).toBe('Completed')
  }
  if (parent !== null && endOf(parent) !== null) {
    const last = child?.entries.at(-1)
    expect(last?.event.kind ?? 'Terminated').toBe('Terminated') // the child's end comes first
    if (last !== undefined)
      expect(instantOf(last.timestamp)).toBeLessThanOrEqual(instantOf((parent.entries.at(-1) as Entry).timestamp))
  }
}

/** Member for member, and who the parent is. */
function repeats(child: FoundRun, parent: FoundRun, { kind: _, ...intent }: EventOf<'DelegationStarted'>): void {
  const [started] = eventsOf(child, 'Started')
  expect(child.entries[0]?.event.kind).toBe('Started')
  expect(started?.execution_context?.delegation).toEqual({
    ...intent,
    parent_agent_id: parent.agentId,
    parent_audit: { run_id: parent.runId, path: parent.path, public_key: intent.audit.public_key },
  })
}

/** The parent says how the child ended only when the child's journal says it, in full, and says the same. */
async function ended(
  child: FoundRun,
  intent: EventOf<'DelegationStarted'>,
  end: EventOf<'DelegationFinished'>,
  key: PublicKey,
): Promise<void> {
  const { run_key, call_id, audit } = intent
  expect(end).toMatchObject({ run_key, call_id, audit })
  const entries = await verifyRun(world, child.path, key, child.runId as RunId)
  expect(entries.at(-1)?.event).toMatchObject({ kind: 'Terminated', reason: end.reason })
  expect(end.output_hash).toBe(hexHash(end.reason === 'Completed' ? String(answerOf(child)) : ''))
}

/** The text that policy let the child answer with, or null when it let none out. */
function answerOf(run: FoundRun): unknown {
  const [call] = eventsOf(run, 'PolicyEvaluated').at(-1)?.approved_calls ?? []
  return isJsonObject(call?.action) && isJsonObject(call.action.Respond) ? call.action.Respond.content : null
}
