/**
 * One pass of the loop, as four typed steps: each takes what only the step before can make, so no phase can be skipped or
 * reordered, and acting on something that never met the gate does not compile.
 */
import { act } from './act.ts'
import { gate } from './gate.ts'
import { type Observed, observe } from './observe.ts'
import { reason } from './reason.ts'
import type { Finished, Run } from './run.ts'

export async function takeTurn(run: Run, observed: Observed, signal: AbortSignal): Promise<Observed | Finished> {
  const reasoned = await reason(run, observed, signal) // actions proposed, nothing done
  if (reasoned.kind === 'finished') return reasoned
  const gated = await gate(run, reasoned, signal) // a grant or a denial for every action
  const acted = await act(run, gated, signal) // takes Gated, and nothing less
  if (acted.kind === 'finished') return acted
  return observe(run, acted)
}
