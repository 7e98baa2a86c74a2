import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { CedarEngine } from '../../../src/policy/cedar/cedar-engine.ts'
import { parseSource } from '../../../src/policy/cedar/policy-source.ts'
import { BRACKETS_MAX, NESTING_MAX, readPolicyText } from '../../../src/policy/cedar/policy-text.ts'

const engine = new CedarEngine()
const when = (condition: string): string => `permit(principal, action, resource) when { ${condition} };`
const times = (text: string, count: number, between = ''): string => Array(count).fill(text).join(between)

test('the text is split at semicolons outside of strings, comments and brackets', () => {
  const text =
    'permit(principal, action, resource) when { context.a == ";" }; // no; end\nforbid(principal, action, resource);'
  const { parts, rest, problem } = readPolicyText(text)
  expect(problem).toBeNull()
  expect(rest).toEqual([])
  expect(parts.map((part) => part.text)).toEqual([
    'permit(principal, action, resource) when { context.a == ";" };',
    'forbid(principal, action, resource);',
  ])
  expect(parts.map((part) => text.slice(part.start, part.start + 6))).toEqual(['permit', 'forbid'])
})

test('brackets in strings and comments do not count', () => {
  const text = `// ${times('(', 100)}\n${when(`context.a == "${times('(', 100)}\\"${times('[', 100)}"`)}`
  expect(readPolicyText(text)).toMatchObject({ problem: null, parts: [{}] })
})

test('a comment ends at a carriage return as Cedar ends it, so nothing hides behind one', () => {
  const text = `// comment\r${when(`${times('(', 40)}true${times(')', 40)}`)}`
  expect(readPolicyText(text).problem).toMatchObject({
    line: 2,
    message: expect.stringContaining('brackets are nested'),
  })
})

test.each([
  ['parentheses', when(`${times('(', BRACKETS_MAX)}true${times(')', BRACKETS_MAX)}`)],
  ['sets', when(`${times('[', BRACKETS_MAX)}1${times(']', BRACKETS_MAX)} == 1`)],
  ['records', when(`${times('{a: ', BRACKETS_MAX)}1${times('}', BRACKETS_MAX)} == 1`)],
  ['open brackets', times('(', BRACKETS_MAX + 1)],
])('more than 32 nested %s are refused before any parse', (_, text) => {
  expect(readPolicyText(text).problem).toMatchObject({ severity: 'error', message: 'more than 32 brackets are nested' })
})

describe('chains nest without brackets, and are bounded too', () => {
  const chains: Record<string, (count: number) => string> = {
    '&&': (count) => when(times('context.a', count, ' && ')),
    '||': (count) => when(times('context.a', count, ' || ')),
    '+': (count) => when(`${times('1', count, ' + ')} == 1`),
    '.': (count) => when(`context${times('.a', count)}`),
    '["a"]': (count) => when(`context${times('["a"]', count)}`),
    '.isEmpty()': (count) => when(`context.a${times('.isEmpty()', count)}`),
    'else if': (count) => when(`${times('if context.a then true else ', count)}false`),
    'if in a condition': (count) => when(`${times('if ', count)}true${times(' then true else false', count)}`),
    'when clauses': (count) => `permit(principal, action, resource) ${times('when { true } ', count)};`,
    '!!!!(': (count) => when(`${times('!!!!(', count / 5)}true${times(')', count / 5)}`),
  }
  test.each(Object.entries(chains))(
    'a chain of %s is refused when it is long, and parsed when it is short [trap:cedar-deep-policy]',
    (_, chain) => {
      expect(readPolicyText(chain(NESTING_MAX * 5)).problem?.message).toMatch(/chains or nests|brackets are nested/)
      const short = chain(20)
      expect(readPolicyText(short).problem).toBeNull()
      expect(parseSource(engine, short).problems).toEqual([])
    },
  )

  test.each(Object.entries(chains))(
    'the longest accepted chain of %s is parsed, prepared and evaluated without a throw [trap:cedar-deep-policy]',
    (_, chain) => {
      let longest = 10
      while (longest < 1000 && readPolicyText(chain(longest + 5)).problem === null) longest += 5
      const loads = engine.loads
      expect(parseSource(engine, chain(longest)).problems).toEqual([])
      const slot = engine.lease()!
      engine.fill(slot, new Map([['chain', chain(longest)]]))
      const request = {
        principal: { type: 'A', id: '' },
        action: { type: 'A', id: '' },
        resource: { type: 'A', id: '' },
      }
      for (const a of [true, false]) {
        expect(engine.ask(slot, { ...request, context: { a }, entities: [] }).kind).toBe('Answered')
      }
      engine.release([slot])
      expect(engine.loads).toBe(loads)
    },
  )

  test('a large set is wide, not deep, and is accepted', () => {
    expect(readPolicyText(when(`[${times('"x"', 5000, ', ')}].contains(context.a)`)).problem).toBeNull()
  })
})

test('a string that does not end, a lone surrogate and a text beyond 1 MiB are refused at their place', () => {
  expect(readPolicyText('permit(principal,\n action, "x').problem).toMatchObject({ line: 2, column: 10 })
  expect(readPolicyText('permit(principal, action, "\ud800");').problem?.message).toContain('lone surrogate')
  expect(readPolicyText(`// ${'x'.repeat(1024 * 1024)}`).problem?.message).toContain('longer than 1048576 bytes')
})

test('a string of a megabyte is one token', () => {
  expect(readPolicyText(when(`context.a == "${'x\\"'.repeat(300_000)}"`)).parts).toHaveLength(1)
})

test('any text is either refused before Cedar, refused by Cedar, or split as Cedar splits it', () => {
  const piece = fc.constantFrom(
    'permit(principal, action, resource)',
    ';',
    '@id("a;b")',
    '// c; (\n',
    '"',
    '\\',
    '\r',
    '\n',
    '(',
    ')',
    '{',
    '}',
    'when',
    ' ',
    'forbid(principal, action == Action::"x;", resource) when { context has "a\\"b" };',
    'é',
    '/',
    '*',
  ) // prettier-ignore
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 14 }), (pieces) => {
      const text = pieces.join('')
      const { policies, problems } = parseSource(engine, text)
      const whole = engine.split(text)
      if (problems.length === 0) {
        expect(whole).toMatchObject({ kind: 'Parsed', value: { policies: policies.length, templates: 0 } })
      } else {
        expect(problems.map(({ message }) => message)).not.toContain('the text cannot be split into policies')
      }
    }),
    { numRuns: 300 },
  )
})
