/** The call that `symbi policy` is to judge, read from a file that somebody wrote. */
import { Fault, isFault, type Json, messageOf, readJson } from '../../core/index.ts'
import type { Cli } from '../cli.ts'

const INPUT_BYTES_MAX = 1024 * 1024

/** Throws `INVALID_REQUEST` when there is no such file, and `INVALID_JSON` when it is no strict JSON. */
export async function callInFile(cli: Cli, path: string): Promise<Json> {
  return callIn(await bytesOf(cli, path))
}

export function callIn(bytes: Uint8Array): Json {
  return readJson(bytes, { depthMax: 64, bytesMax: INPUT_BYTES_MAX })
}

async function bytesOf({ world }: Cli, path: string): Promise<Uint8Array> {
  const unusable = (state: string, cause?: unknown): Fault =>
    new Fault('INVALID_REQUEST', {
      message: `Cannot read the call from "${path}": ${state}`,
      hint: 'Give a JSON file of at most 1 MiB',
      cause,
    })
  try {
    const real = await world.files.realpath(path)
    await using file = real === null ? null : await world.files.open(real, 'read')
    if (file === null) throw unusable('the file does not exist')
    if ((await file.facts()).kind !== 'file') throw unusable('it is no regular file')
    return await file.readAll(INPUT_BYTES_MAX)
  } catch (error) {
    throw isFault(error, 'INVALID_REQUEST') ? error : unusable(messageOf(error), error)
  }
}
