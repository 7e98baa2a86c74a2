/**
 * The protected journal's writer: one file, one owner, one run. It signs and chains entries, syncs them before it
 * acknowledges them, and after any failure refuses everything, for ever (laws 1, 6 and 7).
 *
 * Lists that wait behind a running sync share the next one. A write that was started completes or fails on its own: the
 * caller who stops waiting changes nothing. A journal is never reopened for writing.
 */
import { join } from 'node:path'
import { type AgentId, Fault, GENESIS, type HexHash, hexHash, newId, type RunId } from '../core/index.ts'
import { type AuditReference, carriesUnconfirmed, type EventLog, type NewEntry, startsEffect } from '../events/index.ts'
import { openSigningKey, type SigningKey } from '../keys/index.ts'
import { PRIVATE_FILE_MODE } from '../store/index.ts'
import type { OpenFile, World } from '../world/index.ts'
import { JOURNAL_BYTES_MAX, LINE_BYTES_MAX, recordLine } from './record.ts'

export interface JournalPlace {
  /** The project's `.symbiont/governed`, absolute. */
  readonly directory: string
  readonly principal: AgentId
  /** A fresh one by default. A second journal with the same principal and run id is refused. */
  readonly runId?: RunId
}

export interface Journal extends EventLog, AsyncDisposable {
  readonly audit: AuditReference
  readonly principal: AgentId
  /** The next sequence number, for display. */
  readonly nextSequence: number
  /** Waits for a started write, then closes the file. Entries are not added by closing. */
  close(): Promise<void>
}

export function journalName(principal: AgentId, runId: RunId): string {
  return `${principal}.${runId}.jsonl`
}

/** Creates the journal of one run. Private folder, then key, then the file, exclusively and durably; or nothing. */
export async function createJournal(world: World, place: JournalPlace): Promise<Journal> {
  const { directory, principal } = place
  const runId = place.runId ?? newId('run', world.random)
  const key = await openSigningKey(world, directory)
  const path = join(directory, journalName(principal, runId))
  const file = await world.files.create(path, PRIVATE_FILE_MODE)
  if (file === null) {
    throw new Fault('JOURNAL_EXISTS', {
      message: `Cannot create the journal of run "${runId}": one exists`,
      hint: 'Use a fresh run id; a journal is written once, by one owner',
    })
  }
  try {
    await file.syncAll()
    await world.files.syncDirectory(directory)
  } catch (error) {
    await file.close()
    throw error
  }
  return new JournalWriter(file, key, principal, { run_id: runId, path, public_key: key.publicKey.hex as HexHash })
}

type Waiting = {
  readonly entries: readonly NewEntry[]
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

class JournalWriter implements Journal {
  readonly audit: AuditReference
  readonly principal: AgentId
  readonly #file: OpenFile
  readonly #key: SigningKey
  #bytes = 0
  #sequence = 0
  #previousHash: HexHash = GENESIS
  #unconfirmed = false
  #failure: Fault | null = null
  #waiting: Waiting[] = []
  #writing: Promise<void> | null = null

  constructor(file: OpenFile, key: SigningKey, principal: AgentId, audit: AuditReference) {
    this.#file = file
    this.#key = key
    this.principal = principal
    this.audit = audit
  }

  get nextSequence(): number {
    return this.#sequence
  }

  append(entries: readonly NewEntry[]): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ entries, resolve, reject })
      this.#writing ??= this.#writeAll().finally(() => {
        this.#writing = null
      })
    })
  }

  async close(): Promise<void> {
    while (this.#writing !== null) await this.#writing
    this.#failure ??= failed('it is closed')
    await this.#file.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #writeAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const lists = this.#waiting
      this.#waiting = []
      await this.#writeOnce(lists)
    }
  }

  /** All lists that are allowed go out in one write and one sync; the first that fails poisons the writer. */
  async #writeOnce(lists: readonly Waiting[]): Promise<void> {
    const batch = new Batch(this.#bytes, this.#sequence, this.#previousHash, this.#unconfirmed)
    const accepted: Waiting[] = []
    let poison: Fault | null = this.#failure
    for (const list of lists) {
      if (poison !== null) {
        list.reject(this.#failure === null ? poison : failed('an earlier write failed', this.#failure))
      } else if (startsAfterUnknown(list.entries, batch.unconfirmed)) {
        list.reject(reconciliationRequired())
      } else {
        try {
          batch.add(list.entries, this.principal, this.audit.run_id, this.#key)
          accepted.push(list)
        } catch (error) {
          poison = asFault(error)
          list.reject(poison)
        }
      }
    }
    try {
      if (accepted.length > 0 && this.#failure === null) await this.#put(batch)
    } catch (error) {
      poison = asFault(error)
      for (const list of accepted) list.reject(poison)
      accepted.length = 0
    }
    this.#failure ??= poison
    for (const list of accepted) list.resolve()
  }

  async #put(batch: Batch): Promise<void> {
    const found = this.#file.sizeNow()
    if (found !== this.#bytes) {
      throw new Fault('JOURNAL_CHANGED', {
        message: `Cannot append to the journal of run "${this.audit.run_id}": it holds ${found} bytes and we wrote ${this.#bytes}`,
        hint: 'Another process wrote to it. Keep the file as evidence, and look at it with "symbi audit inspect"',
      })
    }
    await this.#file.append(batch.lines.length === 1 ? (batch.lines[0] as Buffer) : Buffer.concat(batch.lines))
    await this.#file.syncData()
    this.#bytes = batch.bytes
    this.#sequence = batch.sequence
    this.#previousHash = batch.previousHash
    this.#unconfirmed = batch.unconfirmed
  }
}

/** The lines of one write, and the writer's state as it will be once they are durable. */
class Batch {
  readonly lines: Buffer[] = []
  bytes: number
  sequence: number
  previousHash: HexHash
  unconfirmed: boolean

  constructor(bytes: number, sequence: number, previousHash: HexHash, unconfirmed: boolean) {
    this.bytes = bytes
    this.sequence = sequence
    this.previousHash = previousHash
    this.unconfirmed = unconfirmed
  }

  /** All entries of a list, or none of them. */
  add(entries: readonly NewEntry[], principal: AgentId, runId: RunId, key: SigningKey): void {
    const before = { lines: this.lines.length, bytes: this.bytes, sequence: this.sequence, hash: this.previousHash }
    try {
      for (const entry of entries) this.#addOne(entry, principal, runId, key)
    } catch (error) {
      this.lines.length = before.lines
      this.bytes = before.bytes
      this.sequence = before.sequence
      this.previousHash = before.hash
      throw error
    }
    this.unconfirmed ||= entries.some(({ event }) => carriesUnconfirmed(event))
  }

  #addOne(entry: NewEntry, principal: AgentId, runId: RunId, key: SigningKey): void {
    if (entry.agent_id !== principal) throw failed('the entry belongs to another principal')
    const line = recordLine(entry, runId, { sequence: this.sequence, previousHash: this.previousHash }, key)
    if (line.length > LINE_BYTES_MAX) throw beyond(`an entry of ${line.length} bytes`, LINE_BYTES_MAX)
    if (this.bytes + line.length > JOURNAL_BYTES_MAX) throw beyond('the journal', JOURNAL_BYTES_MAX)
    this.lines.push(line)
    this.bytes += line.length
    this.sequence += 1
    this.previousHash = hexHash(line)
  }
}

/** Law 4, judged in order: receipts of this list count for the intents behind them. */
function startsAfterUnknown(entries: readonly NewEntry[], unconfirmed: boolean): boolean {
  let latched = unconfirmed
  for (const { event } of entries) {
    if (latched && startsEffect(event)) return true
    latched ||= carriesUnconfirmed(event)
  }
  return false
}

function reconciliationRequired(): Fault {
  return new Fault('RECONCILIATION_REQUIRED', {
    message:
      'Cannot start another effect in this run: an earlier outcome is unconfirmed, and reconciliation is required',
    hint: 'Let the run end, then inspect it with "symbi audit inspect" and reconcile its invocation',
  })
}

function failed(reason: string, cause?: unknown): Fault {
  return new Fault('JOURNAL_FAILED', {
    message: `Cannot append to the journal: ${reason}`,
    hint: 'Keep the file as evidence, and look at it with "symbi audit inspect"',
    cause,
  })
}

function beyond(what: string, bytesMax: number): Fault {
  return new Fault('JOURNAL_LIMIT', {
    message: `Cannot append to the journal: ${what} would exceed ${bytesMax} bytes`,
    hint: 'Start a new run; let tools return less in one answer',
  })
}

function asFault(error: unknown): Fault {
  return error instanceof Fault ? error : failed('it broke a promise of its own', error)
}
