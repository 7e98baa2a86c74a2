/** The raw floor: what one record costs by itself on this disk, alone and with 64 files at a time. */
import { generateKeyPairSync, sign } from 'node:crypto'
import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { type Bench, type Context, freshFolder } from './bench.ts'
import { hash, syncData, writeAll } from './floor.ts'
import { type Result, resultOf } from './result.ts'
import { repeat, timed } from './rounds.ts'

export const rawFloor: Bench = { name: 'raw floor', measure }

const RECORD_BYTES = 650
const FILES = 64

async function measure(context: Context): Promise<readonly Result[]> {
  const folder = freshFolder(context, 'raw')
  const { privateKey } = generateKeyPairSync('ed25519')
  const record = Buffer.alloc(RECORD_BYTES, 'r')
  const appends = context.quick ? 5 : 100
  const writeRecords = async (files: number): Promise<number> => {
    const fds = Array.from({ length: files }, (_, index) =>
      openSync(join(folder, `${files}-${index}-${performance.now()}`), 'ax', 0o600),
    )
    const { wallMs } = await timed(() =>
      Promise.all(
        fds.map(async (fd) => {
          for (let append = 0; append < appends; append += 1) {
            hash(record)
            sign(null, record, privateKey)
            await writeAll(fd, record)
            await syncData(fd)
          }
        }),
      ),
    )
    for (const fd of fds) closeSync(fd)
    return wallMs / appends / files
  }
  const alone = await repeat(context, () => writeRecords(1))
  const together = await repeat(context, () => writeRecords(context.quick ? 4 : FILES))
  return [
    resultOf({ name: 'raw floor, 1 file: hash, sign, write, sync', value: alone, unit: 'ms' }),
    resultOf({ name: 'raw floor, 64 files', value: 1000 / together, unit: 'records/s' }),
  ]
}
