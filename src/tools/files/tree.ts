/**
 * What lies below a folder, in the order of the names, within bounds: entries looked at, levels, and the time of the call. A
 * bound that was met is remembered, so that an answer can say that it is not complete.
 */

import { isFault } from '../../core/index.ts'
import type { Place } from '../../world/index.ts'
import { readable, whyNotEntered } from './reach.ts'
import { type FileRoot, isHidden } from './roots.ts'

const ENTRIES_MAX = 10_000
export const DEPTH_MAX = 32

export interface Found {
  /** Relative to the root, with its name. */
  readonly path: string
  readonly name: string
  readonly place: Place
}

export interface Walk {
  readonly root: FileRoot
  /** The place of the root itself, which is held for as long as the walk lasts. */
  readonly home: Place
  readonly depthMax: number
  readonly signal: AbortSignal
  /** Why the walk does not show everything, in words. */
  readonly cuts: Set<string>
  /** Folders that could not be entered. */
  closed: number
}

export function walkIn(root: FileRoot, home: Place, depthMax: number, signal: AbortSignal): Walk {
  return { root, home, depthMax, signal, cuts: new Set(), closed: 0 }
}

/** Tells `visit` of each entry; it answers false when it wants no more. A folder is told before what it holds. */
export async function visitBelow(
  walk: Walk,
  folder: Place,
  path: string,
  visit: (found: Found) => Promise<boolean>,
): Promise<void> {
  let left = ENTRIES_MAX
  const below = async (above: Place, at: string, depth: number): Promise<boolean> => {
    const { names, more } = await readable(above.list(left), at)
    left -= names.length
    if (more) walk.cuts.add(`more than ${ENTRIES_MAX} entries`)
    for (const name of [...names].sort()) {
      if (isHidden(name, walk.root)) continue
      walk.signal.throwIfAborted()
      await using place = await readable(above.step(name), at)
      if (place === null) continue // gone since it was listed
      const own = `${at}/${name}`
      if (!(await visit({ path: own, name, place }))) return false
      if (place.facts.kind !== 'directory') continue
      if (whyNotEntered(place, walk.home) !== null) walk.closed += 1
      else if (depth >= walk.depthMax) walk.cuts.add(`folders below level ${walk.depthMax} are not entered`)
      else if (left === 0) walk.cuts.add(`more than ${ENTRIES_MAX} entries`)
      else if (!(await entered(walk, () => below(place, own, depth + 1)))) return false
    }
    return true
  }
  await below(folder, path, 1)
}

/** A folder that this user may not read is passed over, and counted. */
async function entered(walk: Walk, enter: () => Promise<boolean>): Promise<boolean> {
  try {
    return await enter()
  } catch (error) {
    if (!isFault(error, 'FILE_REFUSED')) throw error
    walk.closed += 1
    return true
  }
}
