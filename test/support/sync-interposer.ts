/**
 * A library that stands before the system calls which make bytes durable, where a C compiler is there: it writes down each of
 * them with its file, and lets the n-th of the process answer EIO after it was carried out. They are `fsync`, `fdatasync`, and
 * a write to a file that is opened so that every write is one. Whoever only asks our own code whether it syncs believes it.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface SyncCall {
  readonly call: 'fsync' | 'fdatasync' | 'write'
  readonly path: string
  /** It was told that it failed. */
  readonly failed: boolean
}

/** Variables for the process that is watched. Its calls are appended to `log`; the `failing`-th, from 1, answers EIO. */
export function watchedSyncs(library: string, log: string, failing = 0): Record<string, string> {
  return { LD_PRELOAD: library, SYMBI_SYNC_LOG: log, SYMBI_FAILING_SYNC: String(failing) }
}

export function syncCallsIn(log: string): readonly SyncCall[] {
  if (!existsSync(log)) return []
  const lines = readFileSync(log, 'utf8').split('\n').slice(0, -1)
  return lines.map((line) => {
    const [call, told, ...path] = line.split(' ')
    return { call: call as SyncCall['call'], path: path.join(' '), failed: told === 'EIO' }
  })
}

const SOURCE = `#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
static int count;
static int noted(const char *call, int fd) {
  const char *nth = getenv("SYMBI_FAILING_SYNC"), *log = getenv("SYMBI_SYNC_LOG");
  int due = nth != NULL && __sync_add_and_fetch(&count, 1) == atoi(nth);
  if (log == NULL) return due;
  char link[64], path[PATH_MAX], line[PATH_MAX + 64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path);
  int size = snprintf(line, sizeof line, "%s %s %.*s\\n", call, due ? "EIO" : "ok", length < 0 ? 0 : (int)length, path);
  int to = (int)syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (to == -1 || syscall(SYS_write, to, line, (size_t)size) != size) abort();
  syscall(SYS_close, to);
  return due;
}
static int synced(int fd) {
  int flags = fcntl(fd, F_GETFL);
  return flags != -1 && (flags & O_DSYNC) != 0;
}
#define REAL(type, name) static __typeof__(type) real; if (real == NULL) real = (type)dlsym(RTLD_NEXT, name)
#define ANSWER(name, fd, call) do { int due = noted(name, fd); ssize_t done = (call); if (due) { errno = EIO; return -1; } return done; } while (0)
int fsync(int fd) {
  REAL(int (*)(int), "fsync");
  ANSWER("fsync", fd, real(fd));
}
int fdatasync(int fd) {
  REAL(int (*)(int), "fdatasync");
  ANSWER("fdatasync", fd, real(fd));
}
ssize_t write(int fd, const void *bytes, size_t length) {
  REAL(ssize_t (*)(int, const void *, size_t), "write");
  if (!synced(fd)) return real(fd, bytes, length);
  ANSWER("write", fd, real(fd, bytes, length));
}
ssize_t writev(int fd, const struct iovec *parts, int length) {
  REAL(ssize_t (*)(int, const struct iovec *, int), "writev");
  if (!synced(fd)) return real(fd, parts, length);
  ANSWER("write", fd, real(fd, parts, length));
}
`

/** The library, or null where it cannot be made. It is gone with this process. */
export function syncInterposer(): string | null {
  if (process.platform !== 'linux') return null
  const folder = mkdtempSync(join(tmpdir(), 'symbi-syncs-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  const [source, library] = [join(folder, 'syncs.c'), join(folder, 'syncs.so')]
  writeFileSync(source, SOURCE)
  try {
    execFileSync('gcc', ['-shared', '-fPIC', '-O1', '-o', library, source, '-ldl'], { stdio: 'pipe' })
    return library
  } catch {
    return null
  }
}
