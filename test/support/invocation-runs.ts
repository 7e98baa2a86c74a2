/** Runs for tests of invocations: the entries that a loop would write, and requests to claim. */
import { randomUUID } from 'node:crypto'
import { type AgentId, type Hash, type Json, newId, parseId } from '../../src/core/index.ts'
import { DEFAULT_LOOP_CONFIG, type Event, type EventLog, NO_USAGE } from '../../src/events/index.ts'
import type { ClaimOwner, ClaimRequest } from '../../src/invocations/index.ts'
import { nodeWorld } from '../../src/world/index.ts'

const world = nodeWorld()
export const PRINCIPAL: AgentId = parseId('agent', '6f0e2a0e-8a54-4d1c-9f5b-0a8d9c2b7e10')
export const never = new AbortController().signal

export function requestOf(changes: Partial<Omit<ClaimRequest, 'id'>> & { id?: string } = {}): ClaimRequest {
  const { id = randomUUID(), ...others } = changes
  const request: Json = { version: 1, caller: 'fixture', content: 'Inspect system health' }
  return { scope: 'ws:chat:v1', id: id as ClaimRequest['id'], request, principal: PRINCIPAL, ...others }
}

export const started: Event = { kind: 'Started', agent_id: PRINCIPAL, config: DEFAULT_LOOP_CONFIG }

export function terminated(reason: 'Completed' | 'Error' = 'Completed'): Event {
  return {
    kind: 'Terminated',
    reason: reason === 'Completed' ? 'Completed' : { Error: { message: 'the provider failed' } },
    iterations: 1,
    total_usage: NO_USAGE,
    duration: { secs: 0, nanos: 1 },
  }
}

const HASH = `sha256:${'a'.repeat(64)}` as Hash

/** Intent and, unless it is missing, the receipt. */
export function toolCall(outcome: 'recorded' | 'error' | 'missing'): readonly Event[] {
  const dispatch_id = newId('dispatch', world.random)
  const intent: Event = {
    kind: 'ToolDispatchStarted',
    dispatch_id,
    run_key: 'run',
    call_id: 'health-call',
    call_fingerprint: HASH,
    tool_name: 'system_health',
  }
  if (outcome === 'missing') return [intent]
  return [intent, { kind: 'ToolDispatchFinished', dispatch_id, observation_hash: HASH, is_error: outcome === 'error' }]
}

export const RUNS = {
  complete: [started, ...toolCall('recorded'), terminated()],
  failed: [started, ...toolCall('recorded'), terminated('Error')],
  'unknown effect': [started, ...toolCall('error'), terminated('Error')],
  'missing receipt': [started, ...toolCall('missing'), terminated()],
  'no end': [started, ...toolCall('recorded')],
  nothing: [],
} as const satisfies Record<string, readonly Event[]>
export type RunKind = keyof typeof RUNS

/** One append an entry, as slow runs do. */
export async function write(log: EventLog, events: readonly Event[]): Promise<void> {
  for (const event of events) {
    await log.append([{ timestamp: world.clock.wall(), agent_id: PRINCIPAL, iteration: 0, event }])
  }
}

export async function finishRun(
  owner: ClaimOwner,
  run: RunKind,
  result: Json = { output: 'healthy' },
): Promise<string> {
  await write(owner.log, RUNS[run])
  return (await owner.finish(result)).kind
}
