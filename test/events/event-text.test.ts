import { describe, expect, test } from 'vitest'
import { Bug, canonical } from '../../src/core/index.ts'
import { EVENTS, type Event, type EventKind, eventText, keepEventText, toWire } from '../../src/events/index.ts'
import { SAMPLES } from './samples.ts'

const kinds = Object.keys(EVENTS) as EventKind[]

describe.each(kinds)('the text of %s', (kind) => {
  const event: Event = SAMPLES[kind]
  const members = Object.keys(event).filter((name) => name !== 'kind')

  test('is the canonical text of its form on disk, whatever the order of its members', () => {
    expect(eventText({ ...event })).toBe(canonical(toWire(event)))
    const turned = Object.fromEntries(Object.entries(event).toReversed()) as Event
    expect(eventText(turned)).toBe(canonical(toWire(event)))
  })

  test('has the members of a newer writer', () => {
    const newer = { ...event, stranger: { a: 1 } } as unknown as Event
    expect(eventText(newer)).toBe(canonical(toWire(newer)))
  })

  test('is a Bug with a required member missing, undefined, or inherited only', () => {
    for (const name of members) {
      const shape = (EVENTS[kind] as Record<string, { readonly optional?: true }>)[name]
      const { [name]: left, ...rest } = event as unknown as Record<string, unknown>
      if (shape?.optional === true) {
        expect(eventText(rest as unknown as Event)).toBe(canonical(toWire(rest as unknown as Event)))
        continue
      }
      expect(() => eventText(rest as unknown as Event), name).toThrow(Bug)
      expect(() => eventText({ ...rest, [name]: undefined } as unknown as Event), name).toThrow(Bug)
      const inherited = Object.assign(Object.create({ [name]: left }) as object, rest)
      expect(() => eventText(inherited as unknown as Event), name).toThrow(Bug)
    }
  })
})

test('a member that is undefined is a Bug, and never left out in silence', () => {
  expect(() => eventText({ ...SAMPLES.Terminated, stranger: undefined } as unknown as Event)).toThrow(Bug)
})

test('what is no event of the catalogue has no text', () => {
  for (const event of [{ kind: 'Rebooted' }, { kind: 'toString' }, {}, { Terminated: {} }]) {
    expect(() => eventText(event as unknown as Event)).toThrow(Bug)
  }
})

test('a text that was kept is the one that is written, whatever becomes of the event', () => {
  const event = { ...SAMPLES.ImprovementOutput, output: 'metered' }
  const text = keepEventText(event)
  event.output = 'changed'
  expect(eventText(event)).toBe(text)
  expect(eventText({ ...event })).toContain('changed')
})
