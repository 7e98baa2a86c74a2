/** The runtime bears what a World and its clients do to it: nothing of its own breaks, and a boot fails for a reason. */
import type { Law, Scenario } from './law.ts'

export function theRuntimeStaysUp({ bootMayFail }: Pick<Scenario, 'bootMayFail'>): Law {
  return {
    name: 'the runtime stays up',
    watch: (seen) => {
      if (seen.kind === 'Broke') return `Process ${seen.life} broke: ${seen.what}`
      if (seen.kind !== 'BootFailed' || bootMayFail(seen.code)) return null
      return `Process ${seen.life} did not boot: ${seen.code}, and no trouble of the disk explains it`
    },
  }
}
