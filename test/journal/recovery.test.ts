import { describe, expect, test } from 'vitest'
import { type AgentId, digest, hexHash, newId } from '../../src/core/index.ts'
import { type Event, NO_USAGE, type TerminationReason } from '../../src/events/index.ts'
import { recoveryReport, viewStatus } from '../../src/journal/recovery.ts'
import { REFERENCE, random } from '../support/budget.ts'
import {
  approved,
  dispatch,
  FINGERPRINT,
  opened,
  prefix,
  RUN_KEY,
  reservation,
  run,
  started,
  terminated,
  toolCall,
} from '../support/history.ts'

const call = { run_key: RUN_KEY, call_fingerprint: FINGERPRINT }
const hash = digest('bytes')

function refusal(text: string) {
  return expect.objectContaining({ code: 'EVIDENCE_INVALID', message: expect.stringContaining(text) })
}

describe('a complete run', () => {
  test('without effects needs nobody, and its report has exactly the members of the format in their order', () => {
    const report = recoveryReport(run())
    expect(JSON.stringify(report)).toBe(
      JSON.stringify({
        run_id: REFERENCE.run_id,
        agent_id: started.kind === 'Started' ? started.agent_id : null,
        verified_records: 2,
        verified_bytes: 1000,
        unverified_tail_bytes: 0,
        journal_complete: true,
        terminal_reason: 'Completed',
        requires_reconciliation: false,
        untracked_tool_approvals: 0,
        effects: [],
        warnings: [],
        recovered_budget: null,
      }),
    )
  })

  test('names each effect, budget scope and reservation with the members of the format in their order', () => {
    const { start, finish } = dispatch()
    const { start: reserve } = reservation()
    const report = recoveryReport(run(opened(), reserve, approved(1, toolCall('call-1')), start, finish()))
    expect(report.effects.map((effect) => Object.keys(effect))).toEqual(
      Array(2).fill(['identity', 'start_sequence', 'finish_sequence', 'outcome', 'details']),
    )
    expect(Object.keys(report.recovered_budget ?? {})).toEqual(['root_id', 'scopes', 'reservations'])
    expect(report.recovered_budget?.scopes.map((scope) => Object.keys(scope))).toEqual([
      ['root_id', 'scope', 'limit', 'usage', 'reserved_tokens', 'uncertain_tokens', 'available_tokens', 'exceeded'],
    ])
    expect(report.recovered_budget?.reservations.map((each) => Object.keys(each))).toEqual([
      ['reservation', 'start_sequence', 'finish_sequence', 'outcome', 'usage'],
    ])
  })

  test('that finished its dispatch well needs no reconciliation [R1]', () => {
    const { start, finish } = dispatch()
    const report = recoveryReport(run(approved(1, toolCall('call-1')), start, finish()))
    expect(report).toMatchObject({ requires_reconciliation: false, untracked_tool_approvals: 0, warnings: [] })
    expect(report.effects).toMatchObject([{ start_sequence: 2, finish_sequence: 3, outcome: 'result_recorded' }])
    expect(viewStatus(report)).toBe('completed')
  })

  test('whose dispatch ended in an error needs reconciliation [R1]', () => {
    const { start, finish } = dispatch()
    const report = recoveryReport(run(start, finish(true)))
    expect(report).toMatchObject({ journal_complete: true, requires_reconciliation: true, warnings: [] })
    expect(report.effects).toMatchObject([{ start_sequence: 1, finish_sequence: 2, outcome: 'unknown' }])
    expect(viewStatus(report)).toBe('unknown_effects')
  })

  test('whose dispatch has no receipt needs reconciliation [R1]', () => {
    const report = recoveryReport(run(dispatch().start))
    expect(report).toMatchObject({ journal_complete: true, requires_reconciliation: true })
    expect(report.effects).toMatchObject([{ finish_sequence: null, outcome: 'unknown', details: { finished: null } }])
    expect(viewStatus(report)).toBe('unknown_effects')
  })

  test.each<TerminationReason>([
    'Timeout',
    'MaxTokens',
    'MaxIterations',
    'UnconfirmedEffects',
    { Error: { message: 'the provider failed' } },
    { PolicyDenial: { reason: 'no' } },
  ])('that ended with %j and recorded everything needs nobody', (reason) => {
    const { start, finish } = dispatch()
    const report = recoveryReport(prefix([started, start, finish(), terminated(reason)]))
    expect(report).toMatchObject({ terminal_reason: reason, requires_reconciliation: false })
    expect(viewStatus(report)).toBe('stopped')
  })
})

describe('a prefix', () => {
  test('without an end is incomplete, and says that the run may still be active', () => {
    const report = recoveryReport(prefix([started]))
    expect(report).toMatchObject({ journal_complete: false, terminal_reason: null, requires_reconciliation: true })
    expect(report.warnings).toEqual([expect.stringContaining('may still be active')])
    expect(viewStatus(report)).toBe('incomplete')
  })

  test('without a start is incomplete even when it ends', () => {
    const report = recoveryReport(prefix([terminated()]))
    expect(report).toMatchObject({
      journal_complete: false,
      terminal_reason: 'Completed',
      requires_reconciliation: true,
    })
    expect(report.warnings).toEqual([expect.stringContaining('no start')])
    expect(viewStatus(report)).toBe('incomplete')
  })

  test('with a fragment behind its end is incomplete, and counts the bytes', () => {
    const report = recoveryReport(prefix([started, terminated()], 17))
    expect(report).toMatchObject({
      verified_bytes: 1000,
      unverified_tail_bytes: 17,
      journal_complete: false,
      terminal_reason: 'Completed',
      requires_reconciliation: true,
    })
    expect(report.warnings).toEqual(['The last 17 bytes are an unauthenticated fragment and left out.'])
    expect(viewStatus(report)).toBe('incomplete')
  })

  test('of nothing at all is incomplete and has both warnings', () => {
    const report = recoveryReport(prefix([]))
    expect(report).toMatchObject({ verified_records: 0, journal_complete: false, requires_reconciliation: true })
    expect(report.warnings).toHaveLength(2)
  })

  test('is judged at every length of a run: it needs nobody only at its full length [trap:lost-tail]', () => {
    const { start, finish } = dispatch()
    const { start: reserve, finish: settle } = reservation()
    const all = [
      started,
      opened(),
      reserve,
      settle('unknown'),
      approved(1, toolCall('call-1')),
      start,
      finish(),
      terminated(),
    ]
    const needed = all.map((_, index) => recoveryReport(prefix(all.slice(0, index + 1))).requires_reconciliation)
    expect(needed).toEqual([...Array(all.length - 1).fill(true), false])
  })

  test('speaks of one byte and of one call in the singular', () => {
    const one = prefix([started, approved(1, toolCall('a')), terminated()], 1)
    expect(recoveryReport(one).warnings).toEqual([
      'The last 1 byte is an unauthenticated fragment and left out.',
      '1 approved tool call has no dispatch intent.',
    ])
  })

  test('does not change under the reader', () => {
    const given = run(dispatch().start)
    const before = JSON.stringify(given)
    recoveryReport(given)
    expect(JSON.stringify(given)).toBe(before)
  })
})

const publication_id = newId('publication', random)
const delegation = { run_key: RUN_KEY, call_id: 'delegate-call', audit: REFERENCE }

const request: Event = {
  kind: 'ToolEffect',
  ...call,
  effect: {
    NetworkRequestStarted: {
      request_id: 'n1',
      method: 'GET',
      url: 'http://127.0.0.1',
      request_hash: hash,
      request_bytes: 1,
    },
  },
}
function response(parts: { status?: number | null; response_hash?: string | null; error?: string | null } = {}): Event {
  const effect = {
    NetworkRequestFinished: {
      request_id: 'n1',
      status: 200,
      response_hash: hash,
      response_headers_hash: null,
      response_bytes: 1,
      error: null,
      ...parts,
    },
  }
  return { kind: 'ToolEffect', ...call, effect }
}
const prepared: Event = {
  kind: 'ToolEffect',
  ...call,
  effect: { FilePublicationPrepared: { intent: { publication_id } } },
}
function published(confirmed: boolean, error: string | null): Event {
  return { kind: 'ToolEffect', ...call, effect: { FilePublicationFinished: { publication_id, confirmed, error } } }
}
const delegated: Event = {
  kind: 'DelegationStarted',
  ...delegation,
  call_fingerprint: FINGERPRINT,
  target: 'reviewer',
  child_agent_id: started.kind === 'Started' ? started.agent_id : ('' as AgentId),
  system_prompt_hash: hexHash('system'),
  message_hash: hexHash('task'),
}
function returned(reason: TerminationReason): Event {
  return { kind: 'DelegationFinished', ...delegation, reason, output_hash: hexHash('output') }
}
const inferred: Event = {
  kind: 'InferenceRequested',
  request_id: 'i1',
  endpoint: 'chat',
  model: 'demo',
  request_hash: hash,
  reserved_output_tokens: 5,
}
function answered(status: number): Event {
  return { kind: 'InferenceCompleted', request_id: 'i1', status, response_hash: hash, response_bytes: 1 }
}
const direct: Event = {
  kind: 'DirectInferenceRequested',
  call_id: 'd1',
  operation: 'ask',
  provider: 'scripted',
  model: 'demo',
  request_hash: hash,
  request_bytes: 1,
  recipient: null,
  recipient_definition_hash: null,
  communication: null,
}
const received: Event = {
  kind: 'DirectInferenceResponseReceived',
  call_id: 'd1',
  response_hash: hash,
  response_bytes: 1,
}
function concluded(reason: TerminationReason, response_hash: string | null): Event {
  return {
    kind: 'DirectInferenceFinished',
    call_id: 'd1',
    reason,
    response_hash,
    response_bytes: 1,
    finish_reason: 'stop',
    usage: NO_USAGE,
  }
}
const delivery: Event = {
  kind: 'ResponseDeliveryStarted',
  fingerprint: FINGERPRINT,
  request_hash: hash,
  request_bytes: 1,
}
function delivered(confirmed: boolean): Event {
  return { kind: 'ResponseDeliveryFinished', fingerprint: FINGERPRINT, receipt: null, confirmed, error: null }
}
const tool = dispatch()
const shared = reservation()

describe('an effect', () => {
  const rows: readonly (readonly [string, Event, Event, 'result_recorded' | 'unknown'])[] = [
    ['a dispatch that finished', tool.start, tool.finish(), 'result_recorded'],
    ['a dispatch that finished with an error', tool.start, tool.finish(true), 'unknown'],
    ['a network request with status and response', request, response(), 'result_recorded'],
    ['a network request with an error status', request, response({ status: 500 }), 'result_recorded'],
    ['a network request without a status', request, response({ status: null }), 'unknown'],
    ['a network request without a response hash', request, response({ response_hash: null }), 'unknown'],
    ['a network request with an error', request, response({ error: 'reset' }), 'unknown'],
    ['a publication that is confirmed', prepared, published(true, null), 'result_recorded'],
    ['a publication that is not confirmed', prepared, published(false, null), 'unknown'],
    ['a publication that is confirmed with an error', prepared, published(true, 'late'), 'unknown'],
    ['a delegation that completed', delegated, returned('Completed'), 'result_recorded'],
    ['a delegation that timed out', delegated, returned('Timeout'), 'unknown'],
    ['an inference that completed', inferred, answered(200), 'result_recorded'],
    ['an inference that was refused', inferred, answered(500), 'result_recorded'],
    ['a direct inference with a response', direct, concluded('Completed', hash), 'result_recorded'],
    ['a direct inference without a response', direct, concluded('Completed', null), 'unknown'],
    ['a direct inference that failed', direct, concluded({ Error: { message: 'x' } }, hash), 'unknown'],
    ['a delivery that is confirmed', delivery, delivered(true), 'result_recorded'],
    ['a delivery that is not confirmed', delivery, delivered(false), 'unknown'],
    ['a shared inference of unknown use', shared.start, shared.finish('unknown'), 'result_recorded'],
    [
      'a shared inference of confirmed use',
      shared.start,
      shared.finish('confirmed', { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }),
      'result_recorded',
    ],
    [
      'a shared inference of exceeded use',
      shared.start,
      shared.finish('exceeded', { prompt_tokens: 1, completion_tokens: 99, total_tokens: 100 }),
      'result_recorded',
    ],
  ]

  test.each(rows)('%s is what the table says', (_, start, finish, outcome) => {
    const [effect] = recoveryReport(run(opened(), start, finish)).effects
    expect(effect).toMatchObject({ start_sequence: 2, finish_sequence: 3, outcome })
    const { kind: _kind, ...members } = finish
    expect(effect?.details.finished).toEqual(members)
  })

  test.each(rows)('%s is unknown while its receipt is missing', (_, start) => {
    const report = recoveryReport(run(opened(), start))
    expect(report.effects).toMatchObject([{ finish_sequence: null, outcome: 'unknown' }])
    expect(report.requires_reconciliation).toBe(true)
  })

  test.each(rows)('%s is refused when it starts a second time, open or finished [R2]', (_, start, finish) => {
    expect(() => recoveryReport(run(opened(), start, start))).toThrow(refusal('entry 3 starts the'))
    expect(() => recoveryReport(run(opened(), start, finish, start))).toThrow(refusal('entry 4 starts the'))
  })

  test.each(rows)('%s is refused when it finishes a second time, or without a start [R2]', (_, start, finish) => {
    expect(() => recoveryReport(run(opened(), start, finish, finish))).toThrow(refusal('which is finished'))
    expect(() => recoveryReport(run(opened(), finish))).toThrow(refusal('never started'))
  })

  test('has an identity of its kind', () => {
    const starts = [tool.start, request, prepared, delegated, inferred, direct, shared.start, delivery]
    const { effects } = recoveryReport(run(opened(), ...starts))
    expect(effects.map(({ identity }) => identity)).toEqual([
      { kind: 'tool_dispatch', dispatch_id: tool.start.kind === 'ToolDispatchStarted' ? tool.start.dispatch_id : '' },
      { kind: 'network_request', ...call, request_id: 'n1' },
      { kind: 'file_publication', ...call, publication_id },
      { kind: 'delegation', run_key: RUN_KEY, call_id: 'delegate-call' },
      { kind: 'inference', request_id: 'i1' },
      { kind: 'direct_inference', call_id: 'd1' },
      { kind: 'shared_inference', reservation_id: shared.record.id },
      { kind: 'response_delivery', fingerprint: FINGERPRINT },
    ])
    expect(effects.map(({ start_sequence }) => start_sequence)).toEqual([2, 3, 4, 5, 6, 7, 8, 9])
  })

  test('of another call is another effect, even with the same request id', () => {
    const other: Event = { ...request, call_fingerprint: digest('another call') } as Event
    const report = recoveryReport(run(request, other, response()))
    expect(report.effects.map(({ outcome }) => outcome)).toEqual(['result_recorded', 'unknown'])
  })

  test('that received a response without a conclusion is unknown, and a response nobody asked for is refused', () => {
    expect(recoveryReport(run(direct, received)).effects).toMatchObject([{ finish_sequence: null, outcome: 'unknown' }])
    expect(recoveryReport(run(direct, received, concluded('Completed', hash))).effects).toMatchObject([
      { outcome: 'result_recorded' },
    ])
    expect(() => recoveryReport(run(received))).toThrow(refusal('never started'))
    expect(() => recoveryReport(run(direct, concluded('Completed', hash), received))).toThrow(refusal('is finished'))
  })

  test('is named by its kind and its ids where it is refused', () => {
    const ids = JSON.stringify({ run_key: RUN_KEY, call_fingerprint: FINGERPRINT, request_id: 'n1' })
    expect(() => recoveryReport(run(request, request))).toThrow(
      refusal(`starts the network request ${ids} a second time`),
    )
    expect(() => recoveryReport(run(response()))).toThrow(refusal(`belongs to the network request ${ids}, which never`))
  })

  test.each([
    'ReasoningComplete',
    'ToolsDispatched',
    'ToolBatchCompleted',
    'ObservationsCollected',
    'RecoveryTriggered',
    'StepLimitReached',
    'PreHydrationComplete',
    'ImprovementOutput',
  ])('is none of the entries of kind %s', (kind) => {
    expect(recoveryReport(run({ kind } as Event))).toMatchObject({ effects: [], requires_reconciliation: false })
  })

  test('is one of at most 32768: one more is refused', () => {
    const many = (count: number): Event[] => {
      const events: Event[] = []
      for (let index = 0; index < count; index += 1) events.push({ ...inferred, request_id: `i${index}` } as Event)
      return events
    }
    expect(recoveryReport(run(...many(32_768))).effects).toHaveLength(32_768)
    expect(() => recoveryReport(run(...many(32_769)))).toThrow(refusal('more than 32768 effects'))
  })
})

describe('evidence is refused', () => {
  test.each([
    ['an entry after the end', prefix([started, terminated(), dispatch().start]), 'terminated before'],
    ['a second end', prefix([started, terminated(), terminated()]), 'terminated before'],
    ['a second start', prefix([started, started, terminated()]), 'starts the run a second time'],
    ['a start that is not the first entry', prefix([opened(), started, terminated()]), 'other entries stand before it'],
    [
      'a start of another principal',
      prefix([{ ...started, agent_id: newId('agent', random) } as Event, terminated()]),
      'the journal is of',
    ],
  ])('for %s [R2]', (_, given, text) => {
    expect(() => recoveryReport(given)).toThrow(refusal(text))
  })

  test('with the number of the entry, for programs', () => {
    expect(() => recoveryReport(prefix([started, terminated(), terminated()]))).toThrow(
      expect.objectContaining({ facts: { sequence: 2 }, hint: expect.any(String) }),
    )
  })
})

describe('an approval', () => {
  test('of a tool call without a dispatch intent makes the run need reconciliation', () => {
    const report = recoveryReport(run(approved(1, toolCall('a'), toolCall('b', digest('b')))))
    expect(report).toMatchObject({ untracked_tool_approvals: 2, requires_reconciliation: true, effects: [] })
    expect(report.warnings).toEqual(['2 approved tool calls have no dispatch intent.'])
    expect(viewStatus(report)).toBe('unknown_effects')
  })

  test.each([
    ['of another iteration', [approved(1, toolCall('a')), { iteration: 2, event: tool.start }, tool.finish()], 1],
    ['of another call', [approved(1, toolCall('a', digest('other'))), tool.start, tool.finish()], 1],
    ['that came before it', [tool.start, tool.finish(), approved(1, toolCall('a'))], 1],
    [
      'that belongs to another approval of the same call',
      [approved(1, toolCall('a'), toolCall('a')), tool.start, tool.finish()],
      1,
    ],
    ['of its own', [approved(1, toolCall('a')), tool.start, tool.finish()], 0],
    ['of its own, with another behind it', [approved(1, toolCall('a')), tool.start, dispatch().start], 0],
  ] as const)('is tracked by an intent of its own only: an intent %s', (_, events, untracked) => {
    expect(recoveryReport(run(...events)).untracked_tool_approvals).toBe(untracked)
  })

  test('of a reply, a termination or a delegation needs no dispatch intent', () => {
    const others = [
      { action: { Respond: { content: 'hi' } } },
      { action: { Terminate: { reason: 'done', output: '' } } },
      { fingerprint: FINGERPRINT, action: { Delegate: { call_id: 'd', target: 'reviewer', message: 'look' } } },
    ] as unknown as never[]
    expect(recoveryReport(run(approved(1, ...others)))).toMatchObject({
      untracked_tool_approvals: 0,
      requires_reconciliation: false,
    })
  })

  test('is not in the entries of writers that record none', () => {
    const event: Event = { kind: 'PolicyEvaluated', iteration: 1, action_count: 1, denied_count: 0 }
    expect(recoveryReport(run(event)).untracked_tool_approvals).toBe(0)
  })

  test.each([null, '', 'sha256:short', 7])('of a tool call with the fingerprint %j is refused', (fingerprint) => {
    expect(() => recoveryReport(run(approved(1, toolCall('a', fingerprint))))).toThrow(refusal('without a fingerprint'))
  })

  test('of a tool call that has no fingerprint at all is refused', () => {
    const call = { action: { ToolCall: { call_id: 'a', name: 'system_health', arguments: '{}' } } }
    expect(() => recoveryReport(run(approved(1, call as never)))).toThrow(refusal('without a fingerprint'))
  })

  test.each([
    {},
    { action: null },
    { action: 'ToolCall' },
    { action: { ToolCall: {}, Respond: {} } },
    { action: { X: {} } },
  ])('whose action cannot be understood is refused: %j', (member) => {
    expect(() => recoveryReport(run(approved(1, member as never)))).toThrow(refusal('cannot be understood'))
  })
})
