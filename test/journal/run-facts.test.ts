import { describe, expect, test } from 'vitest'
import { hexHash, type JsonObject } from '../../src/core/index.ts'
import type { Event } from '../../src/events/index.ts'
import { runFacts } from '../../src/journal/run-facts.ts'
import { REFERENCE } from '../support/budget.ts'
import { approved, opened, prefix, reservation, run, started, terminated } from '../support/history.ts'

const startedIn = (execution_context: object): Event => ({ ...started, execution_context }) as Event
const nameOf = (context: object) => runFacts(prefix([startedIn(context)])).name
const call = (action: unknown) => ({ action }) as never
const hashesOf = (...actions: readonly unknown[]) => runFacts(run(approved(1, ...actions.map(call)))).outputHashes

describe('the facts of a run', () => {
  test('are who it was, when it began and ended and why, and how often the model answered', () => {
    const reply: Event = {
      kind: 'ReasoningComplete',
      iteration: 1,
      actions: [],
      usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
    }
    const whole = prefix([startedIn({ a: 1 }), reply, reply, terminated('Timeout')])
    const facts = runFacts(whole)
    expect(facts).toMatchObject({
      run_id: whole.run_id,
      agent_id: whole.agent_id,
      start: { timestamp: whole.entries[0]?.timestamp, context: { a: 1 } },
      end: { timestamp: whole.entries[3]?.timestamp, reason: 'Timeout' },
      answers: 2,
      budget: null,
      reservations: [],
      delegations: [],
    })
  })

  test('of a prefix without its start or its end are silent about that', () => {
    expect(runFacts(prefix([opened(), started]))).toMatchObject({ start: null, end: null, name: null })
    expect(runFacts(prefix([]))).toMatchObject({ start: null, end: null, name: null, recordedPath: null })
    expect(runFacts(prefix([started])).start?.context).toEqual({})
  })

  test.each<[string, JsonObject, string | null]>([
    ['that its definition declares', { agent_definition: { name: 'reviewer' } }, 'reviewer'],
    ['that its policy was written for', { source_policy: { agent_name: 'reader' } }, 'reader'],
    [
      'of its definition, where both are there',
      { agent_definition: { name: 'a' }, source_policy: { agent_name: 'b' } },
      'a',
    ],
    ['of its policy, where the definition has none', { agent_definition: {}, source_policy: { agent_name: 'b' } }, 'b'],
    ['that is no text: none', { agent_definition: { name: 5 }, source_policy: { agent_name: null } }, null],
    ['in what is no object: none', { agent_definition: 'reviewer', source_policy: ['reader'] }, null],
    ['of nobody: none', {}, null],
  ])('name it by the name %s', (_, context, name) => {
    expect(nameOf(context)).toBe(name)
  })

  test('keep a hash of each text that the last approved answer may have been', () => {
    expect(hashesOf({ Respond: { content: 'one' } }, { Terminate: { reason: 'r', output: 'two' } })).toEqual([
      hexHash('one'),
      hexHash('two'),
    ])
    expect(hashesOf('odd', null, {}, { Respond: 'x' }, { Respond: { content: 5 } }, { Terminate: {} })).toEqual([])
  })

  test('keep the answer where calls of tools, or nothing readable, were approved after it', () => {
    const later = approved(2, call({ ToolCall: { call_id: 'a', name: 'look', arguments: '{}' } }))
    const silent: Event = { kind: 'PolicyEvaluated', iteration: 3, action_count: 0, denied_count: 0 }
    const facts = runFacts(run(approved(1, call({ Respond: { content: 'one' } })), later, silent))
    expect(facts.outputHashes).toEqual([hexHash('one')])
    const again = runFacts(
      run(approved(1, call({ Respond: { content: 'one' } })), approved(2, call({ Respond: { content: 'two' } }))),
    )
    expect(again.outputHashes).toEqual([hexHash('two')])
  })

  test('say where the run itself said that its journal lies: in a reservation of its own, or in its link', () => {
    const own = reservation().start
    const foreign = reservation({
      audit: { ...REFERENCE, run_id: '1d0a3f0e-3a3f-4b1a-9d1e-2f1c5a7b9e12' as never, path: '/x' },
    })
    const nobody = reservation({ audit: null })
    const linked = startedIn({ delegation: { audit: { path: '/linked' } } })
    const pathOf = (...events: readonly Event[]) => runFacts(prefix(events)).recordedPath
    expect(pathOf(linked, nobody.start, foreign.start, own)).toBe(REFERENCE.path)
    expect(pathOf(linked, nobody.start, foreign.start)).toBe('/linked')
    for (const odd of ['x', { audit: 'x' }, { audit: { path: 5 } }]) {
      expect(pathOf(startedIn({ delegation: odd }))).toBeNull()
    }
  })
})

describe('a delegation in the facts', () => {
  const link = {
    run_key: 'run',
    call_id: 'a',
    call_fingerprint: 'sha256:0' as never,
    target: 'reviewer',
    child_agent_id: REFERENCE.run_id as never,
    audit: REFERENCE,
    system_prompt_hash: hexHash('s'),
    message_hash: hexHash('m'),
  }
  const begun = (parts: object = {}): Event => ({ kind: 'DelegationStarted', ...link, ...parts }) as Event
  const ended = (parts: object = {}): Event =>
    ({
      kind: 'DelegationFinished',
      run_key: 'run',
      call_id: 'a',
      audit: REFERENCE,
      reason: 'Completed',
      output_hash: hexHash('o'),
      ...parts,
    }) as Event

  test('is its link, where it stands, and its end when there is one', () => {
    const { entries, ...rest } = run(begun(), begun({ call_id: 'b' }), ended())
    expect(runFacts({ entries, ...rest }).delegations).toEqual([
      {
        link,
        sequence: 1,
        timestamp: entries[1]?.timestamp,
        finished: {
          sequence: 3,
          timestamp: entries[3]?.timestamp,
          audit: REFERENCE,
          reason: 'Completed',
          output_hash: hexHash('o'),
        },
      },
      { link: { ...link, call_id: 'b' }, sequence: 2, timestamp: entries[2]?.timestamp, finished: null },
    ])
  })

  test('has no end by an entry of another call or another run', () => {
    const facts = runFacts(run(begun(), ended({ call_id: 'b' }), ended({ run_key: 'other' })))
    expect(facts.delegations).toMatchObject([{ finished: null }])
  })
})

test('the budget of a run is the one it opened or was linked to, with what was reserved in it', () => {
  const reserved = reservation()
  expect(runFacts(run(opened(), reserved.start))).toMatchObject({
    budget: opened(),
    reservations: [reserved.record],
  })
  const linked: Event = { kind: 'BudgetScopeLinked', root_id: reserved.record.root_id, scope: 3, root_audit: REFERENCE }
  expect(runFacts(run(linked)).budget).toEqual(linked)
})
