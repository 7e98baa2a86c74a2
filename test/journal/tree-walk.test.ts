import { appendFileSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { describe, expect, test } from 'vitest'
import { runsOf, type TreePlace, treeHolds, verifyTree } from '../../src/journal/index.ts'
import { parsePublicKey } from '../../src/keys/index.ts'
import { madeKey } from '../support/journal-maker.ts'
import { family, type OneDelegation, oneDelegation, Tale } from '../support/told-runs.ts'
import { delegationOf, hasty, placeOf, renamed, results, told, toldTrees } from './told-trees.ts'

const { disk, verified } = toldTrees()

describe('links that no tree can have', () => {
  test('two parents that claim one child: the second link is a mismatch, and is not followed', async () => {
    const { parent, child, grandchild, second } = family()
    const { event } = child.find('DelegationStarted')
    second.entries.splice(4, 0, { ...second.find('PolicyEvaluated'), event })
    const tree = await verified(parent)
    expect(told(tree.root).map(([depth, run, result]) => [depth, run, result])).toEqual([
      [0, parent.runId, 'verified'],
      [1, child.runId, 'verified'],
      [2, grandchild.runId, 'verified'],
      [1, second.runId, 'verified'],
      [2, grandchild.runId, 'mismatch'],
    ])
    expect(treeHolds(tree)).toBe(false)
  })

  test('a child that is begun twice by one parent', async () => {
    const { parent } = oneDelegation()
    const { at, iteration, event } = parent.find('DelegationStarted')
    parent.entries.splice(6, 0, { at, iteration, event: { ...event, call_id: 'once more' } })
    expect(results((await verified(parent)).root)).toEqual(['verified', 'mismatch', 'mismatch'])
  })

  test('a circle ends where it closes', async () => {
    const { parent, child } = oneDelegation()
    const { at, iteration, event } = parent.find('DelegationStarted')
    child.entries.splice(4, 0, {
      at,
      iteration,
      event: { ...event, call_id: 'back', child_agent_id: parent.agentId, audit: parent.audit },
    })
    const { root } = await verified(parent)
    expect(told(root)).toEqual([
      [0, parent.runId, 'verified'],
      [1, child.runId, 'verified'],
      [2, parent.runId, 'mismatch'],
    ])
  })

  test('more levels than any runtime allows: not followed, and not accepted', async () => {
    const tale = new Tale()
    const parent = tale.root()
    let last = parent
    for (let depth = 1; depth <= 70; depth += 1) last = tale.delegate(last, `agent${depth}`)
    const tree = await verified(parent)
    const placed = runsOf(tree.root)
    expect(placed).toHaveLength(66)
    expect(placed.at(-1)).toMatchObject({ depth: 65, node: { result: 'invalid', report: null } })
    expect(placed.at(-1)?.node.problems[0]).toContain('not followed')
    expect(placed.slice(0, -1).every(({ node }) => node.result === 'incomplete')).toBe(true)
    expect(treeHolds(tree)).toBe(false)
  })

  test('more runs than any budget has scopes: not followed, and not accepted', async () => {
    const folder = disk.folder()
    const { tale, parent, child } = oneDelegation()
    const { at, iteration, event } = parent.find('DelegationStarted')
    for (let count = 0; count < 4200; count += 1) {
      const run_id = `0d0a3f0e-3a3f-4b1a-9d1e-${String(count).padStart(12, '0')}` as never
      const path = join('/srv', `${child.agentId}.${run_id}.jsonl`)
      parent.entries.splice(-4, 0, {
        at,
        iteration,
        event: { ...event, call_id: `more ${count}`, audit: { ...event.audit, run_id, path } },
      })
    }
    tale.write(folder)
    const { root } = await verifyTree(hasty, placeOf(parent, folder))
    expect(root.children).toHaveLength(4096)
    expect(root.children.at(-1)).toMatchObject({ result: 'invalid' })
    expect(root.children.at(-2)).toMatchObject({ result: 'missing' })
  }, 60_000)
})

describe('the journal of a link', () => {
  test('is looked for next to the journal that links to it, and then where the link says, with a note', async () => {
    const [folder, elsewhere] = [disk.folder(), disk.folder()]
    const made = oneDelegation()
    renamed(made, made.child.pathIn(elsewhere))
    made.tale.write(folder)
    renameSync(made.child.pathIn(folder), made.child.pathIn(elsewhere))
    const { root } = await verifyTree(hasty, placeOf(made.parent, folder))
    expect(root.children[0]).toMatchObject({
      result: 'verified',
      path: made.child.pathIn(elsewhere),
      notes: [expect.stringContaining('does not lie next to the journal that links to it')],
    })
  })

  test('is what lies next to it, even when a sound one lies where the link says', async () => {
    const [folder, elsewhere] = [disk.folder(), disk.folder()]
    const made = oneDelegation()
    renamed(made, made.child.pathIn(elsewhere))
    made.tale.write(folder)
    renameSync(made.child.pathIn(folder), made.child.pathIn(elsewhere))
    symlinkSync(made.child.pathIn(elsewhere), made.child.pathIn(folder))
    const linked = await verifyTree(hasty, placeOf(made.parent, folder))
    expect(linked.root.children[0]).toMatchObject({ result: 'invalid', path: made.child.pathIn(folder) })
  })

  test('is not read under another name, nor from anything but a regular file', async () => {
    const [folder, elsewhere] = [disk.folder(), disk.folder()]
    const made = oneDelegation()
    renamed(made, made.child.pathIn(elsewhere))
    made.tale.write(folder)
    rmSync(made.child.pathIn(folder))
    mkdirSync(made.child.pathIn(elsewhere))
    const { root } = await verifyTree(hasty, placeOf(made.parent, folder))
    expect(root.children[0]).toMatchObject({ result: 'missing', path: made.child.pathIn(folder) })
    rmSync(made.child.pathIn(elsewhere), { recursive: true })
    writeFileSync(made.child.pathIn(elsewhere), '')
    renamed(made, relative(process.cwd(), made.child.pathIn(elsewhere)))
    made.tale.write(folder)
    rmSync(made.child.pathIn(folder))
    const vague = await verifyTree(hasty, placeOf(made.parent, folder))
    expect(vague.root.children[0]).toMatchObject({ result: 'missing', path: made.child.pathIn(folder) })
    const secret = disk.path('secret')
    writeFileSync(secret, 'secret')
    Object.assign(made.parent.find('DelegationStarted').event, { audit: { ...made.child.audit, path: secret } })
    made.tale.write(folder)
    rmSync(made.child.pathIn(folder))
    const named = await verifyTree(hasty, placeOf(made.parent, folder))
    expect(named.root.children[0]).toMatchObject({ result: 'missing', path: made.child.pathIn(folder) })
  })

  test('is read where the caller says, when the caller knows better', async () => {
    const [folder, archive] = [disk.folder(), disk.folder()]
    const { parent, child } = oneDelegation()
    parent.tale.write(folder)
    renameSync(child.pathIn(folder), join(archive, 'child'))
    const asked: unknown[] = []
    const locate: TreePlace['locate'] = async (linkingPath, named) => {
      asked.push([linkingPath, named])
      return { path: join(archive, 'child'), note: 'read from the archive' }
    }
    const { root } = await verifyTree(hasty, { ...placeOf(parent, folder), locate })
    expect(root.children[0]).toMatchObject({ result: 'verified', notes: ['read from the archive'] })
    expect(asked).toEqual([
      [parent.pathIn(folder), { agentId: child.agentId, runId: child.runId, recordedPath: child.audit.path }],
    ])
  })
})

describe('the run that was asked about', () => {
  test('must be the run and the agent that were expected, and verify with the given key', async () => {
    const folder = disk.folder()
    const { parent, child } = oneDelegation()
    parent.tale.write(folder)
    const place = placeOf(parent, folder)
    const resultOf = async (parts: Partial<TreePlace>) => (await verifyTree(hasty, { ...place, ...parts })).root
    expect(await resultOf({ runId: child.runId })).toMatchObject({ result: 'invalid', children: [] })
    expect(await resultOf({ agentId: child.agentId })).toMatchObject({ result: 'invalid', children: [] })
    expect(await resultOf({ key: parsePublicKey(madeKey(2).publicHex) })).toMatchObject({ result: 'invalid' })
    expect(await resultOf({ path: join(folder, 'none') })).toMatchObject({ result: 'missing' })
    expect(await resultOf({ path: folder })).toMatchObject({ result: 'invalid' })
  })

  test('may itself be delegated: the run above is named, and the link to it verified', async () => {
    const { parent, child, grandchild } = family()
    const folder = disk.folder()
    const tree = await verified(child, folder)
    expect(told(tree.root)).toEqual([
      [0, child.runId, 'verified'],
      [1, grandchild.runId, 'verified'],
    ])
    expect(tree.above).toMatchObject({
      run_id: parent.runId,
      agent_id: parent.agentId,
      path: parent.pathIn(folder),
      result: 'verified',
      problems: [],
    })
    const deeper = await verifyTree(hasty, placeOf(grandchild, folder))
    expect(deeper.above).toMatchObject({ run_id: child.runId, result: 'verified', name: 'reviewer' })
    expect(deeper.above?.report?.run_id).toBe(child.runId)
    expect([tree.root.name, tree.root.children[0]?.name, tree.above?.name]).toEqual(['reviewer', 'reader', null])
  })

  const flaws: readonly (readonly [string, (made: OneDelegation, folder: string) => void, object])[] = [
    ['is missing', ({ parent }, folder) => rmSync(parent.pathIn(folder)), { result: 'missing', report: null }],
    ['does not verify', ({ parent }, folder) => appendFileSync(parent.pathIn(folder), 'x\n'), { result: 'invalid' }],
    [
      'records no such delegation',
      ({ tale, parent }, folder) => {
        parent.entries.splice(6)
        tale.write(folder)
      },
      { result: 'mismatch', problems: expect.arrayContaining(['it records no delegation to the run below']) },
    ],
    [
      'records it differently',
      ({ tale, parent }, folder) => {
        Object.assign(parent.find('DelegationStarted').event, { target: 'writer' })
        tale.write(folder)
      },
      { result: 'mismatch', problems: [expect.stringContaining('of the run below: its journal tells "target"')] },
    ],
    [
      'records it twice',
      ({ tale, parent }, folder) => {
        const { at, iteration, event } = parent.find('DelegationStarted')
        parent.entries.splice(6, 0, { at, iteration, event: { ...event, call_id: 'once more' } })
        tale.write(folder)
      },
      { result: 'mismatch', problems: ['it began the run below more than once'] },
    ],
    [
      'spent its own tokens as another run',
      ({ tale, parent }, folder) => {
        const { ancestors } = parent.find('BudgetReservationStarted', 1).event.reservation
        Object.assign(parent.find('BudgetReservationStarted', 2).event.reservation, { ancestors })
        tale.write(folder)
      },
      { result: 'mismatch', problems: ['it reserved its own tokens within the scope of another run'] },
    ],
    [
      'reserved no tokens for it',
      ({ tale, parent }, folder) => {
        parent.entries = parent.entries.filter(({ event }) => !/^Budget(?:Reservation|Updated)/.test(event.kind))
        tale.write(folder)
      },
      { result: 'mismatch', problems: [expect.stringContaining('1 replies of the model, and its root reserved 0')] },
    ],
  ]

  test.each(flaws)('tells when the run above %s', async (_, spoil, above) => {
    const folder = disk.folder()
    const made = oneDelegation()
    made.tale.write(folder)
    spoil(made, folder)
    const tree = await verifyTree(hasty, placeOf(made.child, folder))
    expect(tree.root.result).toBe('verified')
    expect(tree.above).toMatchObject(above)
    expect(treeHolds(tree)).toBe(false)
  })

  test.each<[string, (made: OneDelegation) => void]>([
    ['no reference', (made) => (delegationOf(made).parent_audit = 'somebody')],
    ['no id of an agent', (made) => (delegationOf(made).parent_agent_id = 'somebody')],
    ['no id of a run', (made) => (delegationOf(made).parent_audit = { ...made.parent.audit, run_id: 'that one' })],
    ['no path', (made) => (delegationOf(made).parent_audit = { ...made.parent.audit, path: null })],
    [
      'nothing of it',
      ({ child }) => Object.assign(child.find('Started').event, { execution_context: { delegation: true } }),
    ],
  ])('is a mismatch when it says that it was delegated, and by %s', async (_, change) => {
    const made = oneDelegation()
    change(made)
    const tree = await verified(made.child)
    expect(tree).toMatchObject({
      above: null,
      root: {
        result: 'mismatch',
        problems: ['its journal says that it was delegated, and not readably by which run'],
      },
    })
  })
})
