import { appendFileSync, copyFileSync, rmSync, writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { Fault, isFault } from '../../src/core/index.ts'
import { runsOf, treeHolds, verifyTree } from '../../src/journal/index.ts'
import { type Reading, readLinked } from '../../src/journal/read-linked.ts'
import { family, type OneDelegation, oneDelegation, Tale, type ToldRun } from '../support/told-runs.ts'
import { hasty, placeOf, results, told, toldTrees } from './told-trees.ts'

const { disk, verified } = toldTrees()

describe('a tree of runs', () => {
  test('is verified when every journal verifies and both sides of every link say the same', async () => {
    const { parent, child, grandchild, second } = family()
    const tree = await verified(parent)
    expect(told(tree.root)).toEqual([
      [0, parent.runId, 'verified'],
      [1, child.runId, 'verified'],
      [2, grandchild.runId, 'verified'],
      [1, second.runId, 'verified'],
    ])
    expect(runsOf(tree.root).flatMap(({ node }) => [...node.problems, ...node.notes])).toEqual([])
    expect(tree.above).toBe(null)
    expect(treeHolds(tree)).toBe(true)
  })

  test('gives each run its own report, its link and where it was read', async () => {
    const folder = disk.folder()
    const { parent, child } = oneDelegation()
    const { root } = await verified(parent, folder)
    expect(root).toMatchObject({ link: null, agent_id: parent.agentId, path: parent.pathIn(folder) })
    expect(root.children[0]).toMatchObject({
      link: { link: child.link, finished: { reason: 'Completed' } },
      agent_id: child.agentId,
      path: child.pathIn(folder),
      report: { run_id: child.runId, journal_complete: true, terminal_reason: 'Completed', recovered_budget: null },
    })
  })

  test('is verified wherever its folder was copied to, with the public key alone', async () => {
    const folder = disk.folder()
    const { parent, child } = oneDelegation()
    await verified(parent, folder)
    const copy = disk.folder()
    for (const run of [parent, child]) copyFileSync(run.pathIn(folder), run.pathIn(copy))
    rmSync(folder, { recursive: true })
    expect(results((await verifyTree(hasty, placeOf(parent, copy))).root)).toEqual(['verified', 'verified'])
  })

  test('refuses bytes behind the end of a delegated run: no crash leaves them there', async () => {
    const folder = disk.folder()
    const { parent, child } = oneDelegation()
    await verified(parent, folder)
    appendFileSync(child.pathIn(folder), 'x') // one byte is enough
    const tree = await verifyTree(hasty, placeOf(parent, folder))
    expect(results(tree.root)).toEqual(['verified', 'invalid'])
    expect(tree.root.children[0]?.problems).toEqual([expect.stringContaining('bytes behind its end')])
    expect(treeHolds(tree)).toBe(false)
  })

  test('holds where a child ended otherwise than completed, and says how', async () => {
    const tale = new Tale()
    const parent = tale.root()
    const child = tale.delegate(parent, 'reviewer')
    tale.end(child, { Error: { message: 'the provider failed' } })
    tale.finish(child)
    tale.end(parent, 'UnconfirmedEffects')
    const { root } = await verified(parent)
    expect(results(root)).toEqual(['verified', 'verified'])
    expect(root.report).toMatchObject({ requires_reconciliation: true, journal_complete: true })
  })

  test('holds where a parent that gave up waiting ended before its child', async () => {
    const tale = new Tale()
    const parent = tale.root()
    const child = tale.delegate(parent, 'reviewer')
    tale.end(parent, { Error: { message: 'the delegated runs could not be ended' } })
    tale.end(child, { Error: { message: 'the execution was cancelled' } })
    const { root } = await verified(parent)
    expect(results(root)).toEqual(['verified', 'verified'])
    expect(root.children[0]?.notes).toEqual([expect.stringContaining('for the parent the outcome is unknown')])
    expect(root.report?.requires_reconciliation).toBe(true)
  })
})

describe('a crash', () => {
  /** Every pair of beginnings, and whether a crash can leave it: nothing durable lacks what caused it. */
  function states({ tale, parent, child }: OneDelegation) {
    const found: { parentCount: number; childCount: number; possible: boolean }[] = []
    for (let parentCount = 1; parentCount <= parent.entries.length; parentCount += 1) {
      for (let childCount = 0; childCount <= child.entries.length; childCount += 1) {
        const counts = new Map([
          [parent, parentCount],
          [child, childCount],
        ])
        const isDurable = ({ run, index }: { run: ToldRun; index: number }) => index < (counts.get(run) ?? 0)
        const possible = tale.causes.every(({ earlier, later }) => !isDurable(later) || isDurable(earlier))
        found.push({ parentCount, childCount, possible })
      }
    }
    return found
  }

  function cut(run: ToldRun, count: number, folder: string, torn: boolean): void {
    const lines = run.lines()
    const next = torn ? lines[count]?.subarray(0, -7) : undefined
    writeFileSync(run.pathIn(folder), Buffer.concat([...lines.slice(0, count), ...(next === undefined ? [] : [next])]))
  }

  test.each([false, true])(
    'at any moment is no contradiction (a last line half written: %s)',
    async (torn) => {
      const made = oneDelegation()
      const { parent, child } = made
      const possible = states(made).filter((state) => state.possible)
      expect(possible.length).toBeGreaterThan(20)
      for (const { parentCount, childCount } of possible) {
        const folder = disk.folder()
        cut(parent, parentCount, folder, torn)
        cut(child, childCount, folder, torn)
        const tree = await verifyTree(hasty, placeOf(parent, folder))
        const problems = runsOf(tree.root).flatMap(({ node }) => node.problems)
        expect([parentCount, childCount, ...problems]).toEqual([parentCount, childCount])
        expect(treeHolds(tree)).toBe(true)
        const whole = (run: ToldRun, count: number) => (count === run.entries.length ? 'verified' : 'incomplete')
        const isLinked = tree.root.children.length > 0
        expect(results(tree.root)).toEqual([
          whole(parent, parentCount),
          ...(isLinked ? [whole(child, childCount)] : []),
        ])
        if (childCount === 0 && !torn) continue
        const below = await verifyTree(hasty, placeOf(child, folder))
        expect([parentCount, childCount, ...(below.above?.problems ?? []), ...below.root.problems]).toEqual([
          parentCount,
          childCount,
        ])
      }
    },
    60_000,
  )

  test('cannot leave one of the other states, so each of those is a contradiction from one of its ends', async () => {
    const made = oneDelegation()
    const { parent, child } = made
    for (const { parentCount, childCount } of states(made).filter(({ possible }) => !possible)) {
      const folder = disk.folder()
      cut(parent, parentCount, folder, false)
      cut(child, childCount, folder, false)
      const trees = [await verifyTree(hasty, placeOf(parent, folder)), await verifyTree(hasty, placeOf(child, folder))]
      const held = trees.every(treeHolds)
      expect([parentCount, childCount, held]).toEqual([parentCount, childCount, false])
    }
  }, 60_000)

  test('between the intent and the first entry of the child leaves a run that never began', async () => {
    const tale = new Tale()
    const parent = tale.root()
    const child = tale.delegate(parent, 'reviewer')
    child.entries.length = 0
    const { root } = await verified(parent)
    expect(results(root)).toEqual(['incomplete', 'incomplete'])
    expect(root.children[0]).toMatchObject({
      problems: [],
      notes: [expect.stringContaining('it never began'), expect.stringContaining('does not say how it ended')],
      report: null,
    })
    expect(root.report).toMatchObject({
      requires_reconciliation: true,
      effects: expect.arrayContaining([
        expect.objectContaining({ identity: expect.objectContaining({ kind: 'delegation' }), outcome: 'unknown' }),
      ]),
    })
  })
})

describe('a tree at work', () => {
  test('is read again when a run wrote on behind the reader, instead of being called a contradiction', async () => {
    const folder = disk.folder()
    const { tale, parent, child } = oneDelegation()
    const intent = parent.entries.findIndex(({ event }) => event.kind === 'DelegationStarted')
    writeFileSync(parent.pathIn(folder), Buffer.concat(parent.lines(intent + 1)))
    writeFileSync(child.pathIn(folder), Buffer.concat(child.lines(1)))
    let writes = 0
    const progress = (done: number): void => {
      if (done !== 1 || writes > 0) return
      writes += 1 // the parent was read, and both go on
      tale.write(folder)
    }
    const tree = await verifyTree(hasty, placeOf(parent, folder), { progress })
    expect([writes, results(tree.root)]).toEqual([1, ['verified', 'verified']])
  })

  test('that holds is not read again, though it was written to meanwhile', async () => {
    const folder = disk.folder()
    const { parent, child } = oneDelegation()
    const intent = parent.entries.findIndex(({ event }) => event.kind === 'DelegationStarted')
    writeFileSync(parent.pathIn(folder), Buffer.concat(parent.lines(intent + 1)))
    writeFileSync(child.pathIn(folder), '')
    let reads = 0
    const progress = (): void => {
      reads += 1
      appendFileSync(parent.pathIn(folder), reads === 2 ? (parent.lines()[intent + 1] ?? '') : '')
    }
    const tree = await verifyTree(hasty, placeOf(parent, folder), { progress })
    expect([reads, results(tree.root)]).toEqual([2, ['incomplete', 'incomplete']])
  })

  test('that never holds still is told as such, and never as a contradiction', async () => {
    const folder = disk.folder()
    const { tale, parent, child } = oneDelegation()
    tale.write(folder)
    let reads = 0
    const progress = (done: number): void => {
      reads += 1
      if (done === 0) writeFileSync(parent.pathIn(folder), Buffer.concat(parent.lines(7 + (reads % 2))))
      else appendFileSync(parent.pathIn(folder), 'torn')
    }
    writeFileSync(child.pathIn(folder), '')
    await expect(verifyTree(hasty, placeOf(parent, folder), { progress })).rejects.toSatisfy((error) =>
      isFault(error, 'EVIDENCE_CHANGING'),
    )
    expect(reads).toBe(12)
  })
})

describe('journals that were read a moment ago', () => {
  /** The readings of a walk over a whole folder, by path. */
  async function known(folder: string, ...runs: readonly ToldRun[]) {
    const found = new Map<string, Reading>()
    for (const run of runs) {
      const { path, key, runId } = placeOf(run, folder)
      found.set(path, await readLinked(hasty, path, key, runId))
    }
    return found
  }

  test('are not read again for a tree that holds', async () => {
    const folder = disk.folder()
    const { tale, parent, child } = oneDelegation()
    tale.write(folder)
    const readings = await known(folder, parent, child)
    const read: string[] = []
    const progress = (_: number, path: string): void => void read.push(path)
    const tree = await verifyTree(hasty, placeOf(parent, folder), { progress, known: readings })
    expect([results(tree.root), read]).toEqual([['verified', 'verified'], []])
    const half = new Map([...readings].slice(0, 1))
    await verifyTree(hasty, placeOf(parent, folder), { progress, known: half })
    expect(read).toEqual([child.pathIn(folder)])
  })

  test('are no ground for a bad result: that is judged from the files, at once and not after a wait', async () => {
    const folder = disk.folder()
    const { tale, parent, child } = oneDelegation()
    tale.write(folder)
    const readings = await known(folder, parent)
    readings.set(child.pathIn(folder), { kind: 'missing' })
    let waits = 0
    const sleep = async (): Promise<void> => {
      waits += 1
    }
    const world = { ...hasty, clock: { ...hasty.clock, sleep } }
    const tree = await verifyTree(world, placeOf(parent, folder), { known: readings })
    expect([results(tree.root), waits]).toEqual([['verified', 'verified'], 0])
  })

  test('count for nothing where a link asks for another run at that place', async () => {
    const folder = disk.folder()
    const { tale, parent, child } = oneDelegation()
    tale.write(folder)
    const readings = await known(folder, parent)
    readings.set(child.pathIn(folder), readings.get(parent.pathIn(folder)) as Reading)
    const read: string[] = []
    const progress = (_: number, path: string): void => void read.push(path)
    const tree = await verifyTree(hasty, placeOf(parent, folder), { progress, known: readings })
    expect([results(tree.root), read]).toEqual([['verified', 'verified'], [child.pathIn(folder)]])
  })
})

describe('a journal that cannot be read', () => {
  test.each([
    ['with what the system answered', 'EACCES', 'it cannot be read (EACCES)'],
    ['or plainly, where it answered nothing', undefined, 'it cannot be read'],
  ])('is invalid, %s', async (_, errno, problem) => {
    const folder = disk.folder()
    const { tale, parent, child } = oneDelegation()
    tale.write(folder)
    const refuse = async (path: string, how: 'read' | 'append' | 'lock') => {
      if (path !== child.pathIn(folder)) return await hasty.files.open(path, how)
      throw new Fault('STORAGE_FAILED', { message: 'Cannot open', facts: errno === undefined ? {} : { errno } })
    }
    const world = { ...hasty, files: { ...hasty.files, open: refuse } }
    const { root } = await verifyTree(world, placeOf(parent, folder))
    expect(root.children[0]).toMatchObject({ result: 'invalid', problems: [problem] })
  })

  test('because something of ours broke is no finding', async () => {
    const folder = disk.folder()
    const { tale, parent } = oneDelegation()
    tale.write(folder)
    for (const broken of ['open', 'lstat']) {
      const files = { ...hasty.files, [broken]: () => Promise.reject(new TypeError('ours')) }
      await expect(verifyTree({ ...hasty, files }, placeOf(parent, folder))).rejects.toThrow('ours')
    }
  })

  test('nor looked at holds nothing that we could read: it is missing from where it belongs', async () => {
    const folder = disk.folder()
    const { tale, parent, child } = oneDelegation()
    tale.write(folder)
    let looks = 0
    const lstat = async (path: string) => {
      if (path !== child.pathIn(folder)) return await hasty.files.lstat(path)
      looks += 1
      throw new Fault('STORAGE_FAILED', { message: 'Cannot look', facts: { errno: 'EIO' } })
    }
    const world = { ...hasty, files: { ...hasty.files, lstat } }
    const { root } = await verifyTree(world, placeOf(parent, folder))
    expect(root.children[0]).toMatchObject({ result: 'invalid', path: child.pathIn(folder) })
    expect(looks).toBeGreaterThan(1)
  })
})
