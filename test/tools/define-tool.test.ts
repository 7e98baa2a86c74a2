import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { spend } from '../../src/calls/index.ts'
import { digest, isFault } from '../../src/core/index.ts'
import { defineTool, toolbox } from '../../src/tools/index.ts'
import { grantOf, prepared, scopeOf, world } from './support.ts'

/** The tool in a box, with what its effect got. */
function typed<S extends z.ZodType>(input: S, parts: { approval?: boolean; risk?: 'low' | 'medium' | 'high' } = {}) {
  const got: unknown[] = []
  const made = defineTool({
    name: 'act',
    description: 'Acts.',
    input,
    ...parts,
    run: async (given) => {
      got.push(given)
      return 'done'
    },
  })
  const box = toolbox({ tools: [made] }, world)
  const prepare = (args: unknown) => prepared(box, 'act', typeof args === 'string' ? args : JSON.stringify(args))
  const perform = async (args: unknown) => {
    const call = prepare(args)
    const [observation] = await box.execute([spend(grantOf(call, box))], scopeOf(), new AbortController().signal)
    return { judged: call.arguments, got: got.at(-1), observation }
  }
  return { made, box, prepare, perform, got }
}

function refusal(work: () => unknown): { readonly code: string; readonly message: string; readonly hint?: string } {
  try {
    work()
  } catch (error) {
    if (isFault(error)) return { code: error.code, message: error.message, ...(error.hint ? { hint: error.hint } : {}) }
    throw error
  }
  return expect.unreachable('it was not refused')
}

const MAIL = z.object({ to: z.email(), text: z.string().trim().max(20), urgent: z.boolean().default(false) })

describe('the contract', () => {
  test('holds the JSON Schema of the input, closed against unknown members, and a digest over definition, risk and approval', () => {
    const { made } = typed(z.object({ a: z.string(), b: z.object({ c: z.number() }).optional() }), { approval: true })
    expect(made.definition.parameters).toEqual({
      type: 'object',
      properties: {
        a: { type: 'string' },
        b: { type: 'object', properties: { c: { type: 'number' } }, required: ['c'], additionalProperties: false },
      },
      required: ['a'],
      additionalProperties: false,
    })
    expect(made.contract).toMatchObject({
      action_id: 'tool_call::act',
      requires_approval: true,
      digest: digest({ definition: made.definition, risk: 'low', approval: true }),
    })
    expect(Object.isFrozen(made.contract) && Object.isFrozen(made.definition.parameters)).toBe(true)
  })

  test('has another digest when only the risk or only the approval is another', () => {
    const input = z.object({})
    const digests = [typed(input), typed(input, { risk: 'high' }), typed(input, { approval: true })]
    expect(new Set(digests.map(({ made }) => made.contract?.digest)).size).toBe(3)
  })

  test('tells the risk to whoever judges the call', () => {
    expect(typed(z.object({}), { risk: 'high' }).prepare({}).resolved).toEqual({ risk: 'high' })
  })

  test.each<[string, () => z.ZodType, string]>([
    ['a date', () => z.object({ a: z.date() }), 'Date cannot be represented'],
    ['a bigint', () => z.object({ a: z.bigint() }), 'BigInt cannot be represented'],
    ['a map', () => z.object({ a: z.map(z.string(), z.string()) }), 'Map cannot be represented'],
    ['a custom type', () => z.object({ a: z.custom(() => true) }), 'Custom types cannot be represented'],
    ['a file', () => z.object({ a: z.file() }), 'is a file'],
    ['no object', () => z.string(), 'must be an object'],
    [
      'a choice of objects',
      () => z.union([z.object({ a: z.string() }), z.object({ b: z.string() })]),
      'must be an object',
    ],
    [
      'a pattern with a flag',
      () => z.object({ a: z.string().regex(/^[a-z]$/i) }),
      '#/properties/a has a pattern with the flags "i"',
    ],
    [
      'a pattern of the old grammar',
      () => z.object({ a: z.string().regex(new RegExp(['^', '-$'].join('\\'))) }),
      'has a pattern that JSON Schema cannot say',
    ],
    [
      'a default behind a transform',
      () =>
        z.object({
          a: z
            .string()
            .transform((s) => s.length)
            .default(3),
        }),
      '.prefault()',
    ],
    ['a member called constructor', () => z.object({ constructor: z.string() }), 'a member "constructor"'],
    ['something else', () => ({ parse: () => 1 }) as never, 'not a schema of zod 4'],
    ['nothing', () => undefined as never, 'not a schema of zod 4'],
  ])('%s is refused when the tool is defined', (_what, input, says) => {
    const { code, message } = refusal(() => typed(input()))
    expect(code).toBe('CONFIG_INVALID')
    expect(message).toContain(says)
  })

  test('objects that are put together are one object, closed as the parts are', () => {
    const { prepare } = typed(
      z.object({ one: z.intersection(z.object({ a: z.string() }), z.object({ b: z.string() })) }),
    )
    expect(prepare({ one: { a: 'x', b: 'y' } }).arguments).toEqual({ one: { a: 'x', b: 'y' } })
    expect(refusal(() => prepare({ one: { a: 'x', b: 'y', c: 'z' } })).message).toContain('#/one/c')
  })

  test.each([
    ['a name with a space', { name: 'has space', description: 'd' }, /its name must be/],
    ['no name', { name: '', description: 'd' }, /its name must be/],
    ['no description', { name: 'look', description: ' ' }, /it has no description/],
  ])('%s is refused when the tool is defined', (_, words, says) => {
    const spec = { ...words, input: z.object({}), run: async () => 'x' }
    expect(() => defineTool(spec)).toThrow(says)
  })

  test('a risk of no name is refused', () => {
    expect(refusal(() => typed(z.object({}), { risk: 'deadly' as never })).message).toContain('its risk')
  })
})

describe('the arguments', () => {
  test('reach the effect as zod makes them, and are judged with defaults filled in and in their normal form', async () => {
    const { judged, got, observation } = await typed(MAIL).perform({ to: 'a@example.org', text: ' hi ' })
    expect(judged).toEqual({ to: 'a@example.org', text: 'hi', urgent: false })
    expect(got).toEqual(judged)
    expect(observation).toMatchObject({ content: 'done', is_error: false })
  })

  const seconds = z.number().transform((n) => n * 1000) // given again, it would become something else again
  test.each<[string, z.ZodType, unknown, unknown]>([
    [
      'beside',
      z.object({ env: z.string().trim(), wait: seconds }),
      { env: ' prod ', wait: 1 },
      { env: 'prod', wait: 1 },
    ],
    [
      'deep in an object beside',
      z.object({ o: z.object({ env: z.string().trim(), wait: seconds }) }),
      { o: { env: ' prod ', wait: 1 } },
      { o: { env: 'prod', wait: 1 } },
    ],
    [
      'in an item beside',
      z.object({ l: z.array(z.object({ env: z.string().trim(), wait: seconds })) }),
      {
        l: [
          { env: ' prod', wait: 1 },
          { env: 'prod ', wait: 2 },
        ],
      },
      {
        l: [
          { env: 'prod', wait: 1 },
          { env: 'prod', wait: 2 },
        ],
      },
    ],
    [
      'as another item than',
      z.object({ l: z.tuple([z.string().trim(), seconds]) }),
      { l: [' prod', 1] },
      { l: ['prod', 1] },
    ],
  ])('one %s a member without a normal form is judged in its own', async (_where, input, args, judged) => {
    const performed = await typed(input).perform(args)
    expect(performed.judged).toEqual(judged)
    expect(performed.got).toEqual(input.parse(args))
  })

  test('thousands of them are brought into their form at once, or the call is refused, and nobody waits for long', () => {
    const names = Array.from({ length: 4000 }, (_, at) => `k${at}`)
    const args = Object.fromEntries(names.map((name) => [name, ' a']))
    const trimmed = typed(z.record(z.string(), z.string().trim())).prepare(args).arguments
    expect(new Set(Object.values(trimmed ?? {}))).toEqual(new Set(['a']))
    const longer = typed(
      z.record(
        z.string(),
        z.string().transform((text) => `${text}!`),
      ),
    )
    expect(refusal(() => longer.prepare(args))).toMatchObject({
      code: 'CALL_INVALID',
      message: expect.stringContaining('too many of its arguments become something else'),
    })
  })

  test('two spellings that zod makes equal are one call with one fingerprint', () => {
    const { prepare } = typed(z.object({ env: z.string().trim().toLowerCase() }))
    expect(prepare({ env: ' PROD' }).fingerprint).toBe(prepare({ env: 'prod' }).fingerprint)
  })

  test('a transform into another type happens behind the gate, and the arguments beside it keep their normal form', async () => {
    const input = z.object({
      env: z.string().transform((text) => text.trim()),
      count: z.string().transform(Number),
      at: z.codec(z.iso.datetime(), z.date(), {
        decode: (text) => new Date(text),
        encode: (date) => date.toISOString(),
      }),
    })
    const { judged, got } = await typed(input).perform({ env: ' prod', count: '12', at: '2026-01-01T00:00:00Z' })
    expect(judged).toEqual({ env: 'prod', count: '12', at: '2026-01-01T00:00:00Z' })
    expect(got).toEqual({ env: 'prod', count: 12, at: new Date('2026-01-01T00:00:00Z') })
  })

  test('a transform that would change its own result again leaves what was given to be judged', async () => {
    const { judged, got } = await typed(
      z.object({ ms: z.number().transform((s) => s * 1000), a: z.string().trim() }),
    ).perform({
      ms: 2,
      a: ' x',
    })
    expect(judged).toEqual({ ms: 2, a: 'x' })
    expect(got).toEqual({ ms: 2000, a: 'x' })
  })

  test('what a choice of objects drops is gone before anybody judges it', async () => {
    const either = z.union([z.object({ a: z.string() }), z.object({ a: z.string(), b: z.string() })])
    const { judged, got } = await typed(z.object({ one: either })).perform({ one: { a: 'x', b: 'y' } })
    expect(judged).toEqual({ one: { a: 'x' } })
    expect(got).toEqual(judged)
  })

  test('a prefault is judged, at every depth, as what it becomes', async () => {
    const input = z.object({
      inner: z.object({ a: z.string().trim().prefault(' x ') }),
      list: z.array(z.object({ n: z.int().default(1) })),
    })
    const { judged } = await typed(input).perform({ inner: {}, list: [{}, { n: 2 }] })
    expect(judged).toEqual({ inner: { a: 'x' }, list: [{ n: 1 }, { n: 2 }] })
  })

  test('what policy judged, given again, is judged as the same and gives the effect the same', async () => {
    const input = z.object({
      a: z.string().trim().max(8).optional(),
      b: z.array(z.string().toUpperCase()).default(['X']),
      c: z.record(z.string(), z.int().catch(0)).optional(),
      d: z.preprocess((value) => value ?? 7, z.int()).optional(),
    })
    const { perform } = typed(input)
    await fc.assert(
      fc.asyncProperty(
        fc.record(
          {
            a: fc.string({ maxLength: 9 }),
            b: fc.array(fc.string()),
            c: fc.dictionary(fc.stringMatching(/^[a-z]{1,4}$/), fc.integer()),
            d: fc.integer(),
          },
          { requiredKeys: [] },
        ),
        async (args) => {
          const first = await perform(args).catch((error) => error)
          if (isFault(first, 'CALL_INVALID')) return
          const again = await perform(first.judged)
          expect(again.judged).toEqual(first.judged)
          expect(again.got).toEqual(first.got)
        },
      ),
      { numRuns: 60 },
    )
  })

  test.each([
    ['of the schema', MAIL, { to: 'a@b.de', text: 1 }, '#/text', 'type'],
    [
      'of zod',
      z.object({ a: z.object({ b: z.array(z.string().refine((s) => s !== 'no', 'not that')) }) }),
      { a: { b: ['no'] } },
      '#/a/b/0',
      'custom: not that',
    ],
    [
      'about two arguments',
      z.object({ a: z.int(), b: z.int() }).refine(({ a, b }) => a < b, { path: ['b'], message: 'too low' }),
      { a: 2, b: 1 },
      '#/b',
      'too low',
    ],
    [
      'about a member inside that nobody knows',
      z.object({ a: z.object({ b: z.string() }) }),
      { a: { b: 'x', c: 'y' } },
      '#/a/c',
      'additionalProperties',
    ],
  ] as const)('the refusal names the place and the rule %s', (_what, input, args, place, rule) => {
    const { code, message } = refusal(() => typed(input as z.ZodType).prepare(args))
    expect(code).toBe('CALL_INVALID')
    expect(message).toContain(place)
    expect(message).toContain(rule)
  })

  test.each(['__proto__', 'constructor', 'prototype'])(
    'a member called "%s" is refused at every depth, before policy',
    (name) => {
      const { prepare } = typed(z.looseObject({ free: z.record(z.string(), z.json()) }))
      for (const args of [
        `{"free":{},"${name}":1}`,
        `{"free":{"${name}":{"polluted":true}}}`,
        `{"free":{"a":[{"${name}":1}]}}`,
      ]) {
        const { code, message, hint } = refusal(() => prepare(args))
        expect(code).toBe('CALL_INVALID')
        expect(message).toContain(name)
        expect(hint).not.toBe('')
      }
      expect(({} as Record<string, unknown>).polluted).toBeUndefined()
    },
  )

  test('a rule that answers later, or throws, refuses the call and has no effect', () => {
    const later = typed(z.object({ a: z.string().refine(async () => true) }))
    expect(refusal(() => later.prepare({ a: 'x' })).message).toContain('a rule of its schema failed')
    const throwing = typed(
      z.object({
        a: z.string().transform(() => {
          throw new Error('broken')
        }),
      }),
    )
    expect(refusal(() => throwing.prepare({ a: 'x' })).message).toContain('broken')
  })
})
