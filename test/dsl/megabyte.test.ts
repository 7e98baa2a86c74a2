/** A mebibyte of the worst there is: it is parsed or refused, and never in a time that grows with the square of its length. */
import { expect, test } from 'vitest'
import { checkSource, parse, SOURCE_BYTES_MAX } from '../../src/dsl/index.ts'

const IN_BLOCK = 'agent a { function f() { '

test.each([
  ['{', ''],
  ['(', IN_BLOCK],
  ['"', ''],
  ['/*', ''],
  ['a.', IN_BLOCK],
  ['if ', IN_BLOCK],
  ['policy p {', ''],
  ['allow: "x" ', 'policy p { '],
  ['a=1 ', 'metadata { '],
  ['1s', ''],
  ['with a = 1 {} ', 'agent a { '],
])(
  'a mebibyte of %j',
  (piece, before) => {
    const length = SOURCE_BYTES_MAX - before.length - 1
    const text = `${before}${piece.repeat(Math.floor(length / Buffer.byteLength(piece)))}\n`
    const found = checkSource(parse(text))
    expect(found.length).toBeLessThanOrEqual(100)
    expect(found.length).toBeGreaterThan(0)
  },
  60_000,
)
