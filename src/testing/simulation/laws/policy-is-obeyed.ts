/** Fail closed (law 5): nothing begins that the policies in force at that moment forbid, as a second judge reads them. */
import type { Law, Scenario } from './law.ts'

export function policyIsObeyed({ allows }: Pick<Scenario, 'allows'>): Law {
  return {
    name: 'policy is obeyed',
    watch: (seen) => {
      if (seen.kind !== 'EffectBegan' || allows(seen.tool, seen.args)) return null
      return `The effect of token "${seen.token}" began, and policy forbids "${seen.tool}" with ${JSON.stringify(seen.args)}`
    },
  }
}
