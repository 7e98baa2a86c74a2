/**
 * Journals mangled at random: one to three manglings after each other, on runs that ended and on runs that crashed. What may
 * be believed is told by the bytes alone, so that no verdict has to be known beforehand.
 *
 * `SYMBI_SEED` replays a run that failed, `SYMBI_MANGLINGS` makes it longer.
 */
import { expect, test } from 'vitest'
import { madeKey } from '../support/journal-maker.ts'
import { chanceOf } from '../support/mangling/chance.ts'
import { crashed, type Evidence, honestEvidence, otherThan } from '../support/mangling/evidence.ts'
import { MANGLINGS } from '../support/mangling/manglings.ts'
import { inMemory, type Shelf } from '../support/mangling/shelf.ts'
import { saidOf } from '../support/mangling/verdicts.ts'

const SEED = Number(process.env.SYMBI_SEED ?? Date.now() % 1_000_000)
const COUNT = Number(process.env.SYMBI_MANGLINGS ?? 10_000)
const thief = madeKey(77)

test(
  `none of ${COUNT.toLocaleString('en')} journals that were mangled at random is accepted, seed ${SEED}`,
  async () => {
    const places = await evidenceOnShelves()
    const counts = { refused: 0, beginnings: 0, whole: 0 }
    for (let trial = 0; trial < COUNT; trial += 1) {
      const chance = chanceOf(SEED * 1_000_003 + trial)
      const { evidence, shelf } = chance.pick(places)
      const journal = chance.pick(evidence.journals)
      const other = otherThan(evidence, journal)
      const around = { other: other.lines, runId: journal.runId, otherRunId: other.runId, thief, chance }
      const done: string[] = []
      let bytes = journal.bytes
      for (let left = chance.between(1, 4); left > 0 || bytes.equals(journal.bytes); left -= 1) {
        const { name, mangle } = chance.pick(MANGLINGS)
        bytes = mangle(bytes, around)
        done.push(name)
      }
      const said = await saidOf(evidence, journal, bytes, shelf)
      const told = `seed ${SEED}, trial ${trial}: ${evidence.name}, ${journal.file}: ${done.join(', then ')}`
      expect(said.accepted, told).toEqual([])
      if (said.prefix === 'refused') counts.refused += 1
      else if (said.prefix.startsWith('beginning')) counts.beginnings += 1
      else counts.whole += 1
    }
    // what is refused because all is refused would prove nothing: some of them are honest beginnings
    for (const [what, count] of Object.entries(counts)) expect(count / COUNT, what).toBeGreaterThan(0.005)
  },
  60_000 + 20 * COUNT,
)

interface Place {
  readonly evidence: Evidence
  readonly shelf: Shelf
}

/** Each as it ended, and as a crash left it. */
async function evidenceOnShelves(): Promise<readonly Place[]> {
  const chance = chanceOf(SEED)
  const places: Place[] = []
  for (const ended of await honestEvidence()) {
    const cuts = ended.journals.map(({ bytes }) => chance.below(bytes.length))
    for (const evidence of [ended, await crashed(ended, cuts)]) {
      places.push({ evidence, shelf: inMemory(evidence.journals) })
    }
  }
  return places
}
