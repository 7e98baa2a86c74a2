/**
 * Disks that fail under a life: a sync that answers EIO, before or after it was carried out; a disk that really is full, on
 * which each page in turn is the one too many; and, where a C compiler is there, a system call that really answers EIO. The
 * process lives on and tells its clients; then it is killed, the disk is mended, and the next process is asked.
 */
import { join } from 'node:path'
import type { PromisedSyncs } from '../support/killing-world.ts'
import { type SyncCall, watchedSyncs } from '../support/sync-interposer.ts'
import { tinyDisk, whyNoTinyDisk } from '../support/tiny-disk.ts'
import type { Result } from './campaign.ts'
import type { Death, PagesUsed } from './life.ts'
import type { Scenario } from './scenarios.ts'
import { type Dice, shuffled } from './seed.ts'

export interface DiskFault {
  readonly death: Death
  readonly moment: string
  /** The system is to answer EIO to the n-th sync; its calls are written down in `log`. */
  readonly system?: { readonly nth: number; readonly log: string }
}

/** How the system is made to fail: the library, and where it writes down its calls. */
export interface Failing {
  readonly library: string
  readonly folder: string
}

export const FULL = 'ENOSPC'

/** Of all of them, at most `count`, in an order of chance. */
export function diskFaults(
  counted: Result['counted'],
  dice: Dice,
  count: number,
  failing: Failing | null,
): { readonly faults: readonly DiskFault[]; readonly skipped: readonly string[] } {
  if (count === 0) return { faults: [], skipped: [] }
  const skipped: string[] = []
  const noDisk = whyNoTinyDisk()
  if (noDisk !== null) skipped.push(`ENOSPC on a small disk: ${noDisk}`)
  if (failing === null) skipped.push('EIO from the system: there is no C compiler, or this is not Linux')
  const all = [...counted].flatMap(([scenario, { syncs, systemSyncs, pages }]) => [
    ...range(syncs).flatMap((nth) => [
      { moment: 'EIO, early', death: { scenario, point: null, failure: { nth, late: false } } },
      { moment: 'EIO, late', death: { scenario, point: null, failure: { nth, late: true } } },
    ]),
    ...(failing === null ? [] : range(systemSyncs).map((nth) => reallyFailing(scenario, nth, failing))),
    ...(noDisk === null ? sizesFor({ pages }).map((kib) => full(scenario, kib)) : []),
  ])
  return { faults: shuffled(dice, all).slice(0, count), skipped }
}

const range = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index + 1)

const PAGE_KIB = 4
const AMPLE_KIB = 4096

/** From a disk that holds the project and nothing more, page by page, to one where everything has room. */
function sizesFor({ pages }: { readonly pages: PagesUsed }): readonly number[] {
  return range(pages.after - pages.before + 1).map((more) => (pages.before + more) * PAGE_KIB)
}

function full(scenario: Scenario, kib: number): DiskFault {
  const around = (project: string) => {
    const disk = tinyDisk(kib, project)
    return { mended: () => disk.resize(AMPLE_KIB), removed: () => disk[Symbol.dispose]() }
  }
  return { moment: FULL, death: { scenario, point: null, around } }
}

function reallyFailing(scenario: Scenario, nth: number, { library, folder }: Failing): DiskFault {
  const log = join(folder, `${scenario.replace(' ', '-')}-${nth}.syncs`)
  const env = watchedSyncs(library, log, nth)
  return { moment: 'EIO, system', death: { scenario, point: null, env }, system: { nth, log } }
}

/** What is wrong with the syncs of a life that nothing happened to: it said that more is durable than the system was asked for. */
export function unkeptPromise({ data, whole }: PromisedSyncs, calls: readonly SyncCall[]): string | null {
  const wholes = calls.filter(({ call }) => call === 'fsync').length
  const datas = calls.length - wholes
  if (datas >= data && wholes >= whole) return null
  return `it synced data ${data} times and files and folders ${whole} times, and the system was asked ${datas} and ${wholes} times`
}

/** What is wrong with the failures themselves: those that never came prove nothing. A life may differ by a sync from the counted one. */
export function withoutFailure(
  lives: readonly { readonly nth: number; readonly calls: readonly SyncCall[] }[],
): string | null {
  const came = lives.filter(({ calls }) => calls.some(({ failed }) => failed))
  const passed = lives.find((life) => !came.includes(life) && life.calls.length >= life.nth)
  if (passed !== undefined) return `the ${passed.nth}. of ${passed.calls.length} syncs was to answer EIO, and none did`
  if (lives.length > 0 && came.length === 0)
    return `EIO was to come from the system in ${lives.length} lives, and never came`
  return null
}
