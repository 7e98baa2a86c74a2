/** What lies in the folder of held actions, by its names alone: for who looks from outside, and changes nothing. */
import { join } from 'node:path'
import { hasPrivateDirectory } from '../../store/index.ts'
import type { World } from '../../world/index.ts'

const RECORD = /^[0-9a-f]{16}\.([0-9a-f]{16})\.(decision\.|end\.)?json$/

export interface HeldCounts {
  /** Held and not decided. */
  readonly pending: number
  /** Decided, and not used or cleared away yet. */
  readonly decided: number
}

/** `folder` is the project's folder of approvals. Throws `STORAGE_UNSAFE` when others may use it. */
export async function heldCounts(world: World, folder: string): Promise<HeldCounts> {
  const held = join(folder, 'held')
  for (const path of [folder, held]) {
    if (!(await hasPrivateDirectory(world, path, 'folder of the approvals'))) return { pending: 0, decided: 0 }
  }
  const all = new Set<string>()
  const further = new Set<string>()
  for (const name of (await world.files.list(held)) ?? []) {
    const [, id, step] = RECORD.exec(name) ?? []
    if (id === undefined) continue
    all.add(id)
    if (step !== undefined) further.add(id)
  }
  return { pending: all.size - further.size, decided: further.size }
}
