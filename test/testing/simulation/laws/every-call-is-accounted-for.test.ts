import { expect, test } from 'vitest'
import { digest, type JsonObject } from '../../../../src/core/index.ts'
import type { Event, Observation, ProposedAction } from '../../../../src/events/index.ts'
import { callOf, delegationTo, observationOf, ToldLife, type ToldRun } from '../../../support/told-life.ts'

const LAW = 'every call is accounted for'

/** A run of a model that has proposed these. */
function proposing(life: ToldLife, ...actions: readonly ProposedAction[]): ToldRun {
  const run = life.chat('r1')
  run.openBudget()
  run.propose(...actions)
  return run
}

/** A run of a model in which these were proposed and allowed. */
function allowing(life: ToldLife, ...actions: readonly ProposedAction[]): ToldRun {
  const run = proposing(life, ...actions)
  run.allow(...actions)
  return run
}

/** A session in which these were allowed. */
function session(life: ToldLife, ...actions: readonly ProposedAction[]): ToldRun {
  const run = life.session()
  run.allow(...actions)
  return run
}

/** The decision about these: the first so many are allowed. */
function decision(run: ToldRun, allowed: number, actions: readonly ProposedAction[], twist: JsonObject = {}): Event {
  const all = actions.map((action) => ({ action, fingerprint: digest(action) }))
  return {
    kind: 'PolicyEvaluated',
    iteration: run.iteration,
    action_count: actions.length,
    denied_count: actions.length - allowed,
    approved_calls: all.slice(0, allowed),
    denied_calls: all.slice(allowed).map(({ action }) => ({ action, reason: 'no' })),
    ...twist,
  } as unknown as Event
}

function refusalOf(token: string, error_type = 'policy_denied'): Observation {
  return { ...observationOf(token), content: 'no', is_error: true, metadata: { error_type } }
}

function effectOf(token: string): Event {
  const request = { request_id: 'q', method: 'GET', url: 'u', request_hash: 'h', request_bytes: 0 }
  const effect = { NetworkRequestStarted: request }
  return { kind: 'ToolEffect', run_key: 'k', call_fingerprint: digest(callOf(token)), effect } as unknown as Event
}

const [A, B] = [callOf('r1/a'), callOf('r1/b')]
const REPLY: ProposedAction = { Respond: { content: 'fine' } }

const LIES: readonly [string, (life: ToldLife) => void, string][] = [
  [
    'a call that nothing decides',
    (life) => {
      const run = proposing(life, A, B)
      run.tell(decision(run, 1, [A]))
    },
    'decides nothing about ToolCall call r1/b, which entry 2 proposes',
  ],
  [
    'a call that is decided twice',
    (life) => {
      const run = proposing(life, A)
      run.tell(decision(run, 1, [A, A]))
    },
    'decides about ToolCall call r1/a, which entry 2 does not propose once more',
  ],
  [
    'a reply that is decided twice',
    (life) => {
      const run = allowing(life, REPLY)
      run.tell(...run.batchOf([]), decision(run, 1, [REPLY]))
    },
    'decides, and nothing was proposed',
  ],
  [
    'a delegation that is decided as a call',
    (life) => {
      const run = proposing(life, delegationTo('reviewer'))
      run.allow({ ToolCall: { call_id: 'call reviewer', name: 'delegate', arguments: '{}' } })
      run.sync()
    },
    'decides about ToolCall call reviewer',
  ],
  [
    'a reply behind one that nothing decided',
    (life) => {
      const run = proposing(life, A)
      run.propose(B)
      run.sync()
    },
    'proposes, and nothing decided what entry 2 proposed',
  ],
  [
    'a run that completed with a reply that nothing decided',
    (life) => proposing(life, REPLY).end(),
    'ends, and nothing decided what entry 2 proposed',
  ],
  [
    'a run that used up its steps, and was told nothing of the last',
    (life) => allowing(life, A).end('MaxIterations'),
    'ends, and nobody was told what came of entry 3',
  ],
  [
    'a denial that is counted and not listed',
    (life) => {
      const run = life.session()
      run.tell(decision(run, 0, [A], { denied_calls: [] }))
    },
    'counts 1 denials, and lists 0',
  ],
  [
    'a call that is listed and not counted',
    (life) => {
      const run = life.session()
      run.tell(decision(run, 1, [A], { action_count: 0 }))
    },
    'counts 0 decisions, and lists 1',
  ],
  [
    'an intent of a call that was denied',
    (life) => {
      const run = proposing(life, A)
      run.tell(decision(run, 0, [A]))
      run.intend('r1/a')
    },
    'begins ToolCall call r1/a, which entry 3 denies',
  ],
  [
    'an intent of a call that nothing decided',
    (life) => allowing(life, A).intend('r1/b'),
    'begins ToolCall call r1/b, which no entry before it decides',
  ],
  [
    'an intent of another call under the id',
    (life) => {
      const run = allowing(life, A)
      run.dispatch({ ToolCall: { call_id: 'call r1/a', name: 'pay', arguments: '{"token":"r1/z"}' } })
    },
    'and entry 3 allows another call under this id',
  ],
  [
    'two intents of one call',
    (life) => {
      const run = allowing(life, A)
      run.intend('r1/a')
      run.intend('r1/a')
    },
    'begins ToolCall call r1/a a second time',
  ],
  [
    'an intent of a call that was told of before',
    (life) => {
      const run = allowing(life, A)
      run.tell(...run.batchOf([{ ...observationOf('r1/a'), is_error: true }]))
      run.intend('r1/a')
    },
    'what came of it was told before',
  ],
  [
    'a delegation that nothing allowed',
    (life) => allowing(life, A).delegate('reviewer'),
    'begins Delegate call reviewer, which no entry before it decides',
  ],
  [
    'a step that the model hears nothing of',
    (life) => {
      const run = allowing(life, A)
      run.propose(B)
      run.sync()
    },
    'proposes, and nobody was told what came of entry 3',
  ],
  [
    'a session that goes on without a result',
    (life) => {
      const run = session(life, A)
      run.tell(decision(run, 1, [B]))
    },
    'decides, and nobody was told what came of entry 1',
  ],
  [
    'a batch that says nothing of a call that began',
    (life) => {
      const run = allowing(life, A, B)
      run.tell(run.intend('r1/a'), run.intend('r1/b'), ...run.batchOf([observationOf('r1/a')], 2))
    },
    'tells nothing of ToolCall call r1/b, which entry 3 decides',
  ],
  [
    'a batch of a session that says nothing of its denied call',
    (life) => {
      const run = life.session()
      run.tell(decision(run, 0, [A]), ...run.batchOf([]))
    },
    'tells nothing of ToolCall call r1/a, which entry 1 decides',
  ],
  [
    'a denied call of a session that is told as done',
    (life) => {
      const run = life.session()
      run.tell(decision(run, 0, [A]), ...run.batchOf([observationOf('r1/a')]))
    },
    'tells otherwise than denied ToolCall call r1/a',
  ],
  [
    'a call that waits for a person and is told as denied for good',
    (life) => {
      const run = life.session()
      const held = { action: A, reason: 'wait', pending_approval: { approval_id: 'h', expires_at: 'later' } }
      run.tell(decision(run, 0, [A], { denied_calls: [held] } as JsonObject), ...run.batchOf([refusalOf('r1/a')]))
    },
    'tells otherwise than denied ToolCall call r1/a',
  ],
  [
    'a denied call of a run that has a result',
    (life) => {
      const run = proposing(life, A)
      run.tell(decision(run, 0, [A]), ...run.batchOf([observationOf('r1/a')]))
    },
    'tells a result of the denied ToolCall call r1/a',
  ],
  [
    'a call that never began and is told as done',
    (life) => {
      const run = session(life, A)
      run.tell(...run.batchOf([observationOf('r1/a')]))
    },
    'tells as done, and it never began, ToolCall call r1/a',
  ],
  [
    'a result of a call that nothing decided',
    (life) => {
      const run = session(life, A)
      run.tell(run.intend('r1/a'), ...run.batchOf([observationOf('r1/a'), observationOf('r1/b')]))
    },
    'tells of call r1/b, which entry 1 does not decide',
  ],
  [
    'two results of one call',
    (life) => {
      const run = session(life, A)
      run.tell(run.intend('r1/a'), ...run.batchOf([observationOf('r1/a'), observationOf('r1/a')]))
    },
    'tells of call r1/a, which entry 1 does not decide',
  ],
  [
    'a batch behind a batch',
    (life) => {
      const run = session(life, A)
      run.call('r1/a')
      run.tell(run.batch('r1/a'))
    },
    'tells of a batch that nothing decided',
  ],
  [
    'a batch that is counted otherwise',
    (life) => {
      const run = allowing(life, REPLY)
      const [dispatched, ...others] = run.batchOf([])
      run.tell({ ...dispatched, tool_count: 1 } as Event, ...others)
    },
    'holds 0 results, and the entry before it counts 1',
  ],
  [
    'a batch that is told twice to a model',
    (life) => {
      const run = allowing(life, REPLY)
      const [dispatched, batch] = run.batchOf([])
      run.tell(dispatched as Event, batch as Event, dispatched as Event, batch as Event)
    },
    'tells of a batch that nothing decided',
  ],
  [
    'a batch that nothing announces',
    (life) => {
      const run = allowing(life, REPLY)
      const [, batch] = run.batchOf([])
      run.tell(batch as Event)
    },
    'holds 0 results, and the entry before it counts none',
  ],
  [
    'observations that are collected before there are any',
    (life) => {
      const run = allowing(life, A)
      const [, , collected] = run.batchOf([], 1)
      run.tell(collected as Event)
    },
    'collects what nothing brought back',
  ],
  [
    'a denial that the model hears nothing of',
    (life) => {
      const run = proposing(life, A, B)
      run.tell(decision(run, 1, [A, B]))
      run.tell(run.intend('r1/a'), ...run.batchOf([observationOf('r1/a')]))
    },
    'collects 1 observations of what entry 3 decided, not 2',
  ],
  [
    'an effect behind the receipt of its call',
    (life) => {
      const run = allowing(life, A)
      run.tell(run.intend('r1/a'), effectOf('r1/a'))
    },
    'is an effect of a call that has not begun, or has its receipt',
  ],
  [
    'an effect of a call that has not begun',
    (life) => allowing(life, A).tell(effectOf('r1/a')),
    'is an effect of a call that has not begun, or has its receipt',
  ],
  [
    'two receipts of one call',
    (life) => {
      const run = allowing(life, A)
      const receipt = run.intend('r1/a')
      run.tell(receipt, receipt)
    },
    'is the receipt of a call that has not begun, or has one',
  ],
]

test.each(LIES)('%s is found', async (_, tell, reason) => {
  const life = new ToldLife()
  tell(life)
  expect((await life.ended())[LAW]).toContain(reason)
})

const HONEST: readonly [string, (life: ToldLife) => void][] = [
  [
    'a step of which one call is denied and one is done',
    (life) => {
      const run = proposing(life, A, B)
      run.tell(decision(run, 1, [A, B]))
      run.tell(run.intend('r1/a'), ...run.batchOf([observationOf('r1/a')], 2))
      run.propose(REPLY)
    },
  ],
  [
    'a grant that lapsed before it was used, of which the model hears as of a denial',
    (life) => {
      const run = allowing(life, A)
      run.tell(...run.batchOf([], 1))
    },
  ],
  [
    'a reply beside calls, which are not made',
    (life) => {
      const run = allowing(life, A, REPLY)
      run.tell(...run.batchOf([]))
      run.end()
    },
  ],
  [
    'equal ids in one reply, which are all denied',
    (life) => {
      const run = proposing(life, A, A)
      run.tell(decision(run, 0, [A, A]), ...run.batchOf([], 2))
    },
  ],
  [
    'a policy that changes a call, and not its id',
    (life) => {
      const run = proposing(life, A)
      run.allow({ ToolCall: { call_id: 'call r1/a', name: 'pay', arguments: '{"token":"r1/z"}' } })
    },
  ],
  [
    'a session of a call that was denied, and one that waits for a person',
    (life) => {
      const run = life.session()
      run.tell(decision(run, 0, [A]), ...run.batchOf([refusalOf('r1/a')]))
      const held = { action: B, reason: 'wait', pending_approval: { approval_id: 'h', expires_at: 'later' } }
      run.tell(decision(run, 0, [B], { denied_calls: [held] } as JsonObject))
      run.tell(...run.batchOf([refusalOf('r1/b', 'approval_pending')]))
    },
  ],
  [
    'a run that was stopped before its reply was decided',
    (life) => proposing(life, A).end({ Error: { message: 'the execution was cancelled' } }),
  ],
  ['a run that was cut off in the middle of a call', (life) => void allowing(life, A).intend('r1/a')],
  [
    'an effect between the intent of its call and the receipt',
    (life) => {
      const run = allowing(life, A)
      const receipt = run.intend('r1/a')
      run.tell(effectOf('r1/a'), receipt)
    },
  ],
]

test.each(HONEST)('%s is in order', async (_, tell) => {
  const life = new ToldLife()
  tell(life)
  expect((await life.ended())[LAW]).toBeUndefined()
})

/** A tool client asks for one call, and another one begins, or is sent. */
function asking(begins: Partial<{ tool: string; token: string; args: JsonObject; kind: 'CallSent' | 'EffectBegan' }>) {
  const life = new ToldLife()
  const call = { tool: 'pay', args: { token: 'c0', amount: 1 } }
  life.see({ kind: 'Asked', client: 'c1', surface: 'mcp', id: null, request: 'c0', token: 'c0', call })
  const { kind = 'EffectBegan', ...twist } = begins
  const made = { life: 1, tool: 'pay', token: 'c0', args: call.args, ...twist }
  life.see(kind === 'CallSent' ? { kind, sent: 1, ...made } : { kind, effect: 1, ...made })
  return life.complaints.get(LAW)
}

test.each<[string, Parameters<typeof asking>[0], string]>([
  [
    'an effect with a token that nobody asked for',
    { token: 'c0x' },
    'with the token "c0x" begins, and nobody asked for it',
  ],
  ['another tool', { tool: 'wire' }, 'asked for as pay {"amount":1,"token":"c0"}, and begins as wire'],
  ['other arguments', { args: { token: 'c0', amount: 5 } }, 'and begins as pay {"amount":5,"token":"c0"}'],
  ['an argument that is left out', { args: { token: 'c0' } }, 'and begins as pay {"token":"c0"}'],
  ['a call that is sent otherwise', { kind: 'CallSent', args: { token: 'c0', amount: 5 } }, 'begins as pay'],
])('%s is found', (_what, begins, reason) => {
  expect(asking(begins)).toContain(reason)
})

test('the call that was asked for, with what the runtime adds to it, breaks no law; nor does what a model makes of a chat', () => {
  expect(asking({})).toBeUndefined()
  expect(asking({ args: { token: 'c0', amount: 1, currency: 'added' } })).toBeUndefined()
  const life = new ToldLife()
  life.chat('r1')
  life.see({ kind: 'EffectBegan', life: 1, effect: 1, tool: 'pay', token: 'r1/a', args: { token: 'r1/a' } })
  expect(life.complaints.get(LAW)).toBeUndefined()
})
