import { expect, test } from 'vitest'
import { digest } from '../../../../src/core/index.ts'
import { callOf, ToldLife, type ToldRun } from '../../../support/told-life.ts'

const LAW = 'stop after uncertainty'

/** A chat whose first call ended like this, and nothing of it is written. */
function chatAfter(life: ToldLife, answer: 'done' | 'not done' | 'error' | 'thrown' | null, late = false): ToldRun {
  const run = life.chat('r1')
  run.infer(callOf('r1/a'))
  run.intend('r1/a')
  life.effect('r1/a', answer, { late })
  return run
}

/** The next call of the run, which should not begin. */
function another(run: ToldRun): void {
  run.propose(callOf('r1/b'))
  run.allow(callOf('r1/b'))
  run.intend('r1/b')
  run.life.effect('r1/b')
}

const LIES: readonly [string, (life: ToldLife) => void, string][] = [
  [
    'an intent behind an unconfirmed receipt',
    (life) => {
      const run = life.chat('r1')
      run.infer(callOf('r1/a'))
      run.tell(run.intend('r1/a', true))
      run.intend('r1/b')
    },
    'starts an effect in entry 8, and entry 7 is an unconfirmed outcome',
  ],
  [
    'a reservation behind a delegated run that did not complete',
    (life) => {
      const run = life.chat('r1')
      run.openBudget()
      run.finish(run.delegate('reviewer'), 'Timeout')
      run.reserve({ budget: 'opened' })
    },
    'starts an effect in entry 4, and entry 3 is an unconfirmed outcome',
  ],
  [
    'a request behind another that failed',
    (life) => {
      const run = life.session()
      const finished = { request_id: 'q', status: null, response_hash: null, response_headers_hash: null }
      const started = { request_id: 'p', method: 'GET', url: 'u', request_hash: 'h', request_bytes: 0 }
      const tell = (effect: object): void =>
        run.tell({ kind: 'ToolEffect', run_key: 'k', call_fingerprint: digest('c'), effect } as never)
      tell({ NetworkRequestFinished: { ...finished, response_bytes: 0, error: 'gone' } })
      tell({ NetworkRequestStarted: started })
    },
    'starts an effect in entry 2, and entry 1 is an unconfirmed outcome',
  ],
  [
    'an effect of a run whose journal says that an outcome is unconfirmed',
    (life) => {
      const run = chatAfter(life, 'error')
      run.tell(run.intend('r1/x', true))
      another(run)
    },
    'The effect of token "r1/b" began, and entry 8 of',
  ],
  ['an effect after an error', (life) => another(chatAfter(life, 'error')), 'the outcome of "r1/a" before it'],
  ['an effect after a throw', (life) => another(chatAfter(life, 'thrown')), 'the outcome of "r1/a" before it'],
  [
    'an effect after a late answer',
    (life) => another(chatAfter(life, 'done', true)),
    'the outcome of "r1/a" before it',
  ],
  [
    'an effect while another of an earlier step is open',
    (life) => another(chatAfter(life, null)),
    'the outcome of "r1/a"',
  ],
  [
    'an effect behind one of the same step that failed',
    (life) => {
      const run = life.chat('r1')
      run.infer(callOf('r1/a'), callOf('r1/b'))
      run.intend('r1/a')
      run.intend('r1/b')
      life.effect('r1/a', 'error')
      life.effect('r1/b')
    },
    'the outcome of "r1/a" before it',
  ],
  [
    'an effect while a call of an earlier step is on its way to a foreign server',
    (life) => {
      const run = life.chat('r1')
      run.infer(callOf('r1/a'))
      run.intend('r1/a')
      life.send('r1/a')
      another(run)
    },
    'the outcome of "r1/a" before it',
  ],
  [
    'an effect after a call of a foreign server that arrived and failed',
    (life) => {
      const run = life.chat('r1')
      run.infer(callOf('r1/a'))
      run.intend('r1/a')
      life.effect('r1/a', 'error', { sent: life.send('r1/a') })
      another(run)
    },
    'the outcome of "r1/a" before it',
  ],
  [
    'an effect of the parent after one of its child that failed',
    (life) => {
      const parent = life.chat('r1')
      parent.openBudget()
      const child = parent.delegate('reviewer')
      child.start()
      child.linkBudget()
      child.reserve({ budget: 'opened' })
      child.propose(callOf('r1/a'))
      child.allow(callOf('r1/a'))
      child.intend('r1/a')
      life.effect('r1/a', 'thrown')
      another(parent)
    },
    'the outcome of "r1/a" before it',
  ],
  [
    'an inference of a run whose journal says that an outcome is unconfirmed',
    (life) => {
      const run = life.chat('r1')
      run.openBudget()
      run.finish(run.delegate('reviewer'), 'Timeout')
      run.reserve({ budget: 'opened', hash: digest('asked') })
      life.see({ kind: 'InferenceBegan', life: 1, inference: 1, subject: 'r1', requestHash: digest('asked') })
    },
    'Inference 1 about "r1" began, and entry 3 of',
  ],
]

test.each(LIES)('%s is found', async (_, tell, reason) => {
  const life = new ToldLife()
  tell(life)
  expect((await life.ended())[LAW]).toContain(reason)
})

test('a call that was sent before an outcome was unconfirmed may arrive behind it', () => {
  const life = new ToldLife()
  const run = life.chat('r1')
  run.infer(callOf('r1/a'))
  run.intend('r1/a')
  const sent = life.send('r1/a')
  run.end({ Error: { message: 'the outcome is not known' } })
  life.effect('r1/a', 'done', { sent })
  expect(life.complaints.get(LAW)).toBeUndefined()
})

test('calls of one step may run side by side, and a known refusal stops nothing', () => {
  const life = new ToldLife()
  const run = life.chat('r1')
  run.infer(callOf('r1/a'), callOf('r1/b'))
  run.intend('r1/a')
  run.intend('r1/b')
  life.effect('r1/a', null)
  life.effect('r1/b')
  const other = life.chat('r2')
  other.infer(callOf('r2/a'))
  other.intend('r2/a')
  life.effect('r2/a', 'not done')
  other.infer(callOf('r2/b'))
  other.call('r2/b')
  expect(life.complaints.get(LAW)).toBeUndefined()
})
