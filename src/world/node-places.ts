/**
 * Places: files and folders that are held, not named. Node cannot open relative to a folder, but on Linux `/proc/self/fd/N`
 * is the folder that is held under N, so `/proc/self/fd/N/name` is looked up there and nowhere else: a folder above it may be
 * renamed or replaced by a link meanwhile, and nothing changes. Elsewhere there is no such way, and a check of names before
 * and after an open can be deceived, so it is refused there.
 *
 * A place is held with O_PATH: nothing is opened for reading until it is known to be a regular file.
 */
import { type BigIntStats, constants, readFileSync } from 'node:fs'
import * as fs from 'node:fs/promises'
import { isAbsolute, normalize } from 'node:path'
import { assert, Fault } from '../core/index.ts'
import { absentAsNull, factsOf, openFile, told } from './node-files.ts'
import type { FileFacts, OpenFile, Place } from './world.ts'

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK } = constants
/** Node does not name it. The number is that of Linux on every processor that Node runs on. */
const O_PATH = 0o10000000

export async function openPlace(path: string): Promise<Place | null> {
  if (process.platform !== 'linux') throw unsupported()
  assert(isAbsolute(path) && normalize(path) === path, 'a place is named by an absolute path in its one form')
  let place = await held(fs.open('/', O_PATH | O_DIRECTORY))
  assert(place !== null, 'there is a root folder')
  await requireProc(place)
  for (const name of path.split('/').filter((part) => part !== '')) {
    await using above: HeldPlace = place
    const next: HeldPlace | null = above.facts.kind === 'directory' ? await above.step(name) : null
    if (next === null) return null
    place = next
  }
  return place
}

async function held(opening: Promise<fs.FileHandle>): Promise<HeldPlace | null> {
  const handle = await absentAsNull(opening)
  if (handle === null) return null
  try {
    return new HeldPlace(handle, await told(handle.stat({ bigint: true })))
  } catch (error) {
    await handle.close()
    throw error
  }
}

class HeldPlace implements Place {
  readonly facts: FileFacts
  readonly device: bigint
  readonly #handle: fs.FileHandle
  /** While one of these uses the number of the handle it must not become the number of something else. */
  readonly #asked = new Set<Promise<unknown>>()
  #closed: Promise<void> | null = null

  constructor(handle: fs.FileHandle, stats: BigIntStats) {
    this.#handle = handle
    this.facts = factsOf(stats)
    this.device = stats.dev
  }

  /** Asked of few places, and answered from memory. */
  get mount(): string | null {
    assert(this.#closed === null, 'a place that was let go is asked nothing')
    try {
      return /^mnt_id:\s*(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${this.#handle.fd}`, 'latin1'))?.[1] ?? null
    } catch {
      return null
    }
  }

  step(name: string): Promise<HeldPlace | null> {
    assert(this.facts.kind === 'directory', 'only a folder has names below it')
    assert(isName(name), 'a step is one name, and leads downwards')
    return this.#ask((own) => held(fs.open(`${own}/${name}`, O_PATH | O_NOFOLLOW)))
  }

  list(countMax: number): Promise<{ readonly names: readonly string[]; readonly more: boolean }> {
    assert(this.facts.kind === 'directory', 'only a folder has names below it')
    return this.#ask(async (own) => {
      const names: string[] = []
      const folder = await told(fs.opendir(own, { bufferSize: 256 }))
      try {
        for (let next = await told(folder.read()); next !== null; next = await told(folder.read())) {
          if (names.length >= countMax) return { names, more: true }
          names.push(next.name)
        }
        return { names, more: false }
      } finally {
        await folder.close()
      }
    })
  }

  open(): Promise<OpenFile> {
    assert(this.facts.kind === 'file', 'only a regular file is opened')
    return this.#ask(async (own) => openFile(await told(fs.open(own, O_RDONLY | O_NONBLOCK))))
  }

  close(): Promise<void> {
    this.#closed ??= Promise.allSettled(this.#asked).then(() => told(this.#handle.close()))
    return this.#closed
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #ask<T>(work: (own: string) => Promise<T>): Promise<T> {
    assert(this.#closed === null, 'a place that was let go is asked nothing')
    const answer = work(`/proc/self/fd/${this.#handle.fd}`)
    this.#asked.add(answer)
    const forget = (): void => void this.#asked.delete(answer)
    answer.then(forget, forget)
    return answer
  }
}

function isName(name: string): boolean {
  return name !== '' && name !== '.' && name !== '..' && !/[/\0]/.test(name)
}

/** Without it every file would look as if it were not there. */
async function requireProc(root: HeldPlace): Promise<void> {
  try {
    await root.list(0)
  } catch {
    await root.close()
    throw unsupported()
  }
}

function unsupported(): Fault {
  return new Fault('PLATFORM_UNSUPPORTED', {
    message: 'Cannot open files below a root: this needs Linux, with /proc mounted',
    hint: 'Remove the roots from the configuration, or run there; docs/tools.md says why',
  })
}
