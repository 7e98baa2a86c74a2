/**
 * Correlating results with the calls that asked for them. Each result must carry the id of a call of the batch, once; one
 * stray or doubled id spoils the whole batch, because then no result can be believed. A call without a result is an error.
 */
import { fits } from '../core/index.ts'
import { type Observation, observationShape } from '../events/index.ts'

export interface Expected {
  readonly callId: string
  readonly source: string
}

/** One observation for each expected call, in request order. What has not the shape of one belongs to no call. */
export function correlate(expected: readonly Expected[], results: readonly Observation[]): readonly Observation[] {
  const byId = new Map<string, Observation>()
  const wanted = new Set(expected.map(({ callId }) => callId))
  for (const result of results) {
    const id = fits(observationShape, result) ? result.call_id : undefined
    if (id === undefined || !wanted.has(id) || byId.has(id)) {
      return expected.map((call) =>
        unknownResult(
          call,
          'the executor answered with a result that belongs to no call of this batch, or answered twice',
        ),
      )
    }
    byId.set(id, result)
  }
  return expected.map(
    (call) => byId.get(call.callId) ?? unknownResult(call, 'the executor gave no result for this call'),
  )
}

export function unknownResult(call: Expected, reason: string, errorType?: string): Observation {
  return {
    source: call.source,
    content: `${capital(reason)}; whether the call took effect is unconfirmed`,
    is_error: true,
    call_id: call.callId,
    metadata: errorType === undefined ? {} : { error_type: errorType },
  }
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
