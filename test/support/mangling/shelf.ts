/** A folder of journals that verifiers read: on disk, or in memory where thousands are read and disks have nothing to say. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { FileFacts, OpenFile, World } from '../../../src/world/index.ts'
import { nodeWorld } from '../../../src/world/index.ts'
import type { HonestJournal } from './evidence.ts'

export interface Shelf {
  readonly world: World
  readonly folder: string
  /** Puts the journal there, or replaces it. */
  put(file: string, bytes: Buffer): void
}

/** Nobody writes meanwhile but the test, so nothing is worth waiting for. */
function hasty(): World {
  const world = nodeWorld()
  return { ...world, clock: { ...world.clock, sleep: async () => undefined, yield: async () => undefined } }
}

export function onDisk(folder: string, journals: readonly HonestJournal[]): Shelf {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  return filled({ world: hasty(), folder, put: (file, bytes) => writeFileSync(join(folder, file), bytes) }, journals)
}

export function inMemory(journals: readonly HonestJournal[]): Shelf {
  const held = new Map<string, Buffer>()
  const folder = '/srv/evidence'
  const world = hasty()
  const files = {
    ...world.files,
    lstat: async (path: string) => factsOf(held.get(path)),
    open: async (path: string) => openedOf(held.get(path)),
  }
  const shelf = {
    world: { ...world, files },
    folder,
    put: (file: string, bytes: Buffer) => void held.set(join(folder, file), bytes),
  }
  return filled(shelf, journals)
}

function filled(shelf: Shelf, journals: readonly HonestJournal[]): Shelf {
  for (const { file, bytes } of journals) shelf.put(file, bytes)
  return shelf
}

function factsOf(bytes: Buffer | undefined): FileFacts | null {
  if (bytes === undefined) return null
  const times = { inode: 1n, modifiedNs: 1n, changedNs: 1n }
  return { kind: 'file', size: bytes.length, mode: 0o600, ownerUid: 0, links: 1, ...times }
}

function openedOf(bytes: Buffer | undefined): OpenFile | null {
  if (bytes === undefined) return null
  const refuse = async (): Promise<never> => {
    throw new Error('a verifier only reads')
  }
  return {
    facts: async () => factsOf(bytes) as FileFacts,
    sizeNow: () => bytes.length,
    read: async (position, length) => bytes.subarray(position, position + length),
    readAll: async () => bytes,
    append: refuse,
    syncData: refuse,
    syncAll: refuse,
    tryLock: refuse,
    close: async () => undefined,
    [Symbol.asyncDispose]: async () => undefined,
  }
}
