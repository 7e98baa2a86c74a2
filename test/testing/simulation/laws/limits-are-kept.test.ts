import { expect, test } from 'vitest'
import { digest } from '../../../../src/core/index.ts'
import type { Event } from '../../../../src/events/index.ts'
import { callOf, observationOf, ToldLife, type ToldRun } from '../../../support/told-life.ts'

const LAW = 'limits are kept'
const MINUTE = { secs: 60, nanos: 0 }

/** One call of a session, told. */
function called(run: ToldRun, token: string, handle: string | null = null): void {
  run.allowWith(handle, callOf(token))
  run.tell(run.intend(token), ...run.batchOf([observationOf(token)]))
}

/** A call of a session that waits for a person until so many seconds after its beginning. */
function held(run: ToldRun, token: string, secs: number): void {
  const expires_at = new Date(Date.UTC(2026, 2, 4, 10, 11, 12 + secs)).toISOString()
  const waits = { action: callOf(token), reason: 'wait', pending_approval: { approval_id: 'handle', expires_at } }
  run.tell({ kind: 'PolicyEvaluated', iteration: 0, action_count: 1, denied_count: 1, denied_calls: [waits] } as never)
  const metadata = { error_type: 'approval_pending' }
  run.tell(...run.batchOf([{ ...observationOf(token), is_error: true, metadata }]))
}

/** A chat whose run may delegate so deep, and has delegated. */
function delegating(life: ToldLife, max_delegation_depth = 3): ToldRun {
  const parent = life.chat('r1', life.id(), { max_delegation_depth })
  parent.openBudget()
  return parent.delegate('reviewer')
}

function requestOf(token: string): Event {
  const request = { request_id: 'q', method: 'GET', url: 'u', request_hash: 'h', request_bytes: 0 }
  const effect = { NetworkRequestStarted: request }
  return { kind: 'ToolEffect', run_key: 'k', call_fingerprint: digest(callOf(token)), effect } as unknown as Event
}

const LIES: readonly [string, (life: ToldLife) => void, string][] = [
  [
    'a run of more steps than are allowed',
    (life) => {
      const run = life.chat('r1', life.id(), { max_iterations: 1 })
      run.infer(callOf('r1/a'))
      run.call('r1/a')
      run.propose({ Respond: { content: 'fine' } })
      run.sync()
    },
    'is step 2, and 1 are allowed',
  ],
  [
    'a run that asks the model once more than it may',
    (life) => {
      const run = life.chat('r1', life.id(), { max_iterations: 1 })
      run.infer(callOf('r1/a'))
      run.reserve()
    },
    'asks the model 2 times, and 1 are allowed',
  ],
  [
    'a delegated run that asks the model, as another journal says, more often than it may',
    (life) => {
      const child = delegating(life)
      child.start({ max_iterations: 1 })
      child.linkBudget()
      child.root.tell(child.reserve({ budget: 'opened' }), child.reserve({ budget: 'opened' }))
    },
    'asks the model 2 times, and 1 are allowed',
  ],
  [
    'a session of more calls than are allowed',
    (life) => {
      const run = life.session({ max_iterations: 1 })
      called(run, 'r1/a')
      called(run, 'r1/b')
    },
    'is step 2, and 1 are allowed',
  ],
  [
    'a session of more calls with an id than are allowed',
    (life) => {
      const run = life.session({ max_iterations: 1 })
      called(run, 'r1/a')
      run.delegate('call', { id: life.id(), scope: 'mcp:call:v1' })
    },
    'is step 2, and 1 are allowed',
  ],
  [
    'an end that counts fewer calls than there were',
    (life) => {
      const run = life.session()
      called(run, 'r1/a')
      run.end('Completed', {}, { iterations: 0 })
    },
    'ends after 1 steps, and counts 0',
  ],
  [
    'an end that counts more steps than there were',
    (life) => {
      const run = life.chat('r1')
      run.infer({ Respond: { content: 'fine' } })
      run.end('Completed', {}, { iterations: 2 })
    },
    'ends after 1 steps, and counts 2',
  ],
  [
    'an end that counts more calls than are allowed',
    (life) => life.session({ max_iterations: 1 }).end('Completed', {}, { iterations: 2 }),
    'counts 2 steps, and 1 are allowed',
  ],
  [
    'a delegation where none is allowed',
    (life) => delegating(life, 0).start(),
    'is of a run 1 delegations deep, and 0 are allowed',
  ],
  [
    'a delegation below a delegation, deeper than the first run allows, whatever the second says',
    (life) => {
      const child = delegating(life, 1)
      child.start({ max_delegation_depth: 3 })
      child.delegate('reader').start({ max_delegation_depth: 3 })
    },
    'is of a run 2 delegations deep, and 1 are allowed',
  ],
  [
    'a run of an agent below another run of it',
    (life) => {
      const child = delegating(life)
      child.start()
      child.delegate('reviewer').start()
    },
    'is of a run for "reviewer" below another one for it',
  ],
  [
    'a delegated run that calls itself the first',
    (life) => delegating(life).start({ delegation_depth: 0 }),
    'says that it stands at [0,"reviewer"], and its links lead to [1,"reviewer"]',
  ],
  [
    'a delegated run that does not name itself',
    (life) => delegating(life).start({ delegation_chain: [] }),
    'says that it stands at [1], and its links lead to [1,"reviewer"]',
  ],
  [
    'a call behind the time of its run',
    (life) => {
      const run = life.session({ timeout: MINUTE })
      run.wait(60_000)
      called(run, 'r1/a')
      run.end()
    },
    'begins an effect, and the time of its run was over',
  ],
  [
    'a call with an id behind the time of its session',
    (life) => {
      const run = life.session({ timeout: MINUTE })
      run.wait(60_000)
      run.delegate('call', { id: life.id(), scope: 'mcp:call:v1' })
      run.end()
    },
    'begins an effect, and the time of its run was over',
  ],
  [
    'a question to the model behind the time of its run',
    (life) => {
      const run = life.chat('r1', life.id(), { timeout: MINUTE })
      run.wait(60_000)
      run.infer({ Respond: { content: 'fine' } })
      run.end()
    },
    'begins an effect, and the time of its run was over',
  ],
  [
    'a call long after it was decided',
    (life) => {
      const run = life.session({ tool_timeout: MINUTE })
      run.allow(callOf('r1/a'))
      run.wait(60_000)
      run.tell(run.intend('r1/a'), ...run.batchOf([observationOf('r1/a')]))
      run.end()
    },
    'begins an effect, and its grant had lapsed',
  ],
  [
    'a request long after its call was decided',
    (life) => {
      const run = life.session({ tool_timeout: MINUTE })
      run.allow(callOf('r1/a'))
      const receipt = run.intend('r1/a')
      run.wait(60_000)
      run.tell(requestOf('r1/a'), receipt, ...run.batchOf([observationOf('r1/a')]))
      run.end()
    },
    'begins an effect, and its grant had lapsed',
  ],
  [
    'a call with an approval that had lapsed',
    (life) => {
      const run = life.session()
      held(run, 'r1/a', 30)
      run.wait(30_000)
      called(run, 'r1/b', 'handle')
      run.end()
    },
    'begins an effect, and the approval handle had lapsed',
  ],
  [
    'a call with an approval that had lapsed, of a call with an id',
    (life) => {
      const run = life.session()
      const call = run.delegate('call', { id: life.id(), scope: 'mcp:call:v1' })
      call.start()
      held(call, 'r1/a', 30)
      run.wait(30_000)
      called(run, 'r1/b', 'handle')
      run.end()
    },
    'begins an effect, and the approval handle had lapsed',
  ],
]

test.each(LIES)('%s is found', async (_, tell, reason) => {
  const life = new ToldLife()
  tell(life)
  expect((await life.ended())[LAW]).toContain(reason)
})

const HONEST: readonly [string, (life: ToldLife) => void][] = [
  [
    'a run and a session that use up all that they may',
    (life) => {
      const run = life.chat('r1', life.id(), { max_iterations: 2 })
      run.infer(callOf('r1/a'))
      run.call('r1/a')
      run.infer({ Respond: { content: 'fine' } })
      run.end()
      const session = life.session({ max_iterations: 1 })
      called(session, 'r2/a')
      session.end()
    },
  ],
  [
    'a session that counts calls which were refused before anything was written',
    (life) => {
      const run = life.session()
      called(run, 'r1/a')
      run.end('Completed', {}, { iterations: 3 })
    },
  ],
  [
    'an interrupted run, which counts nothing',
    (life) => {
      const run = life.chat('r1')
      run.infer(callOf('r1/a'))
      run.end('Timeout', {}, { iterations: 0 })
    },
  ],
  [
    'delegations as deep as they may be',
    (life) => {
      const child = delegating(life, 2)
      child.start()
      child.delegate('reader').start()
    },
  ],
  [
    'two delegations to one agent, beside each other',
    (life) => {
      const parent = life.chat('r1')
      parent.delegate('reviewer').start()
      parent.delegate('reviewer').start()
    },
  ],
  [
    'calls with an id, which are no delegations',
    (life) => {
      const run = life.session({ max_delegation_depth: 0 })
      run.delegate('call', { id: life.id(), scope: 'mcp:call:v1' }).start()
    },
  ],
  [
    'a call as late as it may be',
    (life) => {
      const run = life.session({ timeout: MINUTE, tool_timeout: MINUTE })
      run.allow(callOf('r1/a'))
      run.wait(58_000)
      run.tell(run.intend('r1/a'))
      run.wait(60_000)
      run.tell(run.batch('r1/a'))
      run.end()
    },
  ],
  [
    'a call that seems late where somebody set the clock',
    (life) => {
      const run = life.session({ timeout: MINUTE })
      run.wait(86_400_000)
      called(run, 'r1/a')
      run.end('Completed', {}, { duration: { secs: 6, nanos: 0 } })
    },
  ],
  [
    'a call that seems late in a run that was cut off, so that nobody knows how long it was',
    (life) => {
      const run = life.session({ timeout: MINUTE })
      run.wait(60_000)
      run.allow(callOf('r1/a'))
      run.intend('r1/a')
    },
  ],
  [
    'an approval that was used in time, and one of another session that lapsed long ago',
    (life) => {
      const run = life.session()
      held(run, 'r1/a', 30)
      called(run, 'r1/b', 'handle')
      run.end()
      const other = life.session()
      other.wait(60_000)
      called(other, 'r2/b', 'handle')
      other.end()
    },
  ],
]

test.each(HONEST)('%s: nothing to object', async (_, tell) => {
  const life = new ToldLife()
  tell(life)
  expect((await life.ended())[LAW]).toBeUndefined()
})
