/** A surface that is named on the command line must be one: a typing mistake would be judged without its own policies. */
import { Fault } from '../../core/index.ts'
import { SURFACE, surfacesOf } from '../../policy/index.ts'
import type { World } from '../../world/index.ts'

const NAMED_MAX = 32

/** `folder` is that of the policies. Throws `USAGE`, naming what is known: our own ways in, and the folders beside the shared files. */
export async function requireSurface(world: World, folder: string, surface: string): Promise<void> {
  const known = new Set([...Object.values(SURFACE), ...(await surfacesOf(world, folder))])
  if (known.has(surface)) return
  throw new Fault('USAGE', {
    message: `Cannot judge a call of the surface "${surface.slice(0, 64)}": no way in and no folder of policies is called so`,
    hint: `Known here: ${[...known].slice(0, NAMED_MAX).join(', ')}`,
  })
}
