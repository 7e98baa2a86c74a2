/** The real World with a watcher in front of its files: it counts what is done, and can refuse it. */
import type { Files, OpenFile, World } from '../../src/world/index.ts'
import { nodeWorld } from '../../src/world/index.ts'

/** Called, and waited for, before an operation; what it throws, the operation throws, undone. */
export type Watcher = (operation: string, path: string) => void | Promise<void>

const FILES = ['lstat', 'mkdir', 'list', 'open', 'create', 'link', 'rename', 'unlink', 'syncDirectory'] as const
const OPENED = ['append', 'syncData', 'syncAll', 'tryLock', 'readAll', 'close'] as const
type AnyCall = (...given: unknown[]) => Promise<unknown>

/** `syncs: false` is for tests that count steps: a sync is watched as ever, and not waited for. */
export function watchedWorld(watch: Watcher, { syncs = true }: { readonly syncs?: boolean } = {}): World {
  const real = nodeWorld()
  const files: Record<string, unknown> = { ...real.files }
  for (const name of FILES) {
    const call = real.files[name] as AnyCall
    files[name] = async (...given: unknown[]) => {
      const path = String(given[0])
      await watch(name, path)
      if (name === 'syncDirectory' && !syncs) return undefined
      const answer = await call(...given)
      return name === 'open' || name === 'create' ? watchedFile(answer as OpenFile | null, path, watch, syncs) : answer
    }
  }
  return { ...real, files: files as unknown as Files }
}

function watchedFile(file: OpenFile | null, path: string, watch: Watcher, syncs: boolean): OpenFile | null {
  if (file === null) return null
  const watched: Record<string, unknown> = { ...file }
  for (const name of OPENED) {
    const call = file[name] as AnyCall
    watched[name] = async (...given: unknown[]) => {
      await watch(name, path)
      if (name.startsWith('sync') && !syncs) return undefined
      return await call.apply(file, given)
    }
  }
  watched[Symbol.asyncDispose as unknown as string] = watched.close
  return watched as unknown as OpenFile
}
