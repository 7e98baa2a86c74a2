/**
 * World: what we cannot compute. Time, randomness, files, network, processes and threads come in as an argument and
 * never from a global, so that one seed can replay everything (`symbi-runtime/testing` has such a World).
 *
 * Owns the port. `node-world.ts` is the maker for real machines.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Readable, Writable } from 'node:stream'
import type { Timestamp } from '../core/index.ts'

export interface World {
  readonly clock: Clock
  readonly random: Random
  readonly files: Files
  readonly net: Net
  readonly processes: Processes
  readonly threads: Threads
}

export interface Clock {
  /** Wall clock, for timestamps only. Each call is later than the one before: a run key must differ between two runs. */
  wall(): Timestamp
  /** Milliseconds that only grow. Every deadline is a value of this clock; passed means now >= deadline. */
  monotonicMs(): number
  /** Resolves after `ms`, or rejects with the signal's reason. Any finite length works; 0 yields once. */
  sleep(ms: number, signal: AbortSignal): Promise<void>
  /** Calls back once after `ms` unless the returned function is called first. Holds the process open only if `keepAlive`. */
  timer(ms: number, callback: () => void, keepAlive?: boolean): () => void
  /** Lets other work run: for long computations on the one thread. */
  yield(): Promise<void>
}

export interface Random {
  bytes(count: number): Uint8Array
}

export type FileKind = 'file' | 'directory' | 'link' | 'other'

/** Facts about a file. `modifiedNs` and `changedNs` are nanoseconds since the epoch. */
export interface FileFacts {
  readonly kind: FileKind
  readonly size: number
  /** Permission bits only, for example 0o600. */
  readonly mode: number
  readonly ownerUid: number
  readonly links: number
  readonly inode: bigint
  readonly modifiedNs: bigint
  readonly changedNs: bigint
}

/**
 * Files. All failures are Faults: `STORAGE_FULL`, `STORAGE_UNSAFE` (a link where none is followed), or `STORAGE_FAILED`
 * with `facts.errno`; "not there" is null where the return type says so. No message holds a path: callers add what they
 * were doing, and decide whether a path may be told.
 */
export interface Files {
  /** The effective user, who must own private files. */
  readonly uid: number
  /** False where exclusive creation, no-follow opens, locks or directory syncs do not exist: journals are refused there. */
  readonly durable: boolean
  realpath(path: string): Promise<string | null>
  /** Facts of the path itself, links not followed. */
  lstat(path: string): Promise<FileFacts | null>
  /** Creates missing folders with this mode. */
  mkdir(path: string, mode: number): Promise<void>
  /** Names in a folder, in no order; null when it is not there. */
  list(path: string): Promise<readonly string[] | null>
  /** Opens without following links and without blocking; null when it is not there. */
  open(path: string, how: 'read' | 'append' | 'lock'): Promise<OpenFile | null>
  /**
   * Creates exclusively, for appending: null when the name exists.
   * `appends: 'synced'` is for a file that is synced after every append: the system may then do both in one step, and
   * `syncData` finds its work done. It promises nothing by itself; only `syncData` says that the bytes are durable.
   */
  create(path: string, mode: number, appends?: 'synced'): Promise<OpenFile | null>
  /** Hard link that refuses to replace: false when the new name exists. */
  link(existing: string, fresh: string): Promise<boolean>
  /** Atomic replacement. Never used on evidence. */
  rename(from: string, to: string): Promise<void>
  unlink(path: string): Promise<void>
  chmod(path: string, mode: number): Promise<void>
  syncDirectory(path: string): Promise<void>
  /**
   * Facts of what a path leads to, links followed; null when it leads nowhere. Synchronous, because policy asks it of a
   * few paths before every decision, and a trip through the thread pool costs several times as much.
   */
  factsNow(path: string): FileFacts | null
  /**
   * Holds what this absolute path without links leads to; null when it is not there. No component is followed if it is a
   * link. `PLATFORM_UNSUPPORTED` where a folder cannot be opened relative to one that is held.
   */
  place(path: string): Promise<Place | null>
}

/**
 * A file, folder, link or other thing that is held, whatever its name leads to by now: the way to reach what lies below a
 * folder that somebody else may be changing. Holding opens nothing, so a device or a pipe is never touched. Failures are
 * those of `Files`.
 */
export interface Place extends AsyncDisposable {
  /** As they were when it was taken hold of. */
  readonly facts: FileFacts
  /** The file system it lies in. */
  readonly device: bigint
  /** The mount that it was reached over, which tells a bind mount of the same file system; null where nobody knows. */
  readonly mount: string | null
  /** Holds what a name in this folder leads to, links not followed: a link is a place of its own. Null: not there. */
  step(name: string): Promise<Place | null>
  /** At most so many names in this folder, in no order, and whether there are more. */
  list(countMax: number): Promise<{ readonly names: readonly string[]; readonly more: boolean }>
  /** Opens this regular file for reading, without blocking. */
  open(): Promise<OpenFile>
  /** Waits for what is being asked of it, then lets go. */
  close(): Promise<void>
}

export interface OpenFile extends AsyncDisposable {
  facts(): Promise<FileFacts>
  /** The length as it is now. Synchronous: an open file's length is in memory, and every append asks. */
  sizeNow(): number
  read(position: number, length: number): Promise<Uint8Array>
  /** Reads at most `bytesMax` bytes from the start; one byte more than allowed is a Fault `FILE_TOO_LARGE`. */
  readAll(bytesMax: number): Promise<Uint8Array>
  /** Writes everything at the end, continuing short writes, or fails. */
  append(bytes: Uint8Array): Promise<void>
  syncData(): Promise<void>
  syncAll(): Promise<void>
  /** An exclusive lock that belongs to this open file, excludes other holders in this process too, and dies with it. */
  tryLock(): Promise<boolean>
  close(): Promise<void>
}

export type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>

export interface Net {
  readonly fetch: Fetch
  /** A server that is not listening yet. Its owner closes it. */
  createServer(limits: ServerLimits, handler: (request: IncomingMessage, response: ServerResponse) => void): Server
  /** Every address that the system knows for a name; none when there is no such name. Asked once, answered as it stands. */
  resolve(name: string, signal: AbortSignal): Promise<readonly string[]>
  /**
   * One HTTP request over a connection of its own. Follows no redirect, keeps no cookie, decodes nothing, asks no proxy.
   * Fails with `CONNECTION_LOST` (`facts.errno`) when no answer came: then nobody knows what the server did.
   */
  request(request: HttpRequest, signal: AbortSignal): Promise<HttpReply>
}

export interface HttpRequest {
  readonly method: string
  /** http or https. */
  readonly url: string
  /** Host and the length of the body are written by the port. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array | null
  /** The connection goes to one of these and nowhere else. The name in the URL is only told to the server. */
  readonly addresses: readonly string[]
}

/** Whoever got it lets it go: the connection is closed then, however much has arrived. */
export interface HttpReply extends AsyncDisposable {
  readonly status: number
  /** In the order of the wire, names in lower case. At most 16 KiB together. */
  readonly headers: readonly (readonly [name: string, value: string])[]
  /** The body as it arrives. `CONNECTION_LOST` when it ends before its end. */
  readonly body: AsyncIterable<Uint8Array>
}

export interface ServerLimits {
  readonly headerBytesMax: number
  readonly headersTimeoutMs: number
  readonly requestTimeoutMs: number
  readonly keepAliveTimeoutMs: number
}

export interface Processes {
  readonly pid: number
  readonly platform: string
  /** Memory and processor use of this process, for health and metrics. */
  usage(): { readonly memoryBytes: number; readonly cpuMicros: number }
  /**
   * Starts a program, without a shell, in a process group of its own. Throws `PROCESS_FAILED` when it cannot be started. Its
   * owner ends it; what is left of its group when this process exits is killed.
   */
  spawn(program: Program): Promise<Child>
  /** Opens the terminal that controls this process, which standard input need not be; null when there is none. */
  terminal(): Promise<ControllingTerminal | null>
}

/** One asks at a time. Its owner closes it. */
export interface ControllingTerminal extends AsyncDisposable {
  /** As it is: whoever writes what others wrote escapes it first. A terminal that hung up takes nothing. */
  write(text: string): Promise<void>
  /**
   * The next line that is typed after the call, without its end; null when it is longer than `bytesMax`, or there is nobody
   * any more. Rejects with the signal's reason.
   */
  readLine(bytesMax: number, signal: AbortSignal): Promise<string | null>
}

export interface Program {
  /** A path, or a name that is looked up in the PATH of `env`. */
  readonly command: string
  readonly args: readonly string[]
  /** Absolute. */
  readonly cwd: string
  /** All of its environment: nothing is inherited. */
  readonly env: Readonly<Record<string, string>>
}

export interface Child {
  readonly pid: number
  /**
   * Each stream has an owner who listens to its errors; a pipe whose reader is gone fails there. Half a second after the
   * child has ended they are closed, whoever else may hold them.
   */
  readonly stdin: Writable
  readonly stdout: Readable
  readonly stderr: Readable
  /** Resolves when it has ended; never rejects. */
  readonly exited: Promise<ChildExit>
  /**
   * Ends the whole group: closes its input, asks with SIGTERM after half of `graceMs`, and kills what is left at its end.
   * Resolves when the child is gone. Idempotent.
   */
  end(graceMs: number): Promise<void>
}

export interface ChildExit {
  readonly code: number | null
  readonly signal: string | null
}

export interface Threads {
  /** How many threads may usefully run beside this one. */
  readonly spare: number
  /**
   * Starts one. `work` is the text of an expression: a function of the data that gives a function of each question, which
   * returns `{value, moved}`, the answer and the buffers that go over with it. Absent where all work is done here, as in a
   * World that replays a seed.
   */
  readonly start?: (work: string, data: object) => SideThread
}

/** Its owner stops it. */
export interface SideThread {
  /** Resolves when it takes questions; false when it died before. */
  readonly ready: Promise<boolean>
  /** Answers come in the order of the questions; null from a thread that ended. `moved` buffers are not usable here afterwards. */
  ask<T>(question: object, moved?: readonly ArrayBuffer[]): Promise<T | null>
  /** Resolves when nothing of it is left, what it was given included. */
  stop(): Promise<void>
}
