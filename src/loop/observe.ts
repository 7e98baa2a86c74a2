/** The observe step: what came back decides whether the loop goes on, ends with its answer, or stops after uncertainty. */
import type { Acted } from './act.ts'
import { type Finished, finished, type Run } from './run.ts'

declare const step: unique symbol
export interface Observed {
  readonly kind: 'observed'
  readonly [step]: true
}

export function observe(run: Run, acted: Acted): Observed | Finished {
  run.recorder.stage({
    kind: 'ObservationsCollected',
    iteration: run.iteration,
    observation_count: run.pendingObservations.length,
  })
  if (acted.unconfirmed) return finished('UnconfirmedEffects') // law 4: no further inference, no further effect
  if (acted.output !== null) return finished('Completed', acted.output)
  return OBSERVED
}

const OBSERVED = Object.freeze({ kind: 'observed' }) as unknown as Observed

/** Where every run begins: nothing was observed yet. */
export function nothingObserved(): Observed {
  return OBSERVED
}
