/**
 * The first entry of a journal, verified by itself: its place is known, so one line and one signature prove it, whatever
 * stands behind it. For a reader who asks how a run began and not what became of it.
 */
import { Fault, GENESIS, type RunId } from '../core/index.ts'
import type { Entry } from '../events/index.ts'
import type { PublicKey } from '../keys/index.ts'
import type { World } from '../world/index.ts'
import { invalidRecord, LINE_BYTES_MAX, readRecord, splitRecord } from './record.ts'
import { openEvidence } from './verify.ts'

/** Null when no line is complete: the run never began. Throws `EVIDENCE_INVALID`. */
export async function firstEntry(world: World, path: string, key: PublicKey, runId: RunId): Promise<Entry | null> {
  await using file = await openEvidence(world, path)
  if ((await file.facts()).kind !== 'file') {
    throw new Fault('EVIDENCE_INVALID', {
      message: 'Cannot verify the journal: its name leads to no regular file',
      hint: 'Check the path',
    })
  }
  const bytes = Buffer.from(await file.read(0, LINE_BYTES_MAX))
  const newline = bytes.indexOf(0x0a)
  if (newline === -1) return null
  const { line, payload, signature } = splitRecord(bytes.subarray(0, newline + 1), 0)
  if (!key.verifies(payload, signature))
    throw invalidRecord(0, 'its signature does not fit the payload and the given key')
  const start = { sequence: 0, previousHash: GENESIS, agentId: null, runId: null }
  const record = readRecord(line, payload, start)
  if (record.runId !== runId) throw invalidRecord(0, 'it belongs to another run')
  return record.entry
}
