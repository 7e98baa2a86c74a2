/** A folder of one test's own, gone when its scope ends: `await using folder = await temporaryFolder()`. */
import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface TemporaryFolder extends AsyncDisposable {
  /** Canonical: no link in it. */
  readonly path: string
  of(...names: readonly string[]): string
}

export async function temporaryFolder(): Promise<TemporaryFolder> {
  const path = await realpath(await mkdtemp(join(tmpdir(), 'symbi-test-')))
  return {
    path,
    of: (...names) => join(path, ...names),
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }),
  }
}
