/**
 * What can be done to a journal without its key, and what every verifier says: each mangling on every journal of real and
 * told runs. The table stands in docs/journal-manglings.md.
 */
import { beforeAll, describe, expect, test } from 'vitest'
import { madeKey } from '../support/journal-maker.ts'
import { type Chance, chanceOf } from '../support/mangling/chance.ts'
import { type Evidence, type HonestJournal, honestEvidence, otherThan } from '../support/mangling/evidence.ts'
import { type Around, MANGLINGS } from '../support/mangling/manglings.ts'
import { onDisk, type Shelf } from '../support/mangling/shelf.ts'
import { saidOf } from '../support/mangling/verdicts.ts'
import { scratch } from '../support/scratch.ts'

const disk = scratch()
const SEED = Number(process.env.SYMBI_SEED ?? Date.now() % 1_000_000)

let evidence: readonly Evidence[] = []
const shelves = new Map<Evidence, Shelf>()

beforeAll(async () => {
  evidence = await honestEvidence()
  for (const each of evidence) shelves.set(each, onDisk(disk.path('evidence'), each.journals))
}, 120_000)

function around(of: Evidence, journal: HonestJournal, chance: Chance): Around {
  const other = otherThan(of, journal)
  return { other: other.lines, runId: journal.runId, otherRunId: other.runId, thief: madeKey(77), chance }
}

describe('a journal that was mangled:', () => {
  test.each(MANGLINGS.map(({ name, ...mangling }) => [name, mangling] as const))('%s', async (name, mangling) => {
    const { run, anyRun = run, prefix, report, root, child } = mangling.expected
    for (const each of evidence) {
      for (const [at, journal] of each.journals.entries()) {
        const told = `${name}: ${each.name}, ${journal.file}, seed ${SEED}`
        const bytes = mangling.mangle(journal.bytes, around(each, journal, chanceOf(SEED * 1000 + at)))
        expect(bytes.equals(journal.bytes), told).toBe(false)
        const said = await saidOf(each, journal, bytes, shelves.get(each) as Shelf)
        const tree = journal.parentId === null ? root : child
        expect(said, told).toEqual({ anyRun, run, prefix, report, tree, accepted: [] })
      }
    }
  })
})
