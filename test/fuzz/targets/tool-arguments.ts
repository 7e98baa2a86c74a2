/** Arguments that a model wrote, against the schema of a tool. */
import fc from 'fast-check'
import { checkArguments, proposedArguments } from '../../../src/calls/index.ts'
import { canonical, isFault, isJsonObject, type Json } from '../../../src/core/index.ts'
import type { ToolDefinition } from '../../../src/events/index.ts'
import { answer, must, plain, pure, type Target, textOf } from '../target.ts'

const DEFINITION: ToolDefinition = {
  name: 'look',
  description: 'looks',
  parameters: {
    type: 'object',
    properties: {
      city: { type: 'string', minLength: 1, maxLength: 20 },
      days: { type: 'integer', minimum: 1, maximum: 7 },
      when: { type: 'string', format: 'date-time' },
      tags: { type: 'array', items: { enum: ['a', 'b', null] }, maxItems: 3 },
      inner: {
        type: 'object',
        properties: { deep: { type: ['number', 'null'] } },
        required: ['deep'],
        additionalProperties: false,
      },
      either: { oneOf: [{ type: 'string' }, { type: 'object', additionalProperties: { type: 'boolean' } }] },
    },
    required: ['city'],
    additionalProperties: false,
  },
}

export const toolArguments: Target = {
  name: 'tool-arguments',
  property:
    'arguments that are taken are a plain object with the names and types of the schema, as the model wrote them; everything else is CALL_INVALID',
  seeds: [
    '{"city":"Ghent","days":3}',
    '{"city":"Ghent","when":"2026-03-04T10:11:12Z","tags":["a",null],"inner":{"deep":null},"either":{"x":true}}',
    '{"city":"","days":0,"constructor":1}',
    '   ',
    '{"city":"x","inner":{"deep":1,"prototype":{}},"__proto__":{}}',
  ],
  words: [
    '"city":',
    '"days":',
    '"when":',
    '"tags":',
    '"inner":',
    '"deep":',
    '"either":',
    '"constructor":',
    '"__proto__":',
    '2026-02-30T25:00:00Z',
    'null',
  ],
  fresh: fc
    .object({ key: fc.constantFrom('city', 'days', 'when', 'tags', 'inner', 'deep', 'either', 'x'), maxDepth: 3 })
    .map((value) => JSON.stringify(value)),
  bytesMax: 4096,
  steps: { fixed: 20_000, perByte: 150 },
  open: () => pure(check),
}

function check(input: Uint8Array): void {
  const text = textOf(input)
  const taken = answer(() => {
    const value = proposedArguments(DEFINITION.name, text)
    checkArguments(DEFINITION, value)
    return value
  })
  if (taken.kind === 'Fault') {
    must(isFault(taken.fault, 'CALL_INVALID'), 'a refusal is CALL_INVALID')
    return
  }
  const { value } = taken
  plain(value)
  must(canonical(value) === canonical(JSON.parse(text)), 'what is taken is what was written')
  must(fits(value), 'what is taken fits the schema as a person reads it')
}

/** The schema again, by hand. */
function fits({
  city,
  days = 1,
  when = '2026-01-01T00:00:00Z',
  tags = [],
  inner = { deep: null },
  either = '',
  ...others
}: {
  readonly [name: string]: Json
}): boolean {
  const units = typeof city === 'string' ? [...city].length : 0
  return (
    Object.keys(others).length === 0 &&
    units >= 1 &&
    units <= 20 &&
    Number.isInteger(days) &&
    Number(days) >= 1 &&
    Number(days) <= 7 &&
    typeof when === 'string' &&
    !Number.isNaN(Date.parse(when.replace(/:60(?=[.zZ+-])/, ':59').toUpperCase())) &&
    Array.isArray(tags) &&
    tags.length <= 3 &&
    tags.every((tag) => tag === 'a' || tag === 'b' || tag === null) &&
    isJsonObject(inner) &&
    Object.keys(inner).join() === 'deep' &&
    (inner.deep === null || typeof inner.deep === 'number') &&
    (typeof either === 'string' ||
      (isJsonObject(either) && Object.values(either).every((member) => typeof member === 'boolean')))
  )
}
