/** The port `Files` over a simulated disk, for one process. Answers and Faults are those of the real files on Linux. */
import type { Files, OpenFile } from '../../../world/index.ts'
import type { DiskParts } from './disk.ts'
import { SimOpenFile } from './sim-open-file.ts'
import { openSimPlace } from './sim-places.ts'
import { answer } from './tree.ts'
import type { Owner } from './turns.ts'

export function simFiles(parts: DiskParts, owner: Owner): Files {
  const { tree, steps, holdings } = parts
  const nothing = (): void => undefined
  return {
    uid: tree.uid,
    durable: true,
    realpath: (path) => steps.take(owner, `realpath ${path}`, 0, () => tree.realpath(path)),
    lstat: (path) =>
      steps.perform(owner, 'lstat', path, {
        does: () => {
          const inode = tree.find(path)
          return inode === null ? null : tree.factsOf(inode)
        },
      }),
    mkdir: async (path, mode) => {
      // one folder a step, as the system is asked for one after the other
      const more = await steps.perform(owner, 'mkdir', path, { does: () => tree.mkdirOne(path, mode) })
      while (more && (await steps.take(owner, `mkdir ${path}`, 0, () => tree.mkdirOne(path, mode))));
    },
    list: (path) =>
      steps.perform(owner, 'list', path, {
        does: () => {
          const inode = tree.find(path)
          if (inode === null) return null
          if (inode.kind === 'file') throw answer('ENOTDIR')
          return steps.inNoOrder([...inode.entries.keys()])
        },
      }),
    open: (path, how) =>
      steps.perform<OpenFile | null>(owner, 'open', path, {
        does: () => {
          const inode = tree.find(path)
          if (inode === null) return null
          if (inode.kind === 'directory' && how !== 'read') throw answer('EISDIR')
          return new SimOpenFile(parts, holdings.hold(owner, path, inode), how)
        },
        late: nothing, // nobody could close it
      }),
    create: (path, mode, appends) =>
      steps.perform<OpenFile | null>(owner, 'create', path, {
        does: () => {
          const inode = tree.create(path, mode)
          if (inode === null) return null
          return new SimOpenFile(parts, holdings.hold(owner, path, inode), 'append', appends === 'synced')
        },
        late: () => void tree.create(path, mode),
      }),
    link: (existing, fresh) => steps.perform(owner, 'link', fresh, { does: () => tree.link(existing, fresh) }),
    rename: (from, to) => steps.perform(owner, 'rename', to, { does: () => tree.rename(from, to) }),
    unlink: (path) => steps.perform(owner, 'unlink', path, { does: () => tree.unlink(path) }),
    chmod: (path, mode) => steps.take(owner, `chmod ${path}`, 0, () => tree.chmod(path, mode)),
    syncDirectory: async (path) => {
      const before = tree.changes // what changes from now on is not covered
      await steps.perform(owner, 'syncDirectory', path, { does: () => tree.folder(path).syncTo(before) })
    },
    factsNow: (path) => {
      const inode = tree.find(path)
      return inode === null ? null : tree.factsOf(inode)
    },
    place: (path) => openSimPlace(parts, owner, path),
  }
}
