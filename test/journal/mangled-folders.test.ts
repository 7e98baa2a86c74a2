/** What can be done to a folder of journals that are linked, and what the verification of a tree says from both ends. */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { runsOf, treeHolds, verifyTree } from '../../src/journal/index.ts'
import { type Evidence, honestEvidence, topOf } from '../support/mangling/evidence.ts'
import { FOLDER_MANGLINGS, type Pair } from '../support/mangling/folders.ts'
import { onDisk } from '../support/mangling/shelf.ts'
import { scratch } from '../support/scratch.ts'

const disk = scratch()
let pairs: readonly (Pair & { readonly evidence: Evidence })[] = []

beforeAll(async () => {
  pairs = (await honestEvidence()).flatMap((evidence) => pairsIn(evidence))
  expect(pairs.length).toBeGreaterThan(5)
}, 120_000)

/** A run above the parent sees still more, so the parent is the one at the top. */
function pairsIn(evidence: Evidence): typeof pairs {
  const children = evidence.journals.filter(({ parentId }) => parentId !== null)
  return children.flatMap((child) => {
    const parent = topOf(evidence, child)
    const brother = children.find(({ runId }) => runId !== child.runId) ?? null
    return parent.runId === child.parentId ? [{ evidence, parent, child, brother }] : []
  })
}

describe('a folder of linked journals that was mangled:', () => {
  test.each(FOLDER_MANGLINGS.map(({ name, ...mangling }) => [name, mangling] as const))(
    '%s',
    async (name, { change, ...expected }) => {
      const fitting = pairs.filter(({ brother }) => brother !== null || !name.includes('another child'))
      expect(fitting.length).toBeGreaterThan(0)
      for (const pair of fitting) {
        const { evidence, parent, child } = pair
        const { world, folder, put } = onDisk(disk.folder(), evidence.journals)
        for (const [file, bytes] of change(pair)) {
          if (bytes === null) rmSync(join(folder, file))
          else put(file, bytes)
        }
        const { key } = evidence
        const tree = await verifyTree(world, { ...parent, path: join(folder, parent.file), key })
        const below = await verifyTree(world, { ...child, path: join(folder, child.file), key })
        const said = {
          parent: tree.root.result,
          child: runsOf(tree.root).find(({ node }) => node.run_id === child.runId)?.node.result ?? 'not reached',
          holds: treeHolds(tree),
          above: below.above?.result ?? 'not reached',
          holdsBelow: treeHolds(below),
        }
        expect(said, `${evidence.name}, ${child.file}`).toEqual(expected)
      }
    },
  )
})
