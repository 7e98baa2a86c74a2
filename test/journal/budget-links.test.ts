import { describe, expect, test } from 'vitest'
import { NO_USAGE } from '../../src/events/index.ts'
import { family, type OneDelegation, oneDelegation, Tale, type ToldRun } from '../support/told-runs.ts'
import { otherReference, results, toldTrees } from './told-trees.ts'

const { verified } = toldTrees()

type Change = (made: OneDelegation) => void

const reservedBy = (run: ToldRun, nth: number) =>
  run.find('BudgetReservationStarted', nth).event.reservation as unknown as {
    agent_id: string
    ancestors: [{ scope: number }]
  }

describe('the tokens of a child', () => {
  const rows: readonly (readonly [string, Change, string])[] = [
    [
      'that never linked to a budget',
      ({ child }) => {
        child.entries.splice(1, 1)
        child.entries.splice(-2, 1)
      },
      'without being linked to a budget',
    ],
    [
      'with a budget of its own',
      ({ tale, child }) => {
        child.find('BudgetScopeLinked').event = { kind: 'BudgetOpened', root_id: tale.rootId, limit: 10_000 } as never
        Object.assign(child.find('BudgetUpdated').event.budget, { scope: 0, usage: NO_USAGE })
      },
      'it opened a token budget of its own',
    ],
    [
      'linked to another budget',
      ({ child }) => {
        const root_id = otherReference.run_id as never
        Object.assign(child.find('BudgetScopeLinked').event, { root_id })
        Object.assign(child.find('BudgetUpdated').event.budget, { root_id })
      },
      'another token budget than that of its root',
    ],
    ...Object.entries(otherReference).map(([name, value]): [string, Change, string] => [
      `linked to a root of another ${name}`,
      ({ parent, child }) => {
        Object.assign(child.find('BudgetScopeLinked').event, { root_audit: { ...parent.audit, [name]: value } })
      },
      'another token budget than that of its root',
    ]),
    [
      'linked to no root',
      ({ child }) => {
        Object.assign(child.find('BudgetScopeLinked').event, { root_audit: null })
      },
      'another token budget than that of its root',
    ],
    [
      'whose start names another scope',
      ({ child }) => {
        const context = child.find('Started').event.execution_context as unknown as { budget: object }
        context.budget = { ...context.budget, scope: 7 }
      },
      'another token scope than its link',
    ],
    [
      'whose start names another root',
      ({ child }) => {
        const context = child.find('Started').event.execution_context as unknown as { budget: object }
        context.budget = { ...context.budget, root_id: otherReference.run_id }
      },
      'another token scope than its link',
    ],
    [
      'whose tokens were reserved for a journal of another key',
      ({ parent, child }) => {
        const audit = { ...child.audit, public_key: otherReference.public_key }
        Object.assign(parent.find('BudgetReservationStarted', 1).event.reservation, { audit })
      },
      'for a run of its id that is not it',
    ],
    [
      'whose tokens were reserved elsewhere',
      ({ parent }) => {
        reservedBy(parent, 1).ancestors[0].scope = 9
      },
      'reserved its tokens within another scope',
    ],
    [
      'whose tokens were reserved for another principal',
      ({ parent }) => {
        reservedBy(parent, 1).agent_id = parent.agentId
      },
      'for a run of its id that is not it',
    ],
    [
      'with more replies than reservations',
      ({ child }) => {
        child.entries.splice(2, 0, structuredClone(child.find('ReasoningComplete')))
      },
      '2 replies of the model, and its root reserved 1',
    ],
  ]

  test.each(rows)('of one %s do not match its link', async (_, change, problem) => {
    const made = oneDelegation()
    change(made)
    const { root } = await verified(made.parent)
    expect(root.children[0]).toMatchObject({ result: 'mismatch' })
    expect(root.children[0]?.problems).toEqual(expect.arrayContaining([expect.stringContaining(problem)]))
  })
})

describe('tokens that were reserved for a child before it could use any', () => {
  const TOO_EARLY = 'its root reserved tokens for it, and its journal does not say that it ever began to use any'

  /** A child that asked once, of whose journal only so many entries are left. */
  async function cutTo(entries: number, asks = 1) {
    const tale = new Tale()
    const parent = tale.root()
    const child = tale.delegate(parent, 'reviewer')
    for (let count = 0; count < asks; count += 1) tale.ask(child)
    child.entries.length = entries
    return (await verified(parent)).root.children[0]
  }

  test('are found, whether its journal is empty or stops before its link to the budget', async () => {
    for (const entries of [0, 1]) {
      expect(await cutTo(entries)).toMatchObject({ result: 'mismatch', problems: [TOO_EARLY] })
    }
  })

  test('are none once it was linked; and a child that asked for none may stop anywhere', async () => {
    expect(await cutTo(2)).toMatchObject({ result: 'incomplete', problems: [] })
    for (const entries of [0, 1, 2])
      expect(await cutTo(entries, 0)).toMatchObject({ result: 'incomplete', problems: [] })
  })

  test('and twice are for two replies', async () => {
    expect(await cutTo(6, 2)).toMatchObject({ result: 'incomplete', problems: [] })
  })
})

describe('the tokens of a tree', () => {
  test('may be none at all: a run that asked no model contradicts nothing', async () => {
    const tale = new Tale()
    const parent = tale.root()
    tale.end(parent, 'Timeout')
    expect((await verified(parent)).root).toMatchObject({ result: 'verified', problems: [] })
  })

  test('may be reserved by somebody without a journal: nobody’s here', async () => {
    const { parent } = oneDelegation()
    const added = structuredClone(parent.find('BudgetReservationStarted', 0))
    Object.assign(added.event.reservation, { id: otherReference.run_id, audit: null })
    parent.entries.splice(-2, 0, added)
    expect((await verified(parent)).root).toMatchObject({ result: 'verified', problems: [] })
  })

  test('that the root reserved for itself as another principal are found', async () => {
    const { parent, child } = oneDelegation()
    reservedBy(parent, 0).agent_id = child.agentId
    expect((await verified(parent)).root).toMatchObject({
      result: 'mismatch',
      problems: ['it reserved its own tokens within the scope of another run'],
    })
  })

  test('of a root that opened none leave every run linked to nothing', async () => {
    const { parent } = oneDelegation()
    parent.entries = parent.entries.filter(({ event }) => !event.kind.startsWith('Budget'))
    const { root } = await verified(parent)
    expect(root.children[0]?.problems).toContain('it is linked to another token budget than that of its root')
  })

  test('of a run whose own parent was never linked are not held against that run', async () => {
    const { parent, child, grandchild } = family()
    child.entries = child.entries.filter(({ event }) => !['BudgetScopeLinked', 'BudgetUpdated'].includes(event.kind))
    const { root } = await verified(parent)
    expect(root.children[0]?.problems).toContain('it used tokens without being linked to a budget')
    expect(root.children[0]?.children[0]).toMatchObject({ run_id: grandchild.runId, problems: [] })
  })

  test('of two runs within one scope are found', async () => {
    const { tale, parent, child, second } = family()
    Object.assign(second.find('BudgetScopeLinked').event, { scope: child.scope })
    Object.assign(second.find('BudgetUpdated').event.budget, { scope: child.scope })
    Object.assign(second.find('Started').event.execution_context as object, {
      budget: { root_id: tale.rootId, scope: child.scope, limit: 1 },
    })
    const { root } = await verified(parent)
    expect(root.children[1]?.problems).toEqual(
      expect.arrayContaining(['it spends within the token scope of another run']),
    )
  })

  test('that were reserved under another run than the parent are found', async () => {
    const { parent, child } = family()
    const { reservation } = parent.find('BudgetReservationStarted', 2).event // the reader's, within the reviewer's
    Object.assign(reservation, { ancestors: [reservation.ancestors[0], { scope: 0, parent: null, limit: 10_000 }] })
    Object.assign(reservation.ancestors[0] as object, { parent: 0 })
    const { root } = await verified(parent)
    expect(root.children[0]?.run_id).toBe(child.runId)
    expect(root.children[0]?.children[0]?.problems).toEqual([
      'its root reserved its tokens under another run than its parent',
    ])
  })

  test('that were reserved for a run that nobody began are found', async () => {
    const { parent, child } = oneDelegation()
    const audit = { ...child.audit, run_id: otherReference.run_id }
    parent.entries.splice(-2, 0, structuredClone(parent.find('BudgetReservationStarted', 1)))
    const added = parent.find('BudgetReservationStarted', 3).event.reservation
    Object.assign(added, { id: otherReference.run_id, audit })
    const { root } = await verified(parent)
    expect(root).toMatchObject({
      result: 'mismatch',
      problems: [`it reserved tokens for a run that nobody began, "${otherReference.run_id}"`],
    })
  })

  test('that the root spent within the scope of another run are found', async () => {
    const { parent } = oneDelegation()
    const { ancestors } = parent.find('BudgetReservationStarted', 1).event.reservation
    Object.assign(parent.find('BudgetReservationStarted', 2).event.reservation, { ancestors })
    const { root } = await verified(parent)
    expect(root).toMatchObject({
      result: 'mismatch',
      problems: ['it reserved its own tokens within the scope of another run'],
    })
  })

  test('of runs whose root is not at hand must at least be of one root', async () => {
    const { child, grandchild } = deeper()
    expect(results((await verified(child)).root)).toEqual(['verified', 'verified'])
    Object.assign(grandchild.find('BudgetScopeLinked').event, { root_audit: child.audit })
    const { root } = await verified(child)
    expect(root.children[0]).toMatchObject({
      result: 'mismatch',
      problems: ['it is linked to another token budget than that of its root'],
    })
  })
})

test('runs whose root is not at hand must name it by one id as well', async () => {
  const { child, grandchild } = deeper()
  const root_id = otherReference.run_id as never
  Object.assign(grandchild.find('BudgetScopeLinked').event, { root_id })
  Object.assign(grandchild.find('BudgetUpdated').event.budget, { root_id })
  const { root } = await verified(child)
  expect(root.children[0]?.problems).toContain('it is linked to another token budget than that of its root')
})

/** Three levels below the root: asked about the second, the root stands two levels above. */
function deeper() {
  const tale = new Tale()
  const root = tale.root()
  const parent = tale.delegate(root, 'writer')
  const child = tale.delegate(parent, 'reviewer')
  const grandchild = tale.delegate(child, 'reader')
  tale.answer(grandchild, 'it says so')
  tale.finish(grandchild)
  tale.answer(child, 'it is fine')
  return { child, grandchild }
}
