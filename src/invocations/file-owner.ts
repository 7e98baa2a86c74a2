/**
 * The owner of a claim in a file: journal, result line, and the lock that both stand behind. The lock is the open claim
 * file itself, so it ends when the file is closed, and with the process at the latest (law 2).
 */
import { Fault, type Json } from '../core/index.ts'
import type { AuditReference } from '../events/index.ts'
import type { Journal } from '../journal/index.ts'
import type { OpenFile, World } from '../world/index.ts'
import { type ClaimRecord, type ClaimWriter, resultLine } from './claim-file.ts'
import type { ClaimOwner, Finished } from './claims.ts'
import { type InvocationLog, invocationLog } from './phases.ts'
import type { Place } from './place.ts'
import { needsReconciling, readRun } from './run-evidence.ts'

export interface OwnedClaim {
  readonly place: Place
  readonly claim: ClaimRecord
  /** Holds the claim lock. */
  readonly file: OpenFile
  readonly writer: ClaimWriter
  readonly journal: Journal
  /** Told when the result was written, or begun to be, and is not known to be durable. */
  readonly doubt: () => void
}

export class FileOwner implements ClaimOwner {
  readonly audit: AuditReference
  readonly principal: ClaimRecord['agent_id']
  readonly log: InvocationLog
  readonly #world: World
  readonly #owned: OwnedClaim
  #ending: Promise<unknown> | null = null

  constructor(world: World, owned: OwnedClaim) {
    this.#world = world
    this.#owned = owned
    this.audit = owned.journal.audit
    this.principal = owned.claim.agent_id
    this.log = invocationLog(owned.journal, owned.claim)
  }

  finish(result: Json): Promise<Finished> {
    if (this.#ending !== null) return Promise.reject(alreadyEnded())
    const finished = this.#finish(result)
    this.#ending = finished.catch(() => undefined)
    return finished
  }

  async release(): Promise<void> {
    this.#ending ??= this.#close()
    await this.#ending // also a finish that is at work: it releases, and must not lose its file before
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.release()
  }

  async #finish(result: Json): Promise<Finished> {
    try {
      const line = resultLine(result)
      await this.#owned.journal.close() // a late worker adds nothing to what is judged now
      if (this.log.failed) return { kind: 'Unresolved' } // law 3: bytes that were not acknowledged prove no end
      const { place, claim, writer, doubt } = this.#owned
      if (needsReconciling(await readRun(this.#world, place, claim, this.audit))) return { kind: 'Unresolved' }
      try {
        await writer.append(line)
        await writer.sync()
      } catch (error) {
        doubt()
        throw error
      }
      return { kind: 'Recorded' }
    } finally {
      await this.#close() // a retry that follows the answer never meets a held claim
    }
  }

  async #close(): Promise<void> {
    const { journal, file } = this.#owned
    // What had to be durable was synced before; a close that fails has given up its lock all the same.
    await Promise.allSettled([journal.close(), file.close()])
  }
}

function alreadyEnded(): Fault {
  return new Fault('JOURNAL_REFUSED', {
    message: 'Cannot record the result: the owner has already finished or gone',
    hint: 'Look the invocation up by its id',
  })
}
