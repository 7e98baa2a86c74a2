/**
 * What the system is asked when we sync. A test that reads a file back sees nothing of that, so others are asked: Node's own
 * trace of the calls that it makes, on every machine; and, where a C compiler is there, a library that stands before them.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { beforeAll, describe, expect, test } from 'vitest'
import { BRIEF, bundled } from '../support/child-script.ts'
import { type TemporaryFolder, temporaryFolder } from '../support/folder.ts'
import { syncCallsIn, syncInterposer, watchedSyncs } from '../support/sync-interposer.ts'

const ONE_TRIP = process.platform === 'linux'
let script = ''
beforeAll(async () => {
  script = await bundled('test/world/syncs-child.ts')
}, 60_000)

function done(what: string, folder: TemporaryFolder, flags: readonly string[], env: Record<string, string> = {}): void {
  writeFileSync(folder.of('old'), 'old\n')
  const args = [...BRIEF, ...flags, script, what, folder.path]
  expect(execFileSync(process.execPath, args, { env: { ...process.env, ...env }, encoding: 'utf8' })).toBe('done\n')
}

const CASES: readonly (readonly [what: string, datasyncs: number, syncs: number, synced: readonly string[]])[] = [
  ['data', 1, 0, ['fdatasync plain']],
  ['opened', 2, 0, ['fdatasync old', 'fdatasync old']],
  ['synced', ONE_TRIP ? 0 : 1, 0, ['write synced']],
  ['all', 0, 1, ['fsync plain']],
  ['synced, all', 0, 1, ['write synced', 'fsync synced']],
  ['directory', 0, 1, ['fsync .']],
]

describe('syncing', () => {
  test.each(CASES)('%s: Node asks the system for as many syncs as were promised', async (what, datasyncs, syncs) => {
    await using folder = await temporaryFolder()
    const trace = folder.of('trace.json')
    done(what, folder, ['--trace-event-categories', 'node.fs.async', '--trace-event-file-pattern', trace])
    const { traceEvents } = JSON.parse(readFileSync(trace, 'utf8')) as {
      traceEvents: readonly { ph: string; name: string; args: { result?: number } }[]
    }
    const ends = traceEvents.filter(({ ph, args }) => ph === 'e' && args.result === 0)
    const answered = (name: string): number => ends.filter((event) => event.name === name).length
    expect([answered('fdatasync'), answered('fsync')]).toEqual([datasyncs, syncs])
  })

  const library = syncInterposer()
  test.runIf(library !== null).each(CASES)('%s: the system is asked for this file', async (what, _d, _s, synced) => {
    await using folder = await temporaryFolder()
    await using logs = await temporaryFolder()
    const log = logs.of('calls')
    done(what, folder, [], watchedSyncs(library ?? '', log))
    const root = realpathSync(folder.path)
    const calls = syncCallsIn(log).filter(({ path }) => path.startsWith(root))
    expect(calls.map(({ call, path }) => `${call} ${path.slice(root.length + 1) || '.'}`)).toEqual(synced)
  })
})
