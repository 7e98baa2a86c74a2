/**
 * The proof that the laws of the simulator can be broken: each deliberate fault is switched on, by itself, and the simulator
 * objects with the name of the law that it breaks. What finds nothing in the program as it is would find nothing in any.
 */
import { afterAll, describe, expect, test } from 'vitest'
import { LAW_NAMES } from '../../src/testing/simulation/laws/law.ts'
import { DELIBERATE_FAULTS } from './deliberate-faults.ts'
import { endAll, limited, objectionTo, occurrences } from './faulty-program.ts'

/** Lives at most. A fault that shows in few says with which seed they begin; when the program changes, it may be a later one. */
const SEEDS = 200
/** A life in which much happens. */
const FROM = 2
/** Waiting for its turn is part of it. */
const WAIT_MS = 300_000

const inTurn = limited(2)

afterAll(endAll)

describe('the table of deliberate faults', () => {
  test('names texts that stand in the built program exactly once', () => {
    const stray = DELIBERATE_FAULTS.flatMap(({ name, edits }) =>
      edits.flatMap((edit) => {
        const count = occurrences(edit)
        return count === 1 ? [] : [`${name}: ${count} times in ${edit.file}: ${edit.find}`]
      }),
    )
    expect(stray).toEqual([])
  })

  test('has names that tell its rows apart, and for each law a row that it alone may catch', () => {
    expect(new Set(DELIBERATE_FAULTS.map(({ name }) => name)).size).toBe(DELIBERATE_FAULTS.length)
    const caught = new Set(DELIBERATE_FAULTS.flatMap(({ caughtBy }) => (caughtBy.length === 1 ? caughtBy : [])))
    expect([...caught].sort()).toEqual(LAW_NAMES.toSorted())
  })
})

test.concurrent.each(DELIBERATE_FAULTS.map((fault) => [fault.name, fault] as const))(
  'the simulator objects when %s',
  async (_name, { edits, caughtBy, from = FROM }) => {
    const objection = await inTurn(() => objectionTo(edits, from, SEEDS))
    expect(objection, `no law was broken by the seeds from ${from}`).not.toBeNull()
    expect(caughtBy, `seed ${objection?.seed}: ${objection?.what}`).toContain(objection?.law)
  },
  WAIT_MS,
)

test.concurrent(
  'nobody objects to the program as it is, copied and run in the same way',
  async () => {
    expect(await inTurn(() => objectionTo([], 1, 5))).toBeNull()
  },
  WAIT_MS,
)
