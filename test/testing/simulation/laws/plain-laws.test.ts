/** The laws that need no disk: policy, what is let go, and what breaks. */
import { describe, expect, test } from 'vitest'
import type { Scenario } from '../../../../src/testing/simulation/laws/law.ts'
import type { Seen } from '../../../../src/testing/simulation/laws/seen.ts'
import { ToldLife } from '../../../support/told-life.ts'

function complaintsAbout(seen: Seen, scenario: Partial<Scenario> = {}) {
  const life = new ToldLife(scenario)
  life.see(seen)
  return life.complaints
}

const effect = {
  kind: 'EffectBegan',
  life: 1,
  effect: 1,
  tool: 'pay',
  token: 't',
  args: { token: 't', amount: 5 },
} as const

test('an effect that policy forbids is found, by its tool and its arguments', () => {
  const allows: Scenario['allows'] = (tool, args) => tool === 'pay' && args.amount !== 5
  expect(complaintsAbout(effect, { allows }).get('policy is obeyed')).toContain('policy forbids "pay" with')
  const fine = { ...effect, args: { token: 't', amount: 4 } }
  expect(complaintsAbout(fine, { allows }).get('policy is obeyed')).toBeUndefined()
})

describe('what a journal calls allowed', () => {
  const permits: Scenario['permits'] = (policy) => policy === 'told'

  test.each([
    ['names a policy that permits', ['told'], undefined],
    ['names none', [], 'calls Respond allowed, and no policy permits it'],
    ['names one that forbids', ['told', 'tools#4'], 'calls Respond allowed, and told, tools#4 permits it'],
  ])('%s', async (_what, determining_policies, complaint) => {
    const life = new ToldLife({ permits })
    const run = life.chat('r1')
    const approved_calls = [{ action: { Respond: { content: 'fine' } }, approval: null, determining_policies }]
    run.tell({ kind: 'PolicyEvaluated', iteration: 1, action_count: 1, denied_count: 0, approved_calls })
    const said = (await life.ended())['policy is obeyed']
    if (complaint === undefined) expect(said).toBeUndefined()
    else expect(said).toContain(complaint)
  })
})

test('where no policy was left a process that never had any lets an agent answer, and nothing else', async () => {
  for (const [action, fine] of [
    [{ Respond: { content: 'fine' } }, true],
    [{ Delegate: { call_id: 'd', target: 'reviewer', message: 'look' } }, false],
  ] as const) {
    const life = new ToldLife({ areNone: (policies) => policies === 'gone' })
    life.see({ kind: 'PoliciesWritten', policies: 'gone', usable: true })
    const approved_calls = [{ action, approval: null, determining_policies: [] }]
    life.chat('r1').tell({ kind: 'PolicyEvaluated', iteration: 1, action_count: 1, denied_count: 0, approved_calls })
    expect((await life.ended())['policy is obeyed'] === undefined).toBe(fine)
  }
})

describe('policies that change', () => {
  const allows: Scenario['allows'] = (_tool, _args, policies) => policies === null
  const asked = { kind: 'Asked', client: 'a', surface: 'mcp', id: null, request: 't', token: 't' } as const
  const forbidden = { kind: 'PoliciesWritten', policies: 'strict', usable: true } as const
  const broken = { kind: 'PoliciesWritten', policies: 'broken', usable: false } as const
  const crashed = { kind: 'Crashed', life: 1, how: 'kill' } as const
  const own = { kind: 'Started', life: 1001 } as const

  test.each<[string, boolean, readonly Seen[]]>([
    ['a call that was forbidden after it was asked for', true, [asked, forbidden]],
    ['a call that was asked for after it was forbidden', false, [forbidden, asked]],
    ['a call that was asked for again after it was forbidden', false, [asked, forbidden, asked]],
    ['a call under broken policies, when better ones were in force', true, [broken, asked]],
    ['a call under broken policies, when those before forbade it', false, [crashed, forbidden, crashed, broken, asked]],
    ['a call in a process that began under broken policies', false, [broken, crashed, asked]],
    ['a call of a process that ended before it was forbidden', false, [asked, crashed, forbidden, crashed, asked]],
    ['a call of a model that was asked before it was forbidden', true, [inference(), forbidden]],
    ['a call of a model that was asked after it was forbidden', false, [forbidden, inference()]],
  ])('%s: allowed is %s', (_what, fine, story) => {
    const life = new ToldLife({ allows })
    for (const seen of story) life.see(seen)
    life.see({ ...effect, token: story.includes(asked) ? 't' : 'r1/1/0' })
    expect(life.complaints.get('policy is obeyed') === undefined).toBe(fine)
  })

  test('a disk that could not be read may have left the policies of the process as they were', () => {
    const life = new ToldLife({ allows, mayReadStale: true })
    for (const seen of [forbidden, asked, effect]) life.see(seen)
    expect(life.complaints.get('policy is obeyed')).toBeUndefined()
    for (const seen of [crashed, { ...effect, effect: 2 }]) life.see(seen)
    expect(life.complaints.get('policy is obeyed')).toContain('policy forbids')
  })

  test.each<[string, boolean, readonly Seen[]]>([
    ['was forbidden before the process that serves was gone', false, [own, forbidden, crashed, asked]],
    [
      'was forbidden after it was asked for, while the one that serves came and went',
      true,
      [own, asked, forbidden, crashed],
    ],
    [
      'is under broken policies, whose process had read better ones before the one that serves was gone',
      true,
      [own, broken, crashed, asked],
    ],
    ['is under broken policies, whose process began with them', false, [broken, own, asked]],
  ])('a call of a process that a client started for itself %s: allowed is %s', (_what, fine, story) => {
    const life = new ToldLife({ allows })
    for (const seen of story) life.see(seen)
    life.see({ ...effect, life: 1001, token: 't' })
    expect(life.complaints.get('policy is obeyed') === undefined).toBe(fine)
  })

  test('the end of a process that a client started for itself is none of the one that serves', () => {
    const life = new ToldLife({ allows })
    for (const seen of [own, broken, { ...crashed, life: 1001 }, asked, effect]) life.see(seen)
    expect(life.complaints.get('policy is obeyed')).toBeUndefined()
  })

  function inference(): Seen {
    return { kind: 'InferenceBegan', life: 1, inference: 1, subject: 'r1' }
  }
})

test('a process that ends and still holds something is found', () => {
  const closed = { kind: 'Closed', life: 1, held: { timers: 0, 'open files': 2, locks: 1 } } as const
  expect(complaintsAbout(closed).get('nothing is held')).toBe('Process 1 ended and still holds 2 open files, 1 locks')
  expect(complaintsAbout({ ...closed, held: { timers: 0 } }).get('nothing is held')).toBeUndefined()
})

test('a process that breaks is found', () => {
  const broke = complaintsAbout({ kind: 'Broke', life: 1, what: 'a promise without an owner' })
  expect(broke.get('the runtime stays up')).toBe('Process 1 broke: a promise without an owner')
})

test('a boot that fails is found, unless the disk explains its code', () => {
  const failed = { kind: 'BootFailed', life: 2, code: 'STORAGE_FAILED' } as const
  expect(complaintsAbout(failed).get('the runtime stays up')).toContain('did not boot: STORAGE_FAILED')
  const explained = complaintsAbout(failed, { bootMayFail: (code) => code === 'STORAGE_FAILED' })
  expect(explained.get('the runtime stays up')).toBeUndefined()
})

test('a call of a foreign server is judged by the policies that hold when it is sent, whenever it arrives', () => {
  const life = new ToldLife({ allows: (_tool, _args, policies) => policies === null })
  const call = { life: 1, tool: 'mcp__ledger__pay', token: 'r1/a', args: { token: 'r1/a' } } as const
  life.chat('r1')
  life.see({ kind: 'CallSent', sent: 1, ...call })
  life.see({ kind: 'PoliciesWritten', policies: 'strict', usable: true })
  life.see({ kind: 'Asked', client: 'c1', surface: 'mcp', id: null, request: 'r1', token: 'r1/a' })
  life.see({ kind: 'EffectBegan', effect: 1, sent: 1, ...call })
  expect(life.complaints.get('policy is obeyed')).toBeUndefined()
  life.see({ kind: 'CallSent', sent: 2, ...call })
  expect(life.complaints.get('policy is obeyed')).toContain('policy forbids "mcp__ledger__pay"')
})
