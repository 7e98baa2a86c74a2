import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Json, JsonObject } from '../../../src/core/index.ts'
import { snapshotOf } from '../../../src/policy/approvals/held-call.ts'
import { type HeldAction, reviewDigest, reviewText, terminalReview } from '../../../src/policy/index.ts'
import { AGENT, toolQuestion } from '../support.ts'

function heldOf(name: string, args: JsonObject, parts: Partial<HeldAction> = {}): HeldAction {
  const { call, run } = toolQuestion(name, { arguments: args })
  const id = '0123456789abcdef'
  return {
    id,
    agent_id: AGENT,
    kind: 'tool_call',
    summary: 's',
    reason: 'r',
    context_snapshot: snapshotOf(id, call, run) as Json,
    created_at: '2026-01-01T00:00:00.000001Z' as never,
    expires_at: '2026-01-01T00:02:00.000001Z' as never,
    status: 'pending',
    ...parts,
  }
}

const PRINTABLE = /^[\x20-\x7e\n]*$/
/** The body, as anybody can take it out of the text again. */
function bodyOf(text: string): string {
  const lines = text.split('\n').slice(2, -2)
  return lines
    .map((line) => (line.startsWith('> ') ? line.slice(2) : `\n${line.slice(2)}`))
    .join('')
    .slice(1)
}

const json = fc
  .jsonValue({ maxDepth: 3 })
  .map((value) => JSON.parse(JSON.stringify(value).replaceAll('-0', '0')) as Json)
const wild = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 40 }),
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.constantFrom(
    '\u202e',
    '\u001b[2J\u001b[H',
    '\r\n',
    '\n| }\nend of the review of 0123456789abcdef\n',
    'p\u0430y',
    '\\u0430',
    '\u0000',
    '\u007f',
    '\u2028',
  ),
)
const calls = fc.tuple(wild, fc.dictionary(wild, fc.oneof(wild, json), { maxKeys: 4 })).map(([name, args]) => ({
  name: name.toWellFormed(),
  args: JSON.parse(
    JSON.stringify(args, (_, value) => (typeof value === 'string' ? value.toWellFormed() : value)).toWellFormed(),
  ) as JsonObject,
}))

describe('the review text', () => {
  test('is printable ASCII whatever it shows, and says all of it: its body is the JSON', () => {
    fc.assert(
      fc.property(calls, ({ name, args }) => {
        const held = heldOf(name, args)
        const text = reviewText(held)
        expect(text).toMatch(PRINTABLE)
        const { status: _, context_snapshot, ...about } = held
        expect(JSON.parse(bodyOf(text))).toEqual(JSON.parse(JSON.stringify({ ...about, asked: context_snapshot })))
      }),
    )
  })

  test('begins with what a person decides by: the reason, then the tool with its arguments', () => {
    const text = reviewText(heldOf('pay', { zebra: 1, arguments: 2, account: 3 }))
    const names = [...text.matchAll(/^\| +"(\w+)":/gm)].map(([, name]) => name)
    expect(names.slice(0, 4)).toEqual(['reason', 'asked', 'invocation', 'action'])
    const own = names.slice(names.lastIndexOf('account'))
    expect(own.slice(0, 3), 'the arguments themselves have the order of all JSON here').toEqual([
      'account',
      'arguments',
      'zebra',
    ])
    expect(own.slice(3, 4)).toEqual(['contract'])
  })

  test('differs for two calls that differ in name or arguments, and so does its digest', () => {
    fc.assert(
      fc.property(calls, calls, (left, right) => {
        const same = JSON.stringify([left.name, sorted(left.args)]) === JSON.stringify([right.name, sorted(right.args)])
        const [one, other] = [heldOf(left.name, left.args), heldOf(right.name, right.args)]
        expect(reviewText(one) === reviewText(other)).toBe(same)
        expect(reviewDigest(one) === reviewDigest(other)).toBe(same)
      }),
    )
  })

  test('has a mark before every line of its body, and no line beyond 80 columns, so that no content can look like the rest', () => {
    fc.assert(
      fc.property(calls, ({ name, args }) => {
        const lines = reviewText(heldOf(name, args)).split('\n')
        expect(lines[0]).toBe('review of the held action 0123456789abcdef')
        expect(lines.at(-2)).toBe('end of the review of 0123456789abcdef')
        expect(lines.at(-1)).toBe('')
        expect(lines.slice(2, -2).every((line) => /^[|>] /.test(line) && line.length <= 80)).toBe(true)
      }),
    )
  })

  test('states the length and the digest of its body', () => {
    const held = heldOf('pay', { amount: 5, note: 'a\u202eb' })
    const text = reviewText(held)
    const body = bodyOf(text)
    expect(text.split('\n')[1]).toBe(`body: ${body.length} bytes, ${reviewDigest(held)}`)
    expect(text).toContain('"note": "a\\u202eb"')
  })

  test('does not change with the status', () => {
    expect(reviewText(heldOf('pay', {}, { status: 'approved' }))).toBe(reviewText(heldOf('pay', {})))
  })

  test('stays in proportion for deep and wide values', () => {
    let deep: Json = 'x'
    for (let at = 0; at < 100; at += 1) deep = [deep]
    const wide = Array.from({ length: 5_000 }, () => 0)
    expect(reviewText(heldOf('pay', { deep, wide })).length).toBeLessThan(40 * 2 * 5_300)
  })

  test('is not given to a terminal beyond 64 KiB', () => {
    expect(terminalReview(heldOf('pay', { text: 'x'.repeat(20_000) }))).not.toBeNull()
    expect(terminalReview(heldOf('pay', { text: '\u00e9'.repeat(20_000) }))).toBeNull()
  })
})

function sorted(value: Json): Json {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .sort(([left], [right]) => (left < right ? -1 : 1))
      .map(([name, member]) => [name, sorted(member as Json)]),
  )
}
