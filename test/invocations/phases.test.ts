import { expect, test } from 'vitest'
import { Fault, isFault } from '../../src/core/index.ts'
import { EVENTS, type Event, type NewEntry } from '../../src/events/index.ts'
import { identityOf, invocationLog } from '../../src/invocations/index.ts'
import { next } from '../../src/invocations/phases.ts'
import { bufferedLog } from '../../src/journal/index.ts'
import { nodeWorld } from '../../src/world/index.ts'
import { PRINCIPAL, RUNS, requestOf, started, terminated, toolCall, write } from '../support/invocation-runs.ts'

const identity = identityOf(requestOf())
const entry = (event: Event): NewEntry => ({
  timestamp: nodeWorld().clock.wall(),
  agent_id: PRINCIPAL,
  iteration: 0,
  event,
})

test('next() allows one start, then anything, then one end, and no other order', () => {
  for (const kind of Object.keys(EVENTS) as Event['kind'][]) {
    const event = { kind } as Event
    const after = (phase: 'Ready' | 'Running' | 'Closed'): string => {
      try {
        return next(phase, event)
      } catch (error) {
        return isFault(error, 'JOURNAL_REFUSED') ? 'refused' : String(error)
      }
    }
    expect(after('Ready')).toBe(kind === 'Started' ? 'Running' : 'refused')
    expect(after('Running')).toBe(kind === 'Started' ? 'refused' : kind === 'Terminated' ? 'Closed' : 'Running')
    expect(after('Closed')).toBe('refused')
  }
})

test('Started gains the invocation, keeps its context, and cannot name another', async () => {
  const inner = bufferedLog()
  const context = { budget: { limit: 5 }, invocation: { id: 'forged' } }
  await invocationLog(inner, identity).append([entry({ ...started, execution_context: context } as Event)])
  const { id, scope, request_hash } = identity
  expect(inner.entries[0]?.event).toMatchObject({
    kind: 'Started',
    execution_context: { budget: { limit: 5 }, invocation: { id, scope, request_hash } },
  })
})

test('a whole run in one list is one append', async () => {
  const inner = bufferedLog()
  await invocationLog(inner, identity).append(RUNS.complete.map(entry))
  expect(inner.entries.map(({ event }) => event.kind)).toEqual(RUNS.complete.map(({ kind }) => kind))
})

test('a list with one entry out of order is refused whole, and changes nothing', async () => {
  const inner = bufferedLog()
  const log = invocationLog(inner, identity)
  const bad = [started, terminated(), ...toolCall('recorded')].map(entry)
  await expect(log.append(bad)).rejects.toMatchObject({ code: 'JOURNAL_REFUSED' })
  expect(inner.entries).toHaveLength(0)
  await write(log, RUNS.complete)
  expect(inner.entries).toHaveLength(RUNS.complete.length)
})

test('lists that are handed over before the first is durable are judged behind it', async () => {
  const inner = bufferedLog()
  const log = invocationLog(inner, identity)
  const [first, second, third] = [
    log.append([entry(started)]),
    log.append([entry(started)]),
    log.append([entry(terminated())]),
  ]
  await expect(second).rejects.toMatchObject({ code: 'JOURNAL_REFUSED' })
  await first
  await third
  expect(inner.entries.map(({ event }) => event.kind)).toEqual(['Started', 'Terminated'])
})

test.each(['JOURNAL_CHANGED', 'RECONCILIATION_REQUIRED'] as const)(
  'an append that the journal answers with %s closes the log for good',
  async (code) => {
    const cause = new Fault(code, { message: 'Cannot append' })
    let asked = 0
    const log = invocationLog(
      {
        audit: null,
        append: async () => {
          asked += 1
          if (asked === 2) throw cause
        },
      },
      identity,
    )
    await write(log, [started])
    await expect(write(log, toolCall('missing'))).rejects.toBe(cause)
    await expect(write(log, [terminated()])).rejects.toMatchObject({ code: 'JOURNAL_FAILED', cause })
    expect(asked).toBe(2)
  },
)
