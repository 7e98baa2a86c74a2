/** Gates for tests of what comes after the decision. */

import type { PreparedCall } from '../../src/calls/index.ts'
import type { Decision, Gate } from '../../src/policy/index.ts'

export function gateOf(decide: (call: PreparedCall) => Decision): Gate {
  return {
    name: 'test',
    approve: async ({ call }) =>
      call.contract?.requires_approval === true
        ? { kind: 'Refused', reason: 'nobody can approve here' }
        : { kind: 'NotNeeded' },
    decide: async ({ call }) => decide(call),
  }
}

export const allowAll: Gate = gateOf(() => ({ kind: 'Allow', policies: ['everything'] }))
