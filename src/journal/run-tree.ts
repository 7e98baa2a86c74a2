/**
 * A run and every run that it delegated, verified as one: each journal with the one key that the auditor trusts and as the
 * run that its parent's link names, and each link from both of its sides. What a stranger needs is the folder of journals,
 * the public key, and the id of one run.
 *
 * `tree-walk.ts` reads the journals, `tree-verdict.ts` judges them together. A crash is never a mismatch: what only one side
 * got to write leaves the tree incomplete. Nothing is written, and nothing is repaired.
 */
import { Fault, isFault } from '../core/index.ts'
import type { World } from '../world/index.ts'
import { type RunTree, treeHolds } from './run-node.ts'
import { judgeTree } from './tree-verdict.ts'
import { type TreeOptions, type TreePlace, walkTree } from './tree-walk.ts'

const TRIES_MAX = 6
const RETRY_MS = 100

/** Never throws for what it finds in the journals, but `EVIDENCE_CHANGING` when they do not hold still long enough. */
export async function verifyTree(world: World, place: TreePlace, options: TreeOptions = {}): Promise<RunTree> {
  const { known, ...fresh } = options
  for (let attempt = known === undefined ? 1 : 0; ; attempt += 1) {
    try {
      const walk = await walkTree(world, place, attempt === 0 ? options : fresh)
      const tree = judgeTree(walk, place.key)
      // A parent that was read before its child wrote on knows too little: a bad result stands only if nothing moved since.
      if (treeHolds(tree) || (attempt > 0 && (await walk.isStill()))) return tree
      throw changing()
    } catch (error) {
      if (!isFault(error, 'EVIDENCE_CHANGING') || attempt >= TRIES_MAX) throw error
      if (attempt > 0) await world.clock.sleep(RETRY_MS, new AbortController().signal)
    }
  }
}

function changing(): Fault {
  return new Fault('EVIDENCE_CHANGING', {
    message: 'Cannot verify the tree of runs: its journals changed while they were read',
    hint: 'Its runs may still be at work; try again',
  })
}
