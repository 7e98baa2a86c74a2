import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Event } from '../../../../src/events/index.ts'
import { callOf, PROJECT, ToldLife, type ToldRun } from '../../../support/told-life.ts'

const LAW = 'unknown is no success'

/** A chat with one call, up to its saved result; the twist takes the place of what the tool did and what was written of it. */
function toldDone(
  life: ToldLife,
  call: (run: ToldRun) => void,
  end: (run: ToldRun) => void = (run) => run.end(),
  tool = 'pay',
): void {
  const run = life.chat('r1')
  run.infer(callOf('r1/a', tool))
  call(run)
  run.infer({ Respond: { content: 'fine' } })
  end(run)
  run.result('fine')
  life.told('chat', run.id, done('fine'))
}

function done(content: string, replayed = false) {
  return { kind: 'Done', content, replayed } as const
}

/** A session's call of this token, up to its durable receipt. */
function sessionCall(life: ToldLife, token: string): ToldRun {
  const session = life.session()
  life.see({ kind: 'Asked', client: 'c1', surface: 'mcp', id: null, request: 'r1', token })
  session.allow(callOf(token))
  session.call(token)
  session.sync()
  return session
}

/** A call with an id in a session, up to its saved result, whose tool answered this. */
function identifiedCall(life: ToldLife, answer: 'done' | 'not done', saved = 'did r1/a'): ToldRun {
  const session = life.session()
  const run = session.delegate('call', { id: life.id(), scope: 'mcp:call:v1' })
  run.claim('identified')
  run.start()
  run.allow(callOf('r1/a'))
  const receipt = run.intend('r1/a')
  life.effect('r1/a', answer)
  run.stage(receipt, run.batch('r1/a'))
  run.end()
  run.result('', { observation: { content: saved } })
  return run
}

const FOREIGN = 'mcp__ledger__pay'

/** A chat whose call has a receipt of success, and this result of it. */
function toldNotSent(
  life: ToldLife,
  { about = 'r1/a', tool = FOREIGN, source = FOREIGN, outcome = 'not_done' } = {},
): void {
  const call = (run: ToldRun): void => {
    const receipt = run.dispatch(callOf('r1/a', tool))
    const observation = { source, content: 'it was not sent', is_error: false, call_id: `call ${about}` }
    const duration = { secs: 0, nanos: 1 }
    const observations = [{ ...observation, metadata: { tool_outcome: outcome } }]
    run.stage(receipt, { kind: 'ToolBatchCompleted', iteration: run.iteration, observations, duration } as Event)
  }
  toldDone(life, call, undefined, tool)
}

/** A chat that is cut off behind the receipt of its call, before the record of the batch. */
function cutOff(life: ToldLife, tool: string): void {
  const run = life.chat('r1')
  run.infer(callOf('r1/a', tool))
  run.stage(run.dispatch(callOf('r1/a', tool)))
  run.sync()
}

const LIES: readonly [string, (life: ToldLife) => void, string][] = [
  [
    'a success without a saved result',
    (life) => {
      const run = life.chat('r1')
      run.end()
      life.told('chat', run.id, done('fine'))
    },
    'has no durable result',
  ],
  ['a success of an id that nothing claims', (life) => life.told('chat', life.id(), done('fine')), 'no durable claim'],
  [
    'a success in other words than were saved',
    (life) => {
      const run = life.chat('r1')
      run.end()
      run.result('fine')
      life.told('chat', run.id, done('great'))
    },
    'says "fine"',
  ],
  [
    'a success of a run without an end',
    (life) =>
      toldDone(
        life,
        (run) => run.call('r1/a'),
        (run) => run.sync(),
      ),
    'has no end',
  ],
  [
    'a success of a run that did not complete',
    (life) =>
      toldDone(
        life,
        (run) => run.call('r1/a'),
        (run) => run.end('Timeout'),
      ),
    'ended with "Timeout"',
  ],
  [
    'a success with a call that has no receipt',
    (life) =>
      toldDone(life, (run) => {
        run.intend('r1/a')
        life.effect('r1/a')
      }),
    'does not know what entry 6 did',
  ],
  [
    'a success with a call that was allowed and never begun',
    (life) => toldDone(life, () => undefined),
    'has no intent of what entry 5 allowed',
  ],
  [
    'a success with an open reservation',
    (life) =>
      toldDone(life, (run) => {
        run.call('r1/a')
        run.reserve({ hash: 'sha256:other' })
      }),
    'has the open reservation',
  ],
  [
    'a success with a delegated run that did not complete',
    (life) =>
      toldDone(life, (run) => {
        run.call('r1/a')
        run.finish(run.delegate('reviewer'), 'Timeout')
      }),
    'does not know how the run of entry 11 ended',
  ],
  [
    'a success with a request of a tool that did not come back',
    (life) =>
      toldDone(life, (run) => {
        run.call('r1/a')
        const request = { request_id: 'q', method: 'GET', url: 'u', request_hash: 'h', request_bytes: 0 }
        const effect = { NetworkRequestStarted: request }
        run.stage({ kind: 'ToolEffect', run_key: 'k', call_fingerprint: 'sha256:0', effect } as never)
      }),
    'has the open effect of a request',
  ],
  [
    'a receipt of success for a tool that failed',
    (life) =>
      toldDone(life, (run) => {
        const receipt = run.intend('r1/a')
        life.effect('r1/a', 'error')
        run.stage(receipt)
      }),
    'calls "r1/a" a success, and its tool failed or was late',
  ],
  [
    'a receipt of success for a tool that threw',
    (life) =>
      toldDone(life, (run) => {
        const receipt = run.intend('r1/a')
        life.effect('r1/a', 'thrown')
        run.stage(receipt)
      }),
    'its tool failed or was late',
  ],
  [
    'a receipt of success for a tool that was late',
    (life) =>
      toldDone(life, (run) => {
        const receipt = run.intend('r1/a')
        life.effect('r1/a', 'done', { late: true })
        run.stage(receipt)
      }),
    'its tool failed or was late',
  ],
  [
    'a receipt of success for a tool that never answered',
    (life) =>
      toldDone(life, (run) => {
        const receipt = run.intend('r1/a')
        life.effect('r1/a', null)
        run.stage(receipt)
      }),
    'its tool never answered',
  ],
  [
    'a receipt of success for an effect that never began',
    (life) => toldDone(life, (run) => run.stage(run.intend('r1/a'))),
    'its effect never began',
  ],
  [
    'a call of a foreign server that was never sent and is recorded as done',
    (life) => toldNotSent(life, { outcome: 'done' }),
    'its effect never began',
  ],
  [
    'a call of a foreign server that was never sent, while another one is recorded as not done',
    (life) => toldNotSent(life, { about: 'r1/b' }),
    'its effect never began',
  ],
  [
    'a call of a tool of our own that never began and is recorded as not done',
    (life) => toldNotSent(life, { tool: 'pay', source: 'pay' }),
    'its effect never began',
  ],
  [
    'a call of a tool of our own that never began and is recorded as not done by a foreign server',
    (life) => toldNotSent(life, { tool: 'pay' }),
    'its effect never began',
  ],
  [
    'a receipt of success for a tool of our own that never began, in a run that was cut off behind it',
    (life) => cutOff(life, 'pay'),
    'its effect never began',
  ],
  [
    'a receipt of success for a foreign server that never answered, in a run that was cut off behind it',
    (life) => {
      life.effect('r1/a', null, { tool: FOREIGN })
      cutOff(life, FOREIGN)
    },
    'its tool never answered',
  ],
  [
    'a call of a foreign server that was sent, never answered, and is recorded as not done',
    (life) => {
      life.effect('r1/a', null, { tool: FOREIGN })
      toldNotSent(life)
    },
    'its tool never answered',
  ],
  [
    'a receipt of success in a run that told nobody',
    (life) => {
      const run = life.chat('r1')
      run.infer(callOf('r1/a'))
      const receipt = run.intend('r1/a')
      life.effect('r1/a', null)
      run.tell(receipt)
    },
    'its tool never answered',
  ],
  [
    'a receipt of success deep in a delegated run',
    (life) =>
      toldDone(life, (run) => {
        run.call('r1/a')
        const child = run.delegate('reviewer')
        child.start()
        child.linkBudget()
        child.infer(callOf('r1/b'))
        const receipt = child.intend('r1/b')
        life.effect('r1/b', null)
        child.stage(receipt)
        child.end()
        run.finish(child)
      }),
    'A client was told that the request',
  ],
  [
    'a done call without an id that has no receipt',
    (life) => {
      const session = life.session()
      session.allow(callOf('r1/a'))
      session.intend('r1/a')
      life.effect('r1/a')
      life.told('mcp', 'r1/a', done('did r1/a'))
    },
    'no durable receipt of it is there',
  ],
  [
    'a done call without an id that has no recorded result',
    (life) => {
      const session = life.session()
      session.allow(callOf('r1/a'))
      const receipt = session.intend('r1/a')
      life.effect('r1/a')
      session.tell(receipt)
      life.told('mcp', 'r1/a', done('did r1/a'))
    },
    'has no durable result of "call r1/a"',
  ],
  [
    'a done call without an id in other words than its result',
    (life) => {
      sessionCall(life, 'r1/a')
      life.told('mcp', 'r1/a', done('did more'))
    },
    'says "did r1/a" of "call r1/a", and not "did more"',
  ],
  [
    'a done call without an id whose tool did not do it',
    (life) => {
      const session = life.session()
      session.allow(callOf('r1/a'))
      const receipt = session.intend('r1/a')
      life.effect('r1/a', 'not done')
      session.tell(receipt, session.batch('r1/a'))
      life.told('mcp', 'r1/a', done('did r1/a'))
    },
    'its tool had not said so in time, but not done',
  ],
  ['a done call whose effect never began', (life) => life.told('mcp', 'r1/a', done('did')), 'its effect never began'],
  [
    'a call with an id of which nothing was executed, in the end, and its effect began',
    (life) => {
      const run = identifiedCall(life, 'done')
      const answer = { kind: 'Refused', code: 'TOOL_UNKNOWN' } as const
      life.see({ kind: 'Settled', surface: 'identified', id: run.id, request: 'r1/a', answer })
    },
    'that nothing was executed, and the code is TOOL_UNKNOWN, and its effect had begun',
  ],
  [
    'a refused call without an id whose effect began',
    (life) => {
      sessionCall(life, 'r1/a')
      life.told('mcp', 'r1/a', { kind: 'Refused', code: 'POLICY_DENIED' })
    },
    'the code is POLICY_DENIED, and its effect had begun',
  ],
  [
    'a call that is said to be not done, and was',
    (life) => {
      sessionCall(life, 'r1/a')
      life.told('mcp', 'r1/a', { kind: 'Failed', code: 'CALL_NOT_DONE' })
    },
    'its tool said done',
  ],
  [
    'a done call with an id whose tool did not do it',
    (life) => {
      const run = identifiedCall(life, 'not done')
      life.told('identified', run.id, done('did r1/a'))
    },
    'did not say that it was done',
  ],
  [
    'a request that is done once and then differently',
    (life) => {
      const run = life.wholeChat()
      life.told('chat', run.id, done('something else', true))
    },
    'and later done with "something else"',
  ],
  [
    'a request that is done and later unresolved',
    (life) => {
      const run = life.wholeChat()
      life.told('chat', run.id, { kind: 'Unknown', code: 'INVOCATION_UNRESOLVED' })
    },
    'and later Unknown with INVOCATION_UNRESOLVED',
  ],
  [
    'a request that is done and later failed',
    (life) => {
      const run = life.wholeChat()
      life.told('chat', run.id, { kind: 'Failed', code: 'LOOP_ERROR' })
    },
    'and later Failed with LOOP_ERROR',
  ],
  [
    'a request that is not done and later done',
    (life) => {
      const run = identifiedCall(life, 'done')
      life.told('identified', run.id, { kind: 'Failed', code: 'CALL_NOT_DONE' })
      life.told('identified', run.id, done('did r1/a'))
    },
    'was told as CALL_NOT_DONE, and later done with "did r1/a"',
  ],
  [
    'a request that is unresolved and later done',
    (life) => {
      const run = life.chat('r1')
      life.told('chat', run.id, { kind: 'Unknown', code: 'INVOCATION_UNRESOLVED' })
      run.end()
      run.result('fine')
      life.told('chat', run.id, done('fine'))
    },
    'was told as INVOCATION_UNRESOLVED, and later done with "fine"',
  ],
  [
    'a request that is settled otherwise than it was told',
    (life) => {
      const run = life.wholeChat()
      const answer = { kind: 'Unknown', code: 'INVOCATION_UNRESOLVED' } as const
      life.see({ kind: 'Settled', surface: 'chat', id: run.id, request: 'r1', answer })
    },
    'and later Unknown with INVOCATION_UNRESOLVED',
  ],
  [
    'a saved result of a chat that its journal does not hold',
    (life) => {
      const run = life.chat('r1')
      run.infer({ Respond: { content: 'fine' } })
      run.end()
      run.result('great')
      life.told('chat', run.id, done('great'))
    },
    'has the answer "fine"',
  ],
  [
    'a saved result of a call that its journal does not hold',
    (life) => {
      const run = identifiedCall(life, 'done', 'did more')
      life.told('identified', run.id, done('did more'))
    },
    'has the answer "did r1/a"',
  ],
  [
    'a session that ended well and does not know what a call did',
    (life) => {
      const session = life.session()
      session.allow(callOf('r1/a'))
      session.intend('r1/a')
      life.effect('r1/a')
      session.end()
    },
    'ended with "Completed", and',
  ],
  [
    'a delegated run that completed without an end',
    (life) => {
      const run = life.chat('r1')
      run.finish(delegated(run, () => undefined))
    },
    'says that a delegated run completed, and',
  ],
  [
    'a delegated run that is said to have answered otherwise',
    (life) => {
      const run = life.chat('r1')
      run.finish(delegated(run), 'Completed', 'great')
    },
    'what it answered is not "fine"',
  ],
  [
    'a delegated run whose answer was observed in other words',
    (life) => {
      const run = life.chat('r1')
      run.finish(delegated(run))
      run.tell(run.batch('reviewer', 'great'))
    },
    'observed "great", and',
  ],
  [
    'a run that ended before a run that it began',
    (life) => {
      const run = life.chat('r1')
      const child = delegated(run, () => undefined)
      run.end('Timeout')
      for (let more = 0; more < 5; more += 1) child.propose({ Respond: { content: 'fine' } })
      child.end()
    },
    'ended before a run that it began, of entry 2',
  ],
]

/** A delegated run that answers, up to its end. */
function delegated(parent: ToldRun, end = (child: ToldRun): void => child.end()): ToldRun {
  parent.openBudget()
  const child = parent.delegate('reviewer')
  child.start()
  child.linkBudget()
  child.propose({ Respond: { content: 'fine' } })
  child.allow({ Respond: { content: 'fine' } })
  end(child)
  return child
}

test.each(LIES)('%s is found', async (_, tell, reason) => {
  const life = new ToldLife()
  tell(life)
  expect((await life.ended())[LAW]).toContain(reason)
})

test('calls that were done, with an id and without, are told as such and break no law', async () => {
  const life = new ToldLife()
  const session = sessionCall(life, 'r2/a')
  life.told('mcp', 'r2/a', done('did r2/a'))
  session.end()
  const run = identifiedCall(life, 'done')
  life.told('identified', run.id, done('did r1/a'))
  life.told('identified', run.id, done('did r1/a', true))
  expect(await life.ended()).toEqual({})
})

test('a call that a foreign server was never sent, and that is recorded as not done, breaks no law', async () => {
  const life = new ToldLife()
  toldNotSent(life)
  expect((await life.ended())[LAW]).toBeUndefined()
})

test('a result that a failed sync left behind may be told once and be gone after the next loss of power', async () => {
  const life = new ToldLife()
  const run = life.chat('r1')
  run.infer({ Respond: { content: 'fine' } })
  run.end()
  run.result('fine')
  for (const name of life.disk.visibleNames(join(PROJECT, '.symbiont', 'invocations')))
    life.disk.forget(`invocations/${name}`, 1)
  life.see({ kind: 'Crashed', life: 1, how: 'kill' })
  life.see({ kind: 'Booted', life: 2 })
  life.told('chat', run.id, done('fine', true))
  life.told('chat', run.id, { kind: 'Unknown', code: 'INVOCATION_UNRESOLVED' })
  expect(life.complaints.get(LAW)).toBeUndefined()
})

test('a process that was told that the sync of a claim failed, and tells its result all the same, is objected to', () => {
  const life = new ToldLife()
  const run = life.chat('r1')
  run.infer({ Respond: { content: 'fine' } })
  run.end()
  run.result('fine')
  for (const name of life.disk.visibleNames(join(PROJECT, '.symbiont', 'invocations')))
    life.disk.forget(`invocations/${name}`, 1)
  life.told('chat', run.id, done('fine', true))
  expect(life.complaints.get(LAW)).toContain('by a process that saw the sync of its claim fail')
})

test('a run that was cut off before it could say that a foreign server was never sent its call breaks no law', async () => {
  const life = new ToldLife()
  cutOff(life, FOREIGN)
  expect((await life.ended())[LAW]).toBeUndefined()
})

test('a call that failed, was not done, or was held and refused is told as such and breaks no law', () => {
  const life = new ToldLife()
  const session = life.session()
  session.allow(callOf('r1/a'))
  session.intend('r1/a')
  life.effect('r1/a', 'not done')
  life.told('mcp', 'r1/a', { kind: 'Failed', code: 'CALL_NOT_DONE' })
  life.told('mcp', 'r1/a', { kind: 'Unknown', code: 'CALL_UNCONFIRMED' })
  life.told('mcp', 'r1/b', { kind: 'Refused', code: 'POLICY_DENIED' })
  const held = { kind: 'Asked', client: 'c1', surface: 'mcp', id: null, request: 'r3', token: 'r3' } as const
  life.see(held)
  life.see(held)
  life.effect('r3')
  life.told('mcp', 'r3', { kind: 'Refused', code: 'POLICY_DENIED' }) // it came back twice, and the second was refused
  expect(life.complaints.get(LAW)).toBeUndefined()
})

test('a run whose end could not be recorded at first may be found done later', () => {
  const life = new ToldLife()
  const run = life.chat('r1')
  life.told('chat', run.id, { kind: 'Failed', code: 'LOOP_ERROR' })
  run.infer({ Respond: { content: 'fine' } })
  run.end()
  run.result('fine')
  life.told('chat', run.id, done('fine', true))
  expect(life.complaints.get(LAW)).toBeUndefined()
})

test('what says nothing about the fate of an id may come before and after its answer', () => {
  const life = new ToldLife()
  const run = life.wholeChat()
  life.told('chat', run.id, { kind: 'Refused', code: 'INVOCATION_CONFLICT' })
  life.told('chat', run.id, { kind: 'Failed', code: 'AUDIT_UNAVAILABLE' })
  life.told('chat', run.id, done('answer to r1', true))
  expect(life.complaints.get(LAW)).toBeUndefined()
})
