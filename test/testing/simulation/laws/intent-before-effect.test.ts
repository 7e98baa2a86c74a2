import { expect, test } from 'vitest'
import { digest, type Json, type JsonObject } from '../../../../src/core/index.ts'
import { callOf, delegationTo, ToldLife, type ToldRun } from '../../../support/told-life.ts'

const LAW = 'intent before effect'

/** A chat whose model has asked for this call, and nothing of that is durable yet. */
function proposed(life: ToldLife, token = 'r1/a'): ToldRun {
  const run = life.chat('r1')
  run.infer(callOf(token))
  return run
}

const LIES: readonly [string, (life: ToldLife) => void, string][] = [
  ['an effect that nothing allowed', (life) => life.effect('r1/a'), 'no durable entry allows a call with it'],
  [
    'an effect whose decision is not durable yet',
    (life) => {
      proposed(life)
      life.effect('r1/a')
    },
    'no durable entry allows a call with it',
  ],
  [
    'an effect that was allowed, and has no durable intent',
    (life) => {
      proposed(life).sync()
      life.effect('r1/a')
    },
    'no intent of it is durable',
  ],
  [
    'an effect with the intent of another call',
    (life) => {
      proposed(life).intend('r1/b')
      life.effect('r1/a')
    },
    'no intent of it is durable',
  ],
  [
    'an effect whose intent stands before the decision',
    (life) => {
      const run = life.chat('r1')
      run.openBudget()
      run.intend('r1/a')
      run.propose(callOf('r1/a'))
      run.allow(callOf('r1/a'))
      run.sync()
      life.effect('r1/a')
    },
    'no intent of it is durable',
  ],
  [
    'an effect with other arguments than were judged',
    (life) => {
      proposed(life).intend('r1/a')
      life.effect('r1/a', 'done', { args: { token: 'r1/a', amount: 5 } })
    },
    'for the arguments {"token":"r1/a"}, and they were {"amount":5,"token":"r1/a"}',
  ],
  [
    'an effect of another tool than was judged',
    (life) => {
      proposed(life).intend('r1/a')
      life.effect('r1/a', 'done', { tool: 'burn' })
    },
    'for the tool "pay", and it was "burn"',
  ],
  [
    'an effect that begins again after its receipt',
    (life) => {
      const run = proposed(life)
      run.tell(run.intend('r1/a'))
      life.effect('r1/a')
    },
    'was finished by entry 7 before',
  ],
  [
    'a call that was allowed and that no model proposed',
    (life) => {
      const run = life.chat('r1')
      run.openBudget()
      run.allow(callOf('r1/a'))
      run.intend('r1/a')
      life.effect('r1/a')
    },
    'no entry before it proposes the call',
  ],
  [
    'an effect of a run that has ended',
    (life) => {
      const run = proposed(life)
      run.intend('r1/a')
      run.end()
      life.effect('r1/a')
    },
    'its run had ended',
  ],
  [
    'a call that was sent to a foreign server without its intent, though that is durable when it arrives',
    (life) => {
      const run = proposed(life)
      run.sync()
      const sent = life.send('r1/a')
      run.intend('r1/a')
      life.effect('r1/a', 'done', { sent })
    },
    'no intent of it is durable',
  ],
  [
    'a call that is sent to a foreign server by a run that has ended, and never arrives',
    (life) => {
      const run = proposed(life)
      run.intend('r1/a')
      run.end()
      life.send('r1/a')
    },
    'its run had ended',
  ],
  [
    'an effect of a delegated run that nobody meant to begin',
    (life) => {
      const parent = life.chat('r1')
      parent.openBudget()
      const child = parent.delegate('reviewer', undefined, 'untold')
      child.start()
      child.linkBudget()
      child.infer(callOf('r1/a'))
      child.intend('r1/a')
      life.effect('r1/a')
    },
    'has no durable intent of it',
  ],
  ['an inference without a reservation', (life) => ask(life), 'no open reservation of it is durable'],
  [
    'an inference whose reservation is settled',
    (life) => {
      const run = life.chat('r1')
      run.tell(run.reserve({ hash: digest('asked') }))
      ask(life)
    },
    'no open reservation of it is durable',
  ],
  [
    'an inference with the reservation of another request',
    (life) => {
      life.chat('r1').reserve({ hash: digest('another') })
      ask(life)
    },
    'no open reservation of it is durable',
  ],
  [
    'two inferences with one reservation',
    (life) => {
      life.chat('r1').reserve({ hash: digest('asked') })
      ask(life)
      ask(life)
    },
    'Inference 2 about "r1" began',
  ],
  [
    'an inference of a delegated run that nobody meant to begin',
    (life) => {
      const parent = life.chat('r1')
      parent.openBudget()
      const child = parent.delegate('reviewer', undefined, 'untold')
      child.start()
      child.reserve({ hash: digest('asked'), budget: 'opened' })
      ask(life, 'r1/reviewer')
    },
    'has no durable intent of it',
  ],
]

function ask(life: ToldLife, subject = 'r1'): void {
  const requestHash = digest('asked')
  life.see({ kind: 'InferenceBegan', life: 1, inference: life.number(), subject, requestHash })
}

test.each(LIES)('%s is found', (_, tell, reason) => {
  const life = new ToldLife()
  tell(life)
  expect(life.complaints.get(LAW)).toContain(reason)
})

test('a call that was sent in time may arrive after the end of its run', () => {
  const life = new ToldLife()
  const run = proposed(life)
  run.intend('r1/a')
  const sent = life.send('r1/a')
  run.end()
  life.effect('r1/a', 'done', { sent })
  expect([...life.complaints.keys()]).toEqual([])
})

test('without its hash an inference may use an open reservation of the run that was asked, and each once', () => {
  const life = new ToldLife()
  const [first, second] = [life.chat('r1'), life.chat('r2')]
  first.reserve()
  const inferred = { kind: 'InferenceBegan', life: 1, inference: 1, subject: 'r1' } as const
  life.see(inferred)
  expect(life.complaints.get(LAW)).toBeUndefined()
  second.reserve()
  second.delegate('reviewer').reserve({ budget: 'opened' })
  life.see({ ...inferred, inference: 2 })
  expect(life.complaints.get(LAW)).toContain('Inference 2 about "r1" began, and no open reservation')
})

test('an inference for a delegated run does not use the reservation of its root', () => {
  const life = new ToldLife()
  const run = life.chat('r1')
  run.reserve()
  life.see({ kind: 'InferenceBegan', life: 1, inference: 1, subject: 'r1/1/0' })
  expect(life.complaints.get(LAW)).toContain('about "r1/1/0" began, and no open reservation')
})

test('a request over HTTP has an intent of its own, and the other side sees a part of what was judged', () => {
  const url = 'http://bank.example/pay?token=r1%2Fa'
  const action = {
    ToolCall: { call_id: 'c', name: 'http_request', arguments: JSON.stringify({ body: 'b', method: 'POST', url }) },
  }
  const tell = (began: (run: ToldRun) => void, args: JsonObject = { method: 'POST', url }) => {
    const life = new ToldLife()
    const run = life.chat('r1')
    run.infer(action)
    run.dispatch(action)
    began(run)
    life.effect('r1/a', 'done', { tool: 'http_request', args })
    return life.complaints.get(LAW)
  }
  const meant = (run: ToldRun): void => {
    const request = { request_id: 'q', method: 'POST', url, request_hash: 'h', request_bytes: 0 }
    const started = {
      run_key: 'k',
      call_fingerprint: digest(action as unknown as Json),
      effect: { NetworkRequestStarted: request },
    }
    run.tell({ kind: 'ToolEffect', ...started } as never)
  }
  expect(tell(meant)).toBeUndefined()
  expect(tell(() => undefined)).toContain('has no durable intent of the request itself')
  expect(tell(meant, { method: 'GET', url })).toContain('and they were {"method":"GET"')
})

test('the effect of a delegated run is found in order when its intent and that of its parent are durable', async () => {
  const life = new ToldLife()
  const parent = life.chat('r1')
  parent.infer(delegationTo('reviewer'))
  const child = parent.delegate('reviewer')
  child.start()
  child.linkBudget()
  child.infer(callOf('r1/a'))
  child.call('r1/a')
  child.infer({ Respond: { content: 'fine' } })
  child.end()
  parent.finish(child)
  const answer = { source: 'delegate:reviewer', content: 'fine', is_error: false, call_id: 'call reviewer' }
  parent.stage(...parent.batchOf([answer]))
  parent.infer({ Respond: { content: 'all fine' } })
  parent.end()
  parent.result('all fine')
  life.told('chat', parent.id, { kind: 'Done', content: 'all fine', replayed: false })
  expect(await life.ended()).toEqual({})
})
