import { describe, expect, test } from 'vitest'
import { canonical, fits, readJson } from '../../src/core/index.ts'
import {
  carriesUnconfirmed,
  EVENTS,
  type Event,
  type EventKind,
  type EventOf,
  entryShape,
  fromWire,
  startsEffect,
  toWire,
  type WireEvent,
  wireEventShape,
} from '../../src/events/index.ts'
import { entryOf, HASH, SAMPLES } from './samples.ts'

const kinds = Object.keys(EVENTS) as EventKind[]

describe.each(kinds)('%s', (kind) => {
  const event: Event = SAMPLES[kind]
  const wire = toWire(event)
  const members = (wire as Record<string, Record<string, unknown>>)[kind]!

  test('goes to disk under its name, fits its shape, and comes back the same', () => {
    expect(Object.keys(wire)).toEqual([kind])
    expect(members).not.toHaveProperty('kind')
    expect(wireEventShape.check(wire, '')).toBeNull()
    expect(fromWire(readJson(canonical(wire)) as unknown as WireEvent)).toEqual(event)
  })

  test('stays readable with a member of a newer writer, and is refused with any required member missing', () => {
    expect(fits(wireEventShape, { [kind]: { ...members, stranger: 1 } })).toBe(true)
    for (const name of Object.keys(members)) {
      const { [name]: _left, ...rest } = members
      const shape = (EVENTS[kind] as Record<string, { readonly optional?: true }>)[name]
      expect(fits(wireEventShape, { [kind]: rest }), name).toBe(shape?.optional === true)
    }
  })

  test('is refused beside a second event, and as a bare name', () => {
    const other = toWire(SAMPLES[kind === 'Terminated' ? 'BudgetOpened' : 'Terminated'])
    expect(fits(wireEventShape, { ...wire, ...other })).toBe(false)
    expect(fits(wireEventShape, kind)).toBe(false)
  })
})

test('an unknown event is refused', () => {
  for (const value of [{ Rebooted: {} }, {}, null, [], 'Started', { toString: {} }]) {
    expect(fits(wireEventShape, value)).toBe(false)
  }
})

test('an entry has its members, and may have those of a newer writer', () => {
  const { event, ...rest } = entryOf(SAMPLES.Terminated)
  const entry = { sequence: 0, ...rest, event: toWire(event) }
  expect(entryShape.check(entry, '')).toBeNull()
  expect(entryShape.check({ ...entry, note: '' }, '')).toBeNull()
  expect(entryShape.check({ ...entry, sequence: -1 }, '')?.path).toBe('sequence')
  expect(entryShape.check({ ...entry, timestamp: 'now' }, '')?.path).toBe('timestamp')
})

/** Column S of the catalogue, in full. ToolEffect is decided by its effect. */
const STARTS_EFFECT: ReadonlySet<EventKind> = new Set([
  'Started',
  'ToolDispatchStarted',
  'ToolEffect',
  'DelegationStarted',
  'ResponseDeliveryStarted',
  'InferenceRequested',
  'DirectInferenceRequested',
  'BudgetReservationStarted',
])

test.each(kinds)('startsEffect() says of %s what the catalogue says', (kind) => {
  expect(startsEffect(SAMPLES[kind])).toBe(STARTS_EFFECT.has(kind))
})

test.each(kinds)('carriesUnconfirmed() says no of a %s that went well', (kind) => {
  expect(carriesUnconfirmed(SAMPLES[kind])).toBe(false)
})

const FAILURES = [
  'MaxIterations',
  'MaxTokens',
  'Timeout',
  'UnconfirmedEffects',
  { PolicyDenial: { reason: 'r' } },
  { Error: { message: 'm' } },
] as const

test('carriesUnconfirmed() is true of every receipt that proves nothing', () => {
  const unconfirmed: Event[] = [
    { ...SAMPLES.ToolDispatchFinished, is_error: true },
    { ...SAMPLES.ResponseDeliveryFinished, confirmed: false },
    ...FAILURES.flatMap((reason) => [
      { ...SAMPLES.Terminated, reason },
      { ...SAMPLES.DelegationFinished, reason },
      { ...SAMPLES.DirectInferenceFinished, reason },
    ]),
  ]
  for (const event of unconfirmed) expect(carriesUnconfirmed(event), JSON.stringify(event)).toBe(true)
})

type Effect = EventOf<'ToolEffect'>['effect']
const network = {
  request_id: 'r',
  status: 200,
  response_hash: HASH,
  response_headers_hash: null,
  response_bytes: 1,
  error: null,
}
const file = { publication_id: '11111111-1111-4111-8111-111111111111', confirmed: true, error: null }

test.each<[string, Effect, starts: boolean, unconfirmed: boolean]>([
  ['a request that starts', SAMPLES.ToolEffect.effect, true, false],
  ['a request that was answered', { NetworkRequestFinished: network }, false, false],
  ['an answer 500', { NetworkRequestFinished: { ...network, status: 500 } }, false, false],
  ['no status', { NetworkRequestFinished: { ...network, status: null } }, false, true],
  ['no body', { NetworkRequestFinished: { ...network, response_hash: null } }, false, true],
  ['an error', { NetworkRequestFinished: { ...network, error: 'reset' } }, false, true],
  ['an empty error', { NetworkRequestFinished: { ...network, error: '' } }, false, true],
  ['a file that is prepared', { FilePublicationPrepared: { intent: file } } as unknown as Effect, true, false],
  ['a file that is published', { FilePublicationFinished: file } as Effect, false, false],
  ['a file that is not confirmed', { FilePublicationFinished: { ...file, confirmed: false } } as Effect, false, true],
  ['a file with an error', { FilePublicationFinished: { ...file, error: 'io' } } as Effect, false, true],
])('of a tool effect: %s', (_name, effect, starts, unconfirmed) => {
  const event: Event = { ...SAMPLES.ToolEffect, effect }
  expect(wireEventShape.check(toWire(event), '')).toBeNull()
  expect([startsEffect(event), carriesUnconfirmed(event)]).toEqual([starts, unconfirmed])
})
