/** A World in which every path leads to one private file with these bytes: for parsers that read a file, without a disk. */

import { Fault } from '../../src/core/index.ts'
import { nodeWorld, type OpenFile, type World } from '../../src/world/index.ts'

const real = nodeWorld()

/** `only` names the end of the paths that lead there; all others lead nowhere. */
export function fileWorld(bytes: Uint8Array, only = ''): World {
  const facts = {
    kind: 'file',
    size: bytes.length,
    mode: 0o600,
    ownerUid: real.files.uid,
    links: 1,
    inode: 1n,
    modifiedNs: 1n,
    changedNs: 1n,
  } as const
  const file = {
    facts: async () => facts,
    sizeNow: () => bytes.length,
    read: async (position: number, length: number) => bytes.subarray(position, position + length),
    readAll: async (bytesMax: number) => {
      if (bytes.length > bytesMax)
        throw new Fault('FILE_TOO_LARGE', { message: 'Cannot read the file: it is too large' })
      return bytes
    },
    tryLock: async () => true,
    close: async () => undefined,
    [Symbol.asyncDispose]: async () => undefined,
  } as unknown as OpenFile // nothing here appends
  const leads = (path: string): boolean => path.endsWith(only)
  return {
    ...real,
    files: {
      ...real.files,
      realpath: async (path) => (leads(path) ? path : null),
      lstat: async (path) => (leads(path) ? facts : null),
      factsNow: (path) => (leads(path) ? facts : null),
      open: async (path) => (leads(path) ? file : null),
    },
  }
}
