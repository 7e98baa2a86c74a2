import { expect, test } from 'vitest'
import { callOf, ToldLife } from '../../../support/told-life.ts'

const LAW = 'approvals are spent once'
const HANDLE = '00000000000000aa'
const OTHER = '00000000000000bb'
const OWNER = '00000000000000cc'

function newLife(): ToldLife {
  return new ToldLife({ needsApproval: (_, args) => args.token !== 'r1/free' })
}

/** What a person decided, durable first. */
function decided(life: ToldLife, decision: 'approve' | 'deny', token = 'r1/a', handle = HANDLE): void {
  life.disk.put(`approvals/held/${OWNER}.${handle}.json`, '{"version":1}\n')
  life.disk.put(`approvals/held/${OWNER}.${handle}.decision.json`, `{"decision":"${decision}"}\n`)
  life.see({ kind: 'Decided', handle, token, decision })
  life.see({ kind: 'DecisionTold', handle })
}

/** A call of a session that used this approval, and took effect. */
function called(life: ToldLife, token = 'r1/a', handle: string | null = HANDLE): void {
  const session = life.session()
  session.allowWith(handle, callOf(token))
  session.call(token)
}

const LIES: readonly [string, (life: ToldLife) => void, string][] = [
  ['an effect that nobody approved', (life) => called(life), 'and nobody decided'],
  [
    'an effect that was denied',
    (life) => {
      decided(life, 'deny')
      called(life)
    },
    `and ${HANDLE} was denied`,
  ],
  [
    'an effect with the approval of another call',
    (life) => {
      decided(life, 'approve', 'r1/b')
      called(life)
    },
    'and nobody decided',
  ],
  [
    'an approval that comes after the effect',
    (life) => {
      called(life)
      decided(life, 'approve')
    },
    'and nobody decided',
  ],
  [
    'an approval that is used twice',
    (life) => {
      decided(life, 'approve')
      called(life)
      called(life)
    },
    'was used for effect 1',
  ],
  [
    'an approval of a process that is dead',
    (life) => {
      decided(life, 'approve')
      life.see({ kind: 'Crashed', life: 1, how: 'power' })
      life.see({ kind: 'Booted', life: 2 })
      called(life)
    },
    `and ${HANDLE} ended with its process`,
  ],
  [
    'an effect whose decision names another approval',
    (life) => {
      decided(life, 'approve')
      called(life, 'r1/a', OTHER)
    },
    `names ${OTHER} in place of ${HANDLE}`,
  ],
  [
    'an effect whose decision names no approval',
    (life) => {
      decided(life, 'approve')
      called(life, 'r1/a', null)
    },
    `names null in place of ${HANDLE}`,
  ],
  [
    'a decision that counts and is not durable',
    (life) => {
      life.disk.put(`approvals/held/${OWNER}.${HANDLE}.json`, '{"version":1}\n')
      life.see({ kind: 'Decided', handle: HANDLE, token: 'r1/a', decision: 'deny' })
      life.see({ kind: 'DecisionTold', handle: HANDLE })
    },
    'it is not durable',
  ],
  [
    'a call that waits for a person and is not on the disk',
    (life) => life.told('mcp', 'r1/a', { kind: 'Pending', handle: HANDLE }),
    'no durable request of it is there',
  ],
  ['an end that is kept as a denial of nobody', (life) => kept(life, 'denied'), 'and nobody denied it'],
  [
    'an end that is kept as an approval, and was denied',
    (life) => {
      decided(life, 'deny')
      kept(life, 'spent')
    },
    'is kept as spent, and nobody approved it',
  ],
  [
    'an approval that counts though nobody came back with it',
    (life) => {
      decided(life, 'approve')
      kept(life, 'approved')
    },
    'is kept as approved, and no call was made with it',
  ],
]

/** What is kept of an approval that its asker has to come back with, when its process ends. */
function kept(life: ToldLife, ended: string): void {
  const end = { version: 1, request: { use: 'presented' }, ended }
  life.disk.put(`approvals/settled/${HANDLE}.json`, `${JSON.stringify(end)}\n`)
  life.see({ kind: 'Closed', life: 1, held: {} })
}

test.each(LIES)('%s is found', (_, tell, reason) => {
  const life = newLife()
  tell(life)
  expect(life.complaints.get(LAW)).toContain(reason)
})

test('each approval may be used once, a call may be denied and asked again, and a settled end is durable too', async () => {
  const life = newLife()
  life.disk.put(`approvals/held/${OWNER}.${HANDLE}.json`, '{"version":1}\n')
  life.told('mcp', 'r1/a', { kind: 'Pending', handle: HANDLE })
  decided(life, 'deny')
  const end = '{"ended":"denied"}\n'
  life.disk.put(`approvals/settled/${HANDLE}.json`, end)
  life.disk.remove(`approvals/held/${OWNER}.${HANDLE}.json`)
  life.disk.remove(`approvals/held/${OWNER}.${HANDLE}.decision.json`)
  life.told('mcp', 'r1/a', { kind: 'Pending', handle: HANDLE })
  const [late, inTime] = ['00000000000000dd', OTHER]
  decided(life, 'approve', 'r1/a', late)
  decided(life, 'approve', 'r1/a', inTime)
  called(life, 'r1/a', OTHER)
  called(life, 'r1/free', null)
  expect(await life.ended()).toEqual({})
})
