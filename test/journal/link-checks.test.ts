import { copyFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { TerminationReason } from '../../src/events/index.ts'
import { treeHolds, verifyTree } from '../../src/journal/index.ts'
import { isPathOf } from '../../src/journal/link-checks.ts'
import type { RunFacts } from '../../src/journal/run-facts.ts'
import { madeKey } from '../support/journal-maker.ts'
import { family, type OneDelegation, oneDelegation, Tale, type ToldRun } from '../support/told-runs.ts'
import { delegationOf, hasty, other, otherReference, placeOf, renamed, results, toldTrees } from './told-trees.ts'

const { disk, verified } = toldTrees()

type Change = (made: OneDelegation) => void

describe('a link that was changed, and sealed again with the same key', () => {
  const changes: readonly (readonly [string, Change])[] = [
    ...Object.entries(other).map(([name, value]): [string, Change] => [
      `"${name}" in the child`,
      (made) => {
        delegationOf(made)[name] = value
      },
    ]),
    ...['audit', 'parent_audit'].flatMap((reference) =>
      Object.entries(otherReference).map(([name, value]): [string, Change] => [
        `"${reference}.${name}" in the child`,
        (made) => {
          const before = delegationOf(made)[reference] as object
          delegationOf(made)[reference] = { ...before, [name]: value }
        },
      ]),
    ),
    ...Object.entries(other)
      .filter(([name]) => !['child_agent_id', 'parent_agent_id', 'run_key', 'call_id'].includes(name))
      .map(([name, value]): [string, Change] => [
        `"${name}" in the parent`,
        ({ parent }) => Object.assign(parent.find('DelegationStarted').event, { [name]: value }),
      ]),
    ...['run_key', 'call_id'].map((name): [string, Change] => [
      `"${name}" in both entries of the parent`,
      ({ parent }) => {
        for (const kind of ['DelegationStarted', 'DelegationFinished'] as const) {
          Object.assign(parent.find(kind).event, { [name]: other[name] })
        }
      },
    ]),
    ...['path', 'public_key'].map((name): [string, Change] => [
      `"audit.${name}" in both entries of the parent`,
      ({ parent, child }) => {
        for (const kind of ['DelegationStarted', 'DelegationFinished'] as const) {
          Object.assign(parent.find(kind).event, { audit: { ...child.audit, [name]: otherReference[name] } })
        }
      },
    ]),
    ...Object.keys(other).map((name): [string, Change] => [
      `"${name}" taken out`,
      (made) => delete delegationOf(made)[name],
    ]),
    ['"parent_audit" taken out', (made) => delete delegationOf(made).parent_audit],
    ['"audit" taken out', (made) => delete delegationOf(made).audit],
    ['a member put in', (made) => Object.assign(delegationOf(made), { extra: true })],
    [
      'a member put into "parent_audit"',
      (made) => Object.assign(delegationOf(made), { parent_audit: { ...made.parent.audit, extra: 1 } }),
    ],
    [
      'text instead of the link',
      ({ child }) => Object.assign(child.find('Started').event, { execution_context: { delegation: 'x' } }),
    ],
    ['no link at all', ({ child }) => Object.assign(child.find('Started').event, { execution_context: {} })],
  ]

  test.each(changes)('is a mismatch: %s', async (_, change) => {
    const made = oneDelegation()
    change(made)
    const tree = await verified(made.parent)
    expect(results(tree.root)).toEqual(['verified', 'mismatch'])
    expect(tree.root.children[0]?.problems.length).toBeGreaterThan(0)
    expect(treeHolds(tree)).toBe(false)
  })

  test('names the members that differ', async () => {
    const made = oneDelegation()
    Object.assign(delegationOf(made), { target: 'writer', parent_agent_id: made.child.agentId })
    const { root } = await verified(made.parent)
    expect(root.children[0]?.problems).toEqual([
      'its journal tells "target", "parent_agent_id" differently than the link of its parent',
    ])
  })

  test('compares the path of the parent with the one that the parent recorded, not with where it lies', async () => {
    const made = oneDelegation()
    const path = join('/srv/elsewhere', made.parent.fileName)
    delegationOf(made).parent_audit = { ...made.parent.audit, path }
    const { root } = await verified(made.parent)
    expect(root.children[0]?.problems).toEqual([expect.stringContaining('"parent_audit.path"')])
  })
})

describe('what a link says of the parent', () => {
  test.each<[string, (made: OneDelegation) => unknown]>([
    ['parent_audit', () => undefined],
    ['parent_audit', ({ parent }) => ({ ...parent.audit, extra: 1 })],
    ['parent_audit.run_id', ({ parent }) => ({ ...parent.audit, run_id: otherReference.run_id })],
    ['parent_audit.public_key', ({ parent }) => ({ ...parent.audit, public_key: otherReference.public_key })],
    ['parent_audit.path', ({ parent }) => ({ ...parent.audit, path: 5 })],
  ])('is named where it differs: "%s"', async (name, audit) => {
    const made = oneDelegation()
    delegationOf(made).parent_audit = audit(made)
    const { root } = await verified(made.parent)
    expect(root.children[0]?.problems).toEqual([`its journal tells "${name}" differently than the link of its parent`])
  })

  test('is compared with the path that the parent recorded, or with its name where it recorded none', () => {
    const { parent } = oneDelegation()
    const facts = { agent_id: parent.agentId, run_id: parent.runId, recordedPath: parent.audit.path } as RunFacts
    const nowhere = { ...facts, recordedPath: null }
    const moved = join('/srv/elsewhere', parent.fileName)
    expect([parent.audit.path, moved, 5, undefined].map((path) => isPathOf(path, facts))).toEqual([
      true,
      false,
      false,
      false,
    ])
    expect([parent.audit.path, moved, '/srv/x.jsonl', 5].map((path) => isPathOf(path, nowhere))).toEqual([
      true,
      true,
      false,
      false,
    ])
  })
})

describe('no contradiction', () => {
  const holding: readonly (readonly [string, () => ToldRun])[] = [
    [
      'a child and a parent at work',
      () => {
        const tale = new Tale()
        const parent = tale.root()
        tale.delegate(parent, 'reviewer')
        return parent
      },
    ],
    [
      'a child that ended in the moment in which its parent says so',
      () => {
        const { parent, child } = oneDelegation()
        child.find('Terminated').at = parent.find('DelegationFinished').at
        return parent
      },
    ],
    [
      'a child that had an answer approved and ended without it',
      () => {
        const tale = new Tale()
        const parent = tale.root()
        const child = tale.delegate(parent, 'reviewer')
        tale.ask(child, { Respond: { content: 'too late' } })
        tale.end(child, 'Timeout')
        tale.finish(child)
        return parent
      },
    ],
    [
      'a child whose approvals cannot be read: it is not judged by them',
      () => {
        const { parent, child } = oneDelegation()
        Object.assign(child.find('PolicyEvaluated').event, { approved_calls: [] })
        return parent
      },
    ],
    [
      'a parent that gave up waiting, and says so',
      () => {
        const tale = new Tale()
        const parent = tale.root()
        const child = tale.delegate(parent, 'reviewer')
        tale.end(parent, { Error: { message: 'the delegated runs could not be ended' } })
        tale.end(child, 'Timeout')
        return parent
      },
    ],
  ]

  test.each(holding)('is %s', async (_, told) => {
    const { root } = await verified(told())
    expect(root.children[0]?.problems).toEqual([])
    expect(['verified', 'incomplete']).toContain(root.children[0]?.result)
  })
})

describe('a child', () => {
  const rows: readonly (readonly [string, Change, string])[] = [
    [
      'that began before the intent',
      ({ parent, child }) => {
        child.find('Started').at = parent.find('DelegationStarted').at - 1
      },
      'before its parent had recorded the intent',
    ],
    [
      'that ended after its parent said so',
      ({ parent, child }) => {
        child.find('Terminated').at = parent.find('DelegationFinished').at + 1
      },
      'after its parent had recorded its end',
    ],
    [
      'whose end was recorded after its parent’s',
      ({ parent }) => {
        parent.find('Terminated').at = parent.find('DelegationFinished').at - 1
      },
      'its parent ended before it recorded the end of it',
    ],
    [
      'whose end was recorded before its beginning',
      ({ parent, child }) => {
        parent.find('DelegationFinished').at = parent.find('DelegationStarted').at - 1
        child.find('Terminated').at = parent.find('DelegationStarted').at - 2
      },
      'its parent recorded its end before its beginning',
    ],
    [
      'that ended otherwise than its parent says',
      ({ parent }) => {
        Object.assign(parent.find('DelegationFinished').event, { reason: 'Timeout' })
      },
      'ended Timeout, and its journal says Completed',
    ],
    [
      'that policy ended, and not what its parent says',
      ({ child }) => {
        Object.assign(child.find('Terminated').event, { reason: { PolicyDenial: { reason: 'no' } } })
      },
      'ended Completed, and its journal says PolicyDenial',
    ],
    [
      'that failed otherwise than its parent says',
      ({ parent, child }) => {
        Object.assign(child.find('Terminated').event, { reason: { Error: { message: 'one' } } })
        Object.assign(parent.find('DelegationFinished').event, { reason: { Error: { message: 'two' } } })
      },
      'ended Error, and its journal gives another message',
    ],
    [
      'that answered something else',
      ({ child }) => {
        Object.assign(child.find('PolicyEvaluated').event, {
          approved_calls: [{ fingerprint: 'x', action: { Respond: { content: 'it is not fine' } } }],
        })
      },
      'another output than its journal',
    ],
    [
      'whose end is of another journal',
      ({ parent }) => {
        Object.assign(parent.find('DelegationFinished').event, { audit: parent.audit })
      },
      'the end of another journal than it had begun',
    ],
    [
      'that was cut off behind its parent’s back',
      ({ child }) => {
        child.entries.length -= 1
      },
      'ended Completed, and its journal has no end',
    ],
    [
      'that was emptied',
      ({ child }) => {
        child.entries.length = 0
      },
      'ended Completed, and its journal has no end',
    ],
    [
      'that does not begin with its start',
      ({ child }) => {
        child.entries.shift()
      },
      'does not begin with the start of a run',
    ],
  ]

  test.each(rows)('%s does not match its link', async (_, change, problem) => {
    const made = oneDelegation()
    change(made)
    const { root } = await verified(made.parent)
    expect(root.children[0]).toMatchObject({ result: 'mismatch' })
    expect(root.children[0]?.problems).toEqual(expect.arrayContaining([expect.stringContaining(problem)]))
  })

  test('whose records are of another agent than its name and its link say does not match', async () => {
    const made = oneDelegation()
    made.child.sealedAs = other.child_agent_id as never
    Object.assign(made.child.find('Started').event, { agent_id: other.child_agent_id })
    const { root } = await verified(made.parent)
    expect(root.children[0]).toMatchObject({
      result: 'mismatch',
      problems: expect.arrayContaining(['its records are of another agent than its link says']),
    })
  })

  test('whose journal both sides call by a name that the runtime gives nobody does not match', async () => {
    const made = oneDelegation()
    renamed(made, '/srv/project/.symbiont/governed/other.jsonl')
    const { root } = await verified(made.parent)
    expect(root.children[0]).toMatchObject({
      result: 'mismatch',
      problems: ['its link gives its journal a name that the runtime would not give it'],
    })
  })

  test.each<TerminationReason>(['UnconfirmedEffects', { PolicyDenial: { reason: 'no' } }])(
    'that ended after a parent that ought to have waited does not match: one that ended %j',
    async (reason) => {
      const tale = new Tale()
      const parent = tale.root()
      const child = tale.delegate(parent, 'reviewer')
      tale.end(parent, reason)
      tale.end(child, 'Timeout')
      const { root } = await verified(parent)
      expect(root.children[0]).toMatchObject({ result: 'mismatch', problems: ['it ended after its parent'] })
    },
  )

  test('that is gone is missing, and the place where it should be is named', async () => {
    const folder = disk.folder()
    const { parent, child } = oneDelegation()
    parent.tale.write(folder)
    rmSync(child.pathIn(folder))
    const { root } = await verifyTree(hasty, placeOf(parent, folder))
    expect(root.children[0]).toMatchObject({
      result: 'missing',
      path: child.pathIn(folder),
      problems: ['its journal is missing'],
      report: null,
    })
    expect(root.result).toBe('verified')
  })

  test('that is sealed with another key is invalid', async () => {
    const { parent, child } = oneDelegation()
    child.key = madeKey(2)
    const { root } = await verified(parent)
    expect(root.children[0]).toMatchObject({
      result: 'invalid',
      problems: [expect.stringContaining('signature does not fit')],
    })
  })

  test('that is sealed with the key that its link names, and that nobody trusts, is a mismatch', async () => {
    const { parent, child } = oneDelegation()
    child.key = madeKey(2)
    const audit = { ...child.audit, public_key: child.key.publicHex as never }
    Object.assign(parent.find('DelegationStarted').event, { audit })
    const { root } = await verified(parent)
    expect(root.children[0]).toMatchObject({
      result: 'mismatch',
      problems: expect.arrayContaining(['its link names another public key than the trusted one']),
    })
  })

  test('that another run was put in place of is invalid', async () => {
    const folder = disk.folder()
    const { parent, child, second } = family()
    parent.tale.write(folder)
    copyFileSync(second.pathIn(folder), child.pathIn(folder))
    const { root } = await verifyTree(hasty, placeOf(parent, folder))
    expect(root.children[0]).toMatchObject({ result: 'invalid', problems: [expect.stringContaining('another run')] })
    expect(root.children[1]?.result).toBe('verified')
  })

  test('whose report contradicts itself is invalid', async () => {
    const { parent, child } = oneDelegation()
    child.tell(child.find('Started').event)
    const { root } = await verified(parent)
    expect(root.children[0]).toMatchObject({ result: 'invalid', problems: [expect.stringContaining('was terminated')] })
  })

  test('of another parent does not match the link of this one', async () => {
    const { tale, parent, child } = oneDelegation()
    const thief = tale.root('thief')
    for (const kind of ['DelegationStarted', 'DelegationFinished'] as const) thief.tell(parent.find(kind).event)
    const tree = await verified(thief)
    expect(tree.root.children[0]).toMatchObject({ run_id: child.runId, result: 'mismatch' })
    expect(tree.root.children[0]?.problems[0]).toContain('"parent_agent_id", "parent_audit.run_id"')
  })
})
