import { expect, test } from 'vitest'
import { callOf, observationOf, ToldLife, ToldRun } from '../../../support/told-life.ts'

const LAW = 'at most once'
const CHAT = 'ws:chat:v1'

const LIES: readonly [string, (life: ToldLife) => void, string][] = [
  [
    'an effect that begins twice',
    (life) => {
      life.wholeChat()
      life.effect('r1/a')
    },
    'began a second time',
  ],
  [
    'an effect that begins again in another process',
    (life) => {
      life.wholeChat()
      life.see({ kind: 'Crashed', life: 1, how: 'kill' })
      life.see({ kind: 'Booted', life: 2 })
      life.effect('r1/a')
    },
    'began a second time',
  ],
  [
    'an effect of a run for an id that nothing claims',
    (life) => {
      const run = life.chat('r1')
      life.disk.remove(run.claimPath)
      run.infer(callOf('r1/a'))
      run.call('r1/a')
    },
    'no durable claim of it is there',
  ],
  [
    'an effect of a run whose claim does not name its journal yet',
    (life) => {
      const run = life.chat('r1')
      run.claim('chat', 1)
      run.infer(callOf('r1/a'))
      run.call('r1/a')
    },
    'does not name its journal',
  ],
  [
    'a run for an id that another run claims',
    (life) => {
      const first = life.chat('r1')
      const second = new ToldRun(life, { invocation: { id: first.id, scope: CHAT } })
      second.start()
      second.openBudget()
      second.infer(callOf('r1/a'))
      second.call('r1/a')
    },
    'its claim names the run',
  ],
  [
    'two claims of one id',
    (life) => {
      const run = life.chat('r1')
      life.disk.put('invocations/copy.jsonl', life.disk.bytes(run.claimPath))
    },
    'Two claims are for',
  ],
  [
    'one run that two ids claim',
    (life) => {
      const run = life.chat('r1')
      const text = life.disk.bytes(run.claimPath).toString()
      life.disk.put('invocations/other.jsonl', text.replaceAll(run.id, life.id()))
    },
    'Two claims are for',
  ],
  [
    'two journals for one id',
    (life) => {
      const first = life.chat('r1')
      const second = new ToldRun(life, { invocation: { id: first.id, scope: CHAT } })
      second.start()
      life.see({ kind: 'Crashed', life: 1, how: 'power' })
    },
    'Two journals are of the run for',
  ],
  [
    'an id that is opened with one journal and then with another',
    (life) => {
      const run = life.chat('r1')
      const other = life.session()
      life.told('chat', run.id, { kind: 'Opened', journal: other.name })
    },
    'was said to be run by',
  ],
  [
    'two calls of a session under one id',
    (life) => {
      const session = life.session()
      for (const token of ['r1/a', 'r1/a']) {
        session.allow(callOf(token))
        session.tell(session.intend(token), session.batch(token))
      }
    },
    'Entry 5 of',
  ],
  [
    'a call with an id under the id of one without',
    (life) => {
      const session = life.session()
      session.allow({ ToolCall: { call_id: 'call call', name: 'pay', arguments: '{}' } })
      session.delegate('call', { id: life.id(), scope: 'mcp:call:v1' })
    },
    'is of a call "call call", as entry 1 was',
  ],
]

test.each(LIES)('%s is found', async (_, tell, reason) => {
  const life = new ToldLife()
  tell(life)
  expect((await life.ended())[LAW]).toContain(reason)
})

test('the same id under two scopes is two ids', async () => {
  const life = new ToldLife()
  const run = life.wholeChat()
  const session = life.session()
  const call = session.delegate('call', { id: run.id, scope: 'mcp:call:v1' })
  call.claim('identified')
  call.start()
  call.end()
  session.finish(call)
  session.end()
  expect(await life.ended()).toEqual({})
})

test('a model may use the id of a call in each of its replies', async () => {
  const life = new ToldLife()
  const run = life.chat('r1')
  for (const token of ['r1/a', 'r1/b']) {
    const call = { ToolCall: { call_id: 'the same', name: 'pay', arguments: JSON.stringify({ token }) } }
    run.infer(call)
    const receipt = run.dispatch(call)
    life.effect(token)
    run.tell(receipt, ...run.batchOf([{ ...observationOf(token), call_id: 'the same' }]))
  }
  expect(await life.ended()).toEqual({})
})

test('a call that is sent twice to a foreign server is found, also when it arrives once; one that arrives once is none', () => {
  const sentTimes = (times: number): string | undefined => {
    const life = new ToldLife()
    const call = { life: 1, tool: 'mcp__ledger__pay', token: 'r1/a', args: { token: 'r1/a' } } as const
    for (let sent = 1; sent <= times; sent += 1) life.see({ kind: 'CallSent', sent, ...call })
    life.see({ kind: 'EffectBegan', effect: 1, sent: 1, ...call })
    return life.complaints.get('at most once')
  }
  expect(sentTimes(1)).toBeUndefined()
  expect(sentTimes(2)).toBe('The effect of token "r1/a" began a second time')
})
