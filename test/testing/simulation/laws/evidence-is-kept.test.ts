import { expect, test } from 'vitest'
import { ToldLife, type ToldRun } from '../../../support/told-life.ts'

const LAW = 'evidence is kept'
const HELD = 'approvals/held/00000000000000cc.00000000000000aa'
const SETTLED = 'approvals/settled/00000000000000aa.json'

/** Changes one byte of what is durable. */
function spoil(life: ToldLife, path: string, at: number): void {
  const bytes = Buffer.from(life.disk.bytes(path))
  bytes[at] = (bytes[at] ?? 0) ^ 1
  life.disk.put(path, bytes)
}

function cut(life: ToldLife, path: string): void {
  life.disk.put(path, life.disk.bytes(path).subarray(0, -1))
}

const LIES: readonly [string, (life: ToldLife, run: ToldRun) => void, string][] = [
  ['a journal that is gone', (life, run) => life.disk.remove(run.path), 'is gone'],
  ['a journal that was cut', (life, run) => cut(life, run.path), 'are not the first of the'],
  ['a journal that was changed', (life, run) => spoil(life, run.path, 100), 'are not the first of the'],
  ['a claim that is gone', (life, run) => life.disk.remove(run.claimPath), 'is gone'],
  ['a claim that was cut', (life, run) => cut(life, run.claimPath), 'are not the first of the'],
  ['a claim that was changed', (life, run) => spoil(life, run.claimPath, 10), 'are not the first of the'],
  [
    'a key that was replaced',
    (life) => life.disk.put('governed/audit-signing.key', Buffer.alloc(32, 2)),
    'audit-signing.key was',
  ],
  [
    'a key that has grown',
    (life) => life.disk.put('governed/audit-signing.key', Buffer.alloc(33, 1)),
    'audit-signing.key was',
  ],
  ['a settled approval that is gone', (life) => life.disk.remove(SETTLED), 'is gone'],
  [
    'a settled approval that was changed',
    (life) => life.disk.put(SETTLED, '{"ended":"withdrawn"}\n'),
    'are not the first of the',
  ],
  ['a held request that ended nowhere', (life) => life.disk.remove(`${HELD.replace('aa', 'dd')}.json`), 'is gone'],
  ['a decision that ended nowhere', (life) => life.disk.remove(`${HELD.replace('aa', 'dd')}.decision.json`), 'is gone'],
  [
    'an end that was settled as another',
    (life) => {
      life.disk.remove(`${HELD.replace('aa', 'ee')}.end.json`)
      life.disk.put(SETTLED.replace('aa', 'ee'), '{"ended":"withdrawn"}\n')
    },
    'is gone',
  ],
]

/** A life in which something of everything is durable, and has been seen. */
function fullLife(): { readonly life: ToldLife; readonly run: ToldRun } {
  const life = new ToldLife()
  life.disk.put(SETTLED, '{"ended":"expired"}\n')
  life.disk.put(`${HELD.replace('aa', 'dd')}.json`, '{"version":1}\n')
  life.disk.put(`${HELD.replace('aa', 'dd')}.decision.json`, '{"decision":"approve"}\n')
  life.disk.put(`${HELD.replace('aa', 'ee')}.end.json`, '{"ended":"expired"}\n')
  life.disk.put('governed/.audit-signing.key.00.tmp', 'a rest')
  life.disk.put('invocations/store.lock', '')
  const run = life.wholeChat()
  life.see({ kind: 'Crashed', life: 1, how: 'power' })
  return { life, run }
}

test.each(LIES)('%s is found', async (_, tell, reason) => {
  const { life, run } = fullLife()
  expect(life.complaints.get(LAW)).toBeUndefined()
  tell(life, run)
  expect((await life.ended())[LAW]).toContain(reason)
})

test('what comes back after it was gone was gone', () => {
  const { life, run } = fullLife()
  const bytes = life.disk.bytes(run.path)
  life.disk.remove(run.path)
  life.see({ kind: 'Booted', life: 2 })
  life.disk.put(run.path, bytes)
  expect(life.complaints.get(LAW)).toContain('is gone')
})

test('evidence may grow, temporary names and locks may go, and an approval moves from held over its end to settled', async () => {
  const { life } = fullLife()
  life.disk.remove('governed/.audit-signing.key.00.tmp')
  life.disk.remove('invocations/store.lock')
  const end = '{"ended":"expired"}\n'
  life.disk.put(`${HELD.replace('aa', 'dd')}.end.json`, end)
  life.disk.remove(`${HELD.replace('aa', 'dd')}.json`)
  life.disk.remove(`${HELD.replace('aa', 'dd')}.decision.json`)
  life.see({ kind: 'Booted', life: 2 })
  life.disk.put(SETTLED.replace('aa', 'dd'), end)
  life.disk.remove(`${HELD.replace('aa', 'dd')}.end.json`)
  life.disk.put(SETTLED.replace('aa', 'ee'), '{"ended":"expired"}\n')
  life.disk.remove(`${HELD.replace('aa', 'ee')}.end.json`)
  life.wholeChat('r2')
  expect(await life.ended()).toEqual({})
})
