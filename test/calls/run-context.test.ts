import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { authorizationBinding, type RunContext } from '../../src/calls/index.ts'
import { deepFreeze, digest } from '../../src/core/index.ts'
import { DEFAULT_LOOP_CONFIG } from '../../src/events/index.ts'

const context = (parts: Partial<RunContext> = {}): RunContext =>
  ({
    agent_id: '11111111-1111-4111-8111-111111111111',
    started_at: '2026-01-01T00:00:00.000001Z',
    iteration: 3,
    trusted_context: { budget: { limit: 10 } },
    config: { ...DEFAULT_LOOP_CONFIG, tool_definitions: [] },
    ...parts,
  }) as RunContext

describe('the binding of an iteration', () => {
  test('is the digest of its context, frozen or not, and the second time as well', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue()),
        fc.nat(0xffffffff),
        (trusted, iteration) => {
          const given = JSON.parse(JSON.stringify({ trusted }))
          const run = context({ trusted_context: given.trusted, iteration })
          const expected = digest({ ...run })
          expect(authorizationBinding(run)).toBe(expected)
          deepFreeze(run)
          expect(authorizationBinding(run)).toBe(expected)
          expect(authorizationBinding(run)).toBe(expected)
          expect(authorizationBinding(Object.freeze({ ...run }))).toBe(expected)
        },
      ),
    )
  })

  test('changes with each of its parts, though the others are the very same objects', () => {
    const run = deepFreeze(context())
    const others: Partial<RunContext>[] = [
      { agent_id: '22222222-2222-4222-8222-222222222222' as RunContext['agent_id'] },
      { started_at: '2026-01-01T00:00:00.000002Z' as RunContext['started_at'] },
      { iteration: 4 },
      { trusted_context: { budget: { limit: 11 } } },
      { config: { ...run.config, max_iterations: 7 } },
    ]
    const bindings = [{}, ...others].map((part) => authorizationBinding(deepFreeze({ ...run, ...part })))
    expect(new Set(bindings).size).toBe(6)
  })

  test('sees a change below what is frozen only at its top', () => {
    const budget = { limit: 10 }
    const trusted_context = Object.freeze({ budget })
    const config = deepFreeze(context().config)
    const before = authorizationBinding(Object.freeze(context({ trusted_context, config })))
    budget.limit = 11
    expect(authorizationBinding(Object.freeze(context({ trusted_context, config })))).not.toBe(before)
  })
})
