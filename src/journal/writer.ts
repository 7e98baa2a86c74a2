/**
 * The protected journal's writer: one file, one owner, one run. It signs and chains entries, syncs them before it
 * acknowledges them, and after any failure refuses everything, for ever (laws 1, 6 and 7).
 *
 * Lists that wait behind a running sync share the next one. A write that was started completes or fails on its own: the
 * caller who stops waiting changes nothing. A journal is never reopened for writing.
 */
import { join } from 'node:path'
import {
  type AgentId,
  Fault,
  GENESIS,
  type HexHash,
  hexHash,
  isFault,
  newId,
  parseId,
  type RunId,
} from '../core/index.ts'
import { type AuditReference, carriesUnconfirmed, type EventLog, type NewEntry, startsEffect } from '../events/index.ts'
import type { SigningKey } from '../keys/index.ts'
import { PRIVATE_FILE_MODE } from '../store/index.ts'
import type { Clock, OpenFile, World } from '../world/index.ts'
import { type Pace, paceOf } from './pace.ts'
import { JOURNAL_BYTES_MAX, LINE_BYTES_MAX, recordLine } from './record.ts'
import { openSigningKey } from './signing-key-file.ts'

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

/**
 * Creates the journal of one run. Private folder, then key, then the file, exclusively and durably; or nothing. Throws
 * `INVALID_REQUEST` for what is no id, `JOURNAL_EXISTS` when the run has one, `KEY_INVALID`, `STORAGE_*` when folder, key or
 * file cannot be made or trusted, and `PLATFORM_UNSUPPORTED` where nothing can be made durable.
 */
export async function createJournal(world: World, place: JournalPlace): Promise<Journal> {
  const { directory } = place
  const principal = parseId('agent', place.principal) // both become part of a file name
  const runId = place.runId === undefined ? newId('run', world.random) : parseId('run', place.runId)
  const key = await openSigningKey(world, directory)
  const path = join(directory, journalName(principal, runId))
  const file = await world.files.create(path, PRIVATE_FILE_MODE, 'synced') // every append below is followed by its sync
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
    await file.close().catch(() => undefined) // the first failure is the one that is told
    throw error
  }
  const audit = { run_id: runId, path, public_key: key.publicKey.hex as HexHash }
  return new JournalWriter(file, key, world, principal, audit)
}

type Waiting = {
  readonly entries: readonly NewEntry[]
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/** Where the file ends once everything before was durable: what the next line is built on. */
type Head = {
  readonly bytes: number
  readonly sequence: number
  readonly previousHash: HexHash
  /** Law 4: an earlier outcome is not confirmed. */
  readonly unconfirmed: boolean
}

/** Lists that go out together, and where the file ends behind them. */
type Group = { readonly lists: readonly Waiting[]; readonly lines: readonly Buffer[]; readonly head: Head }

/** Lists are joined up to this many records, so that signing never holds the one thread for long. */
const JOINED_RECORDS_MAX = 128

class JournalWriter implements Journal {
  readonly audit: AuditReference
  readonly principal: AgentId
  readonly #file: OpenFile
  readonly #key: SigningKey
  readonly #clock: Clock
  readonly #pace: Pace
  #head: Head = { bytes: 0, sequence: 0, previousHash: GENESIS, unconfirmed: false }
  #failure: unknown = null
  #closed = false
  #waiting: Waiting[] = []
  #writing: Promise<void> | null = null
  #closing: Promise<void> | null = null

  constructor(file: OpenFile, key: SigningKey, world: World, principal: AgentId, audit: AuditReference) {
    this.#file = file
    this.#key = key
    this.#clock = world.clock
    this.#pace = paceOf(world.clock)
    this.principal = principal
    this.audit = audit
  }

  get nextSequence(): number {
    return this.#head.sequence
  }

  append(entries: readonly NewEntry[]): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#closed) return reject(failed('it is closed'))
      this.#waiting.push({ entries: [...entries], resolve, reject })
      this.#writing ??= this.#writeAll()
    })
  }

  close(): Promise<void> {
    this.#closed = true
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    await this.#writing
    await this.#file.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #writeAll(): Promise<void> {
    while (this.#waiting.length > 0) await this.#writeOnce()
    this.#writing = null // in the same breath as the last look, or a list that comes in between would wait for ever
  }

  /** The lists that wait go out in one write and one sync, as if each had come alone. */
  async #writeOnce(): Promise<void> {
    this.#pace.begin()
    const group = await this.#collect()
    const outcome = await this.#store(group)
    await new Promise<void>((resolve) => {
      this.#pace.end(() => {
        for (const list of group.lists) {
          if (outcome === null) list.resolve()
          else list.reject(outcome.error)
        }
        resolve()
      })
    })
  }

  /** A list that is refused by rule changes nothing, and behind the first that fails every other fails too. */
  async #collect(): Promise<Group> {
    const lists: Waiting[] = []
    const lines: Buffer[] = []
    let head = this.#head
    while (this.#waiting.length > 0 && lines.length < JOINED_RECORDS_MAX) {
      const list = this.#waiting.shift() as Waiting
      try {
        if (this.#failure !== null) throw failed('an earlier write failed', this.#failure)
        if (startsAfterUnknown(list.entries, head.unconfirmed)) throw reconciliationRequired()
        const built = await this.#build(list.entries, head)
        lines.push(...built.lines)
        head = built.head
        lists.push(list)
      } catch (error) {
        if (!isFault(error, 'RECONCILIATION_REQUIRED')) this.#failure ??= error
        list.reject(error)
      }
    }
    return { lists, lines, head }
  }

  /** Null when all of it is durable. */
  async #store({ lines, head }: Group): Promise<{ readonly error: unknown } | null> {
    try {
      if (lines.length > 0) await this.#put(lines)
      this.#head = head
      return null
    } catch (error) {
      this.#failure ??= error
      return { error }
    }
  }

  /** All lines of a list, or a failure and none of them. */
  async #build(entries: readonly NewEntry[], start: Head): Promise<Pick<Group, 'lines' | 'head'>> {
    const lines: Buffer[] = []
    let head = start
    for (const entry of entries) {
      if (lines.length % JOINED_RECORDS_MAX === JOINED_RECORDS_MAX - 1) await this.#clock.yield()
      if (entry.agent_id !== this.principal) throw failed('the entry belongs to another principal')
      const line = recordLine(entry, this.audit.run_id, head, this.#key)
      if (line.length > LINE_BYTES_MAX) throw beyond(`an entry of ${line.length} bytes`, LINE_BYTES_MAX)
      if (head.bytes + line.length > JOURNAL_BYTES_MAX) throw beyond('the journal', JOURNAL_BYTES_MAX)
      lines.push(line)
      head = {
        bytes: head.bytes + line.length,
        sequence: head.sequence + 1,
        previousHash: hexHash(line),
        unconfirmed: head.unconfirmed || carriesUnconfirmed(entry.event),
      }
    }
    return { lines, head }
  }

  async #put(lines: readonly Buffer[]): Promise<void> {
    const found = this.#file.sizeNow()
    if (found !== this.#head.bytes) {
      throw new Fault('JOURNAL_CHANGED', {
        message: `Cannot append to the journal of run "${this.audit.run_id}": it holds ${found} bytes and we wrote ${this.#head.bytes}`,
        hint: 'Another process wrote to it. Keep the file as evidence, and look at it with "symbi audit inspect"',
      })
    }
    await this.#file.append(lines.length === 1 ? (lines[0] as Buffer) : Buffer.concat(lines))
    await this.#file.syncData() // only now does anything count as written
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
