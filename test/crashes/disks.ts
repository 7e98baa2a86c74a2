/**
 * Disks that fail under a life: a sync that answers EIO, before or after it was carried out; a disk that really is full, on
 * which each page in turn is the one too many; and, where a C compiler is there, a system call that really answers EIO. The
 * process lives on and tells its clients; then it is killed, the disk is mended, and the next process is asked.
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { tinyDisk, whyNoTinyDisk } from '../support/tiny-disk.ts'
import type { Result } from './campaign.ts'
import type { Death, PagesUsed } from './life.ts'
import type { Scenario } from './scenarios.ts'
import { type Dice, shuffled } from './seed.ts'

export interface DiskFault {
  readonly death: Death
  readonly moment: string
}

export const FULL = 'ENOSPC'

/** Of all of them, at most `count`, in an order of chance. */
export function diskFaults(
  counted: Result['counted'],
  dice: Dice,
  count: number,
): { readonly faults: readonly DiskFault[]; readonly skipped: readonly string[] } {
  if (count === 0) return { faults: [], skipped: [] }
  const skipped: string[] = []
  const noDisk = whyNoTinyDisk()
  if (noDisk !== null) skipped.push(`ENOSPC on a small disk: ${noDisk}`)
  const preload = interposer()
  if (preload === null) skipped.push('EIO from the system: there is no C compiler, or this is not Linux')
  const all = [...counted].flatMap(([scenario, { syncs, pages }]) => [
    ...range(syncs).flatMap((nth) => [
      { moment: 'EIO, early', death: { scenario, point: null, failure: { nth, late: false } } },
      { moment: 'EIO, late', death: { scenario, point: null, failure: { nth, late: true } } },
    ]),
    ...(preload === null ? [] : range(syncs).map((nth) => reallyFailing(scenario, nth, preload))),
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

function reallyFailing(scenario: Scenario, nth: number, preload: string): DiskFault {
  const env = { LD_PRELOAD: preload, SYMBI_FAILING_SYNC: String(nth) }
  return { moment: 'EIO, system', death: { scenario, point: null, env } }
}

/**
 * Stands before the system calls that make bytes durable, and lets the n-th of the process answer EIO after it was carried out:
 * `fdatasync`, and a write to a file that is opened so that every write is one.
 */
const INTERPOSER = `#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>
static int count;
static int due(void) {
  const char *nth = getenv("SYMBI_FAILING_SYNC");
  return nth != NULL && __sync_add_and_fetch(&count, 1) == atoi(nth);
}
static int synced(int fd) {
  int flags = fcntl(fd, F_GETFL);
  return flags != -1 && (flags & O_DSYNC) != 0;
}
#define REAL(type, name) static __typeof__(type) real; if (real == NULL) real = (type)dlsym(RTLD_NEXT, name)
#define ANSWER(fd, call) do { int last = due(); ssize_t done = (call); if (last) { errno = EIO; return -1; } return done; } while (0)
int fdatasync(int fd) {
  REAL(int (*)(int), "fdatasync");
  ANSWER(fd, real(fd));
}
ssize_t write(int fd, const void *bytes, size_t length) {
  REAL(ssize_t (*)(int, const void *, size_t), "write");
  if (!synced(fd)) return real(fd, bytes, length);
  ANSWER(fd, real(fd, bytes, length));
}
ssize_t writev(int fd, const struct iovec *parts, int length) {
  REAL(ssize_t (*)(int, const struct iovec *, int), "writev");
  if (!synced(fd)) return real(fd, parts, length);
  ANSWER(fd, real(fd, parts, length));
}
`

/** The library, or null where it cannot be made. It is gone with this process. */
function interposer(): string | null {
  if (process.platform !== 'linux') return null
  const folder = mkdtempSync(join(tmpdir(), 'symbi-eio-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  const [source, library] = [join(folder, 'eio.c'), join(folder, 'eio.so')]
  writeFileSync(source, INTERPOSER)
  try {
    execFileSync('gcc', ['-shared', '-fPIC', '-O1', '-o', library, source, '-ldl'], { stdio: 'pipe' })
    return library
  } catch {
    return null
  }
}
