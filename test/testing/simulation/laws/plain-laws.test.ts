/** The laws that need no disk: policy, what is let go, and what breaks. */
import { expect, test } from 'vitest'
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

test('what policy says counts in the moment of the effect', () => {
  let permitted = true
  const life = new ToldLife({ allows: () => permitted })
  life.see(effect)
  expect(life.complaints.get('policy is obeyed')).toBeUndefined()
  permitted = false
  life.see({ ...effect, effect: 2 })
  expect(life.complaints.get('policy is obeyed')).toContain('policy forbids')
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
