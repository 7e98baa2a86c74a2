/**
 * Making one record, without the disk: the writer's line (checks, canonical text, hash, signature) against Node's signature of
 * the same payload; and the same line where signing costs nothing, so that what we add to the signature has a line of its own.
 */
import { generateKeyPairSync, sign } from 'node:crypto'
import { join } from 'node:path'
import { GENESIS, hexHash, newId } from '../src/core/index.ts'
import type { NewEntry } from '../src/events/index.ts'
import { type ChainPlace, recordLine, splitRecord } from '../src/journal/record.ts'
import { openSigningKey } from '../src/journal/signing-key-file.ts'
import type { SigningKey } from '../src/keys/index.ts'
import { nodeWorld } from '../src/world/index.ts'
import { type Bench, type Context, freshFolder } from './bench.ts'
import { type Result, resultOf } from './result.ts'
import { compare, repeat, timed } from './rounds.ts'
import { record } from './script.ts'

const NO_SIGNATURE = new Uint8Array(64)
const FREE: Pick<SigningKey, 'sign'> = { sign: () => NO_SIGNATURE }

export const records: Bench = { name: 'records', measure }

async function measure(context: Context): Promise<readonly Result[]> {
  const world = nodeWorld()
  const key = await openSigningKey(world, join(freshFolder(context, 'records'), 'governed'))
  const runId = newId('run', world.random)
  const script = await record((work, log) => work.run(log, 20))
  const entries: NewEntry[] = script.steps.flatMap((step) => step.entries)
  const repeats = context.quick ? 1 : 10
  const lines = entries.map((entry) => recordLine(entry, runId, { sequence: 0, previousHash: GENESIS }, key))
  const payloads = lines.map((line, sequence) => splitRecord(line, sequence).payload)
  const { privateKey } = generateKeyPairSync('ed25519')
  const perRecord = async (work: () => void): Promise<number> => {
    const { wallMs } = await timed(() => {
      for (let time = 0; time < repeats; time += 1) work()
    })
    return (wallMs * 1000) / repeats / entries.length
  }
  const made = (signer: Pick<SigningKey, 'sign'>) => (): void => {
    let place: ChainPlace = { sequence: 0, previousHash: GENESIS }
    for (const entry of entries) {
      const line = recordLine(entry, runId, place, signer)
      place = { sequence: place.sequence + 1, previousHash: hexHash(line) }
    }
  }
  const signed = (): void => {
    for (const payload of payloads) sign(null, payload, privateKey)
  }
  const compared = await compare(
    context,
    () => perRecord(made(key)),
    () => perRecord(signed),
  )
  return [
    resultOf({
      name: 'record: checks, canonical, hash, sign',
      ...compared,
      unit: 'us',
      target: { of: 'ratio', bound: 'at most', limit: 1.2 },
    }),
    resultOf({
      name: 'record: all but the signature',
      value: await repeat(context, () => perRecord(made(FREE))),
      unit: 'us',
    }),
  ]
}
