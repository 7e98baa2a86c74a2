/**
 * The effect journal of one dispatched call (6.7): a tool writes the intent of each network request or publication before
 * it, and the receipt after it; each record is acknowledged when it is durable. A start is refused after a failure, after
 * the deadline, and once dispatch ended. What is pending, doubled or incomplete leaves the call unconfirmed (law 3).
 */
import type { EffectHandle } from '../calls/index.ts'
import { canonical, Fault, fits, type Hash } from '../core/index.ts'
import { effectUnconfirmed, type Recorder, type ToolEffect, toolEffectShape } from '../events/index.ts'
import type { Clock } from '../world/index.ts'

const RECORDS_MAX = 2048
const RECORD_BYTES_MAX = 32 * 1024
const PENDING_WRITES_MAX = 32

export interface EffectJournal extends EffectHandle {
  /** No further start; true when every effect of the call has a complete receipt. */
  end(): boolean
}

export interface EffectScope {
  readonly recorder: Recorder
  readonly clock: Clock
  readonly runKey: string
  readonly fingerprint: Hash
  /** Monotonic. */
  readonly deadlineMs: number
  /** Told once when the journal itself failed: dispatch stops. */
  readonly onJournalFailure: (error: unknown) => void
}

export function effectJournal(scope: EffectScope): EffectJournal {
  const pending = new Set<string>()
  const started = new Set<string>()
  let records = 0
  let writing = 0
  let failed = false
  let ended = false

  const check = (effect: ToolEffect, id: string, starts: boolean): string | null => {
    if (records >= RECORDS_MAX) return `a call may record ${RECORDS_MAX} effects`
    if (writing >= PENDING_WRITES_MAX) return `${PENDING_WRITES_MAX} records are waiting to be written`
    if (Buffer.byteLength(canonical(effect)) > RECORD_BYTES_MAX)
      return `a record holds at most ${RECORD_BYTES_MAX} bytes`
    if (!starts) return ended ? 'the call has ended' : pending.has(id) ? null : 'its start was never recorded'
    if (ended) return 'the call has ended'
    if (failed) return 'an earlier effect of the call failed'
    if (scope.clock.monotonicMs() >= scope.deadlineMs) return 'the call has no time left'
    return started.has(id) ? 'its id was used before' : null
  }

  return {
    async record(given) {
      const effect = effectIn(given)
      if (effect === null) {
        failed = true
        throw refused('it is not a record of an effect')
      }
      const id = identityOf(effect)
      const starts = 'NetworkRequestStarted' in effect || 'FilePublicationPrepared' in effect
      const misfit = check(effect, id, starts)
      if (misfit !== null) {
        failed = true
        throw refused(misfit)
      }
      records += 1
      if (starts) {
        started.add(id)
        pending.add(id)
      }
      writing += 1
      try {
        await scope.recorder.commit({
          kind: 'ToolEffect',
          run_key: scope.runKey,
          call_fingerprint: scope.fingerprint,
          effect,
        })
      } catch (error) {
        failed = true
        scope.onJournalFailure(error)
        throw error
      } finally {
        writing -= 1
      }
      if (starts) return
      pending.delete(id)
      failed ||= effectUnconfirmed(effect)
    },
    end() {
      ended = true
      return !failed && pending.size === 0 && writing === 0
    },
  }
}

/** A copy: what a tool changes in its record afterwards is not what was judged. Null for what the journal cannot hold. */
function effectIn(given: ToolEffect): ToolEffect | null {
  try {
    const effect: unknown = structuredClone(given)
    canonical(effect)
    return fits(toolEffectShape, effect) ? effect : null
  } catch {
    return null
  }
}

function identityOf(effect: ToolEffect): string {
  if ('NetworkRequestStarted' in effect) return `request:${effect.NetworkRequestStarted.request_id}`
  if ('NetworkRequestFinished' in effect) return `request:${effect.NetworkRequestFinished.request_id}`
  if ('FilePublicationPrepared' in effect) return `publication:${effect.FilePublicationPrepared.intent.publication_id}`
  return `publication:${effect.FilePublicationFinished.publication_id}`
}

function refused(reason: string): Fault {
  return new Fault('GRANT_REFUSED', {
    message: `Cannot record the effect: ${reason}`,
    hint: 'Do not start the effect; return what is known so far',
  })
}
