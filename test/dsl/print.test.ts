import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { format, parse, print } from '../../src/dsl/index.ts'
import { source, withoutSpans } from './arbitrary-tree.ts'
import { EVERY_FORM } from './every-form.ts'

describe('print', () => {
  test('writes any tree as text that parses to an equal tree', () => {
    fc.assert(
      fc.property(source, (tree) => {
        const text = print(tree)
        const parsed = parse(text)
        expect(parsed.diagnostics, text).toEqual([])
        expect(withoutSpans(parsed.tree), text).toEqual(withoutSpans(tree))
      }),
      { numRuns: 500 },
    )
  })

  test('writes the tree of any text as a text with an equal tree', () => {
    const { tree, diagnostics } = parse(EVERY_FORM)
    expect(diagnostics).toEqual([])
    expect(withoutSpans(parse(print(tree)).tree)).toEqual(withoutSpans(tree))
  })

  test('writes what formatting would leave as it is', () => {
    fc.assert(
      fc.property(source, (tree) => {
        const text = print(tree)
        expect(format(text)).toBe(text)
      }),
      { numRuns: 200 },
    )
  })

  test.each([
    ['a string with every escape', '"\\" \\\\ \\b \\f \\n \\r \\t \\u0001 \\u202e é"'],
    ['a number with groups and a fraction', '1_000.50'],
    ['a duration with a named unit', '30.seconds'],
    ['a duration with a short unit', '2w'],
    ['a member of a number, which is no duration', '30 .seconds'],
    ['a member of a vault address', 'vault://team/key .text'],
    ['operators and parentheses', 'a || b && !(c == d) || not e in [1, -2]'],
    ['calls, members, indexes and named arguments', 'a.b(1, x: 2)[c].d()'],
    ['a record, a construct and a lambda', 'f({ a: 1, "b c": {} }, Point { x: 1 }, x => x + 1)'],
    ['an if with blocks on one line', 'if a { 1 } else if b { 2 } else {}'],
  ])('writes %s in one way', (_what, expression) => {
    const text = `function f() {\n    ${expression};\n}\n`
    expect(print(parse(text).tree)).toBe(text)
  })

  test('writes a tree without items as an empty line', () => {
    expect(print({ kind: 'source', span: { start: 0, end: 0 }, items: [] })).toBe('\n')
  })
})
