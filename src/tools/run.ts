/**
 * The one way from a grant to a tool. Guarded: only `dispatch` may import this file, and the folder's front door does not
 * offer it.
 *
 * A grant belongs to the toolbox that prepared its call: another one refuses it before anything is spent or done [P2].
 * Spending comes before executing, so no grant is ever executed twice, whatever happens next (laws 2 and 8).
 */
import { type ExecutionScope, type Grant, spend, type Toolbox } from '../calls/index.ts'
import { Fault } from '../core/index.ts'
import type { Observation } from '../events/index.ts'

export async function run(
  grants: readonly Grant[],
  toolbox: Toolbox,
  scope: ExecutionScope,
  signal: AbortSignal,
): Promise<readonly Observation[]> {
  for (const { toolbox: owner } of grants) {
    if (owner !== toolbox) {
      throw new Fault('GRANT_REFUSED', {
        message: 'Cannot execute the calls: a grant was given for another toolbox',
        hint: 'Propose the call again, so that it is prepared and judged for the toolbox that is to execute it',
      })
    }
  }
  const calls = grants.map((grant) => spend(grant))
  return toolbox.execute(calls, scope, signal)
}
