/**
 * The gate step: every proposed action becomes a grant or a denial. A denial is told to the model and is recoverable; it
 * never marks an effect unknown, because nothing was started.
 */
import { callIdOf, sourceOf } from '../calls/index.ts'
import { authoriseBatch, type Denied, type Granted } from '../dispatch/index.ts'
import type { Reasoned } from './reason.ts'
import type { Run } from './run.ts'

declare const step: unique symbol
export interface Gated {
  readonly kind: 'gated'
  readonly [step]: true
  readonly granted: readonly Granted[]
}

export async function gate(run: Run, reasoned: Reasoned, signal: AbortSignal): Promise<Gated> {
  const authority = {
    world: run.world,
    gate: run.setup.gate,
    toolbox: run.setup.toolbox,
    offered: run.tools,
    deadlineMs: run.deadlineMs,
  }
  const { granted, denied } = await authoriseBatch(authority, reasoned.actions, run.context(), run.recorder, signal)
  for (const denial of denied) tellDenial(run, denial)
  return { kind: 'gated', granted } as unknown as Gated
}

/** A denied reply is not delivered and adds no message: there is no call that a message could answer. */
export function tellDenial(run: Run, { action, reason }: Pick<Denied, 'action' | 'reason'>): void {
  const callId = callIdOf(action)
  if (callId !== null) {
    run.messages.push({
      role: 'tool',
      content: `[Policy denied] ${reason}`,
      tool_call_id: callId,
      tool_name: sourceOf(action),
    })
  }
  run.pendingObservations.push({
    source: 'policy_gate',
    content: `[Policy denied] ${reason}`,
    is_error: true,
    ...(callId === null ? {} : { call_id: callId }),
    metadata: { error_type: 'policy_denied' },
  })
}
