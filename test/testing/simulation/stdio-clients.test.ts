/** Lives in which a tool client starts processes of its own: what happens to them, and that it really does. */
import { describe, expect, test } from 'vitest'
import { simulate } from '../../../src/testing/index.ts'
import { live } from '../../../src/testing/simulation/life/life.ts'
import { type PlannedEvent, planOf } from '../../../src/testing/simulation/life/plan.ts'

const WAIT_MS = 60_000
/** Its calls 0 and 1 are allowed, and their effects work. */
const SEED = 15

function call(number: number, identified: boolean, wait: boolean): PlannedEvent {
  return { kind: 'stdio', step: { do: 'call', call: number, identified, wait } }
}

/** What of a life is about these processes and their client, without the time. */
async function told(events: readonly PlannedEvent[], seed = SEED): Promise<readonly string[]> {
  const { violations, trace } = await live({ seed, events })
  expect(violations).toEqual([])
  return trace
    .map((line) => line.slice(line.indexOf('ms  ') + 4))
    .filter((line) => /life 1\d{3}|stdio|^Settled/.test(line))
}

const at = (lines: readonly string[], what: RegExp): number => lines.findIndex((line) => what.test(line))

describe('a tool client that starts processes of its own', () => {
  test(
    'has effects over one, which is killed in the middle of one, and hears from the next what was recorded',
    async () => {
      const lines = await told([
        call(0, true, true),
        call(1, false, false),
        { kind: 'end', request: 2, after: 4, how: 'killed' },
        { kind: 'stdio', step: { do: 'await' } },
        call(0, true, true),
      ])
      const story = [
        /^Started {2}life 1001/,
        /^EffectBegan {2}life 1001 .*token c0/,
        /^Told {2}client stdio .*"Done","content":"done","replayed":false.*token c0/,
        /^EffectBegan {2}life 1001 .*token c1/,
        /^Crashed {2}life 1001 {2}how kill/,
        /^Started {2}life 1002/,
        /^Told {2}client stdio .*"Done","content":"done","replayed":true.*token c0/,
        /^Closed {2}life 1002/,
        /^Settled {2}surface identified .*request c0 .*"replayed":true/,
      ].map((what) => at(lines, what))
      expect(story).toEqual(story.toSorted((left, right) => left - right))
      expect(story).not.toContain(-1)
      expect(lines.filter((line) => line.startsWith('EffectBegan'))).toHaveLength(2)
      expect(at(lines, /^Told .*token c1/)).toBe(-1)
    },
    WAIT_MS,
  )

  test(
    'loses its process with the power before the receipt of a call, and hears from the next that nobody knows',
    async () => {
      const lines = await told([call(0, true, true), call(0, true, true), { kind: 'crash', at: 170, how: 'power' }])
      expect(at(lines, /^EffectBegan {2}life 1001/)).toBeGreaterThan(-1)
      expect(at(lines, /^Crashed {2}life 1001 {2}how power/)).toBeGreaterThan(-1)
      expect(lines.filter((line) => line.startsWith('EffectBegan'))).toHaveLength(1)
      expect(at(lines, /^Told {2}client stdio .*"INVOCATION_UNRESOLVED"/)).toBeGreaterThan(-1)
      expect(at(lines, /^Settled {2}surface identified .*"INVOCATION_UNRESOLVED"/)).toBeGreaterThan(-1)
    },
    WAIT_MS,
  )

  test(
    'asks nothing more once it was killed together with its process',
    async () => {
      const lines = await told([
        call(0, false, true),
        call(1, true, true),
        { kind: 'end', request: 0, after: 10, how: 'gone' },
      ])
      expect(lines.filter((line) => /^(?:Asked|Told) {2}client stdio/.test(line))).toHaveLength(1)
      expect(at(lines, /^Crashed {2}life 1001 {2}how kill/)).toBeGreaterThan(-1)
    },
    WAIT_MS,
  )

  test(
    'has an end recorded by a process that is asked to end while a call is under way',
    async () => {
      const lines = await told([call(0, true, true), { kind: 'end', request: 1, after: 30, how: 'stopped' }])
      expect(at(lines, /^Crashed/)).toBe(-1)
      expect(lines).toContainEqual(expect.stringMatching(/^Closed {2}life 1001 {2}held \{(?:"[a-z]+":0,?)+\}$/))
    },
    WAIT_MS,
  )

  test('is in one life of eight, and none of its calls is of another client', () => {
    let lives = 0
    for (let seed = 1; seed <= 2_000; seed += 1) {
      const { events } = planOf(seed)
      const callsOf = (kind: 'tools' | 'stdio'): readonly number[] =>
        events.flatMap((event) => (event.kind === kind && event.step.do === 'call' ? [event.step.call] : []))
      const own = new Set(callsOf('stdio'))
      if (own.size > 0) lives += 1
      expect(callsOf('tools').filter((number) => own.has(number))).toEqual([])
    }
    expect(lives / 2_000).toBeCloseTo(1 / 8, 1)
  })

  test(
    'lives the same life each time',
    async () => {
      const first = await simulate({ seed: 394 })
      expect(first.met['stdio processes']).toBeGreaterThan(2)
      expect(first.met['stdio kills']).toBeGreaterThan(0)
      expect((await simulate({ seed: 394 })).trace).toEqual(first.trace)
    },
    WAIT_MS,
  )
})
