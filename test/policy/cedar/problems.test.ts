import fc from 'fast-check'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { CedarEngine } from '../../../src/policy/cedar/cedar-engine.ts'
import { compileSet, inspectSet } from '../../../src/policy/cedar/policy-set.ts'
import { Lines, Problems, problemFault } from '../../../src/policy/cedar/problems.ts'
import { checkPolicyText } from '../../../src/policy/index.ts'
import { entry } from '../support.ts'

const engine = new CedarEngine()
afterEach(() => void vi.restoreAllMocks())

describe('the place of an index in a text', () => {
  const piece = fc.constantFrom('a', 'é', '\u{1F600}', ' ', '\n', '\r', '\r\n', 'word')
  const text = fc.array(piece, { maxLength: 30 }).map((pieces) => pieces.join(''))

  test('is the line and the character that whoever splits the text before it finds', () => {
    fc.assert(
      fc.property(text, fc.nat(), (text, chance) => {
        const index = chance % (text.length + 1)
        const isInside =
          /[\uD800-\uDBFF]$|\r$/.test(text.slice(0, index)) && /^[\uDC00-\uDFFF\n]/.test(text.slice(index))
        fc.pre(!isInside)
        const before = text.slice(0, index).split(/\r\n|\n|\r/)
        const last = before.at(-1) ?? ''
        const source = last + text.slice(index).split(/\r\n|\n|\r/, 1)[0]
        const place = { line: before.length, column: [...last].length + 1, source }
        expect(new Lines(text).at(index)).toEqual(place)
      }),
    )
  })

  test('tells of a long line its first 400 characters', () => {
    const place = new Lines(`a\n${'b'.repeat(1000)}\nc`).at(700)
    expect(place).toEqual({ line: 2, column: 699, source: 'b'.repeat(400) })
  })
})

describe('the problems of one text', () => {
  function found(count: number): Problems {
    const problems = new Problems('x\n'.repeat(count), 'error')
    for (let nth = 0; nth < count; nth += 1) problems.add(() => 2 * nth, `the ${nth + 1}.`, null)
    return problems
  }

  test('are all told while there are a hundred of them', () => {
    expect(found(0).list()).toEqual([])
    expect(found(100).list('a.cedar')).toHaveLength(100)
    expect(found(100).list('a.cedar').at(-1)).toMatchObject({ line: 100, message: 'the 100.', file: 'a.cedar' })
  })

  test('behind the hundredth are one, at the place of the first, that says how many they are', () => {
    expect(found(101).list('a.cedar')).toHaveLength(101)
    expect(found(101).list('a.cedar').at(-1)).toMatchObject({
      line: 101,
      message: 'and one more from here on',
      count: 1,
    })
    const last = found(1000).list('a.cedar')[100]
    expect(last).toMatchObject({ severity: 'error', line: 101, message: 'and 900 more from here on', count: 900 })
    expect(found(1000).list()).toHaveLength(101)
  })

  test('are all counted where the first is thrown', () => {
    expect(problemFault(found(1).list()).message).not.toContain('more')
    expect(problemFault(found(3).list()).message).toContain('(and 2 more)')
    expect(problemFault(found(1000).list()).message).toContain('(and 999 more)')
  })
})

describe('of a text in which every policy is wrong', () => {
  const COUNT = 500
  test.each([
    ['has the same name', '@id("x")\npermit(principal, action, resource);\n', COUNT - 1],
    ['has a name of two lines', '@id("\\n")permit(principal, action, resource);\n', 2 * COUNT - 1],
    ['is a template', 'permit(principal == ?principal, action, resource);\n', COUNT],
    ['calls what is not there', 'permit(principal, action, resource) when { foo(1) };\n', COUNT],
    ['cannot be parsed', 'permit(principal, action, resource) when { 1 + };\n', COUNT],
  ])('and %s, at most 101 places are looked up for each kind, and the others counted', (_, policy, count) => {
    const at = vi.spyOn(Lines.prototype, 'at')
    const { problems } = inspectSet(engine, [entry('a', policy.repeat(COUNT))])
    expect(problems.reduce((sum, problem) => sum + (problem.count ?? 1), 0)).toBe(count)
    expect(problems.length).toBeLessThanOrEqual(count > COUNT ? 202 : 101)
    expect(at.mock.calls.length).toBeLessThanOrEqual(count > COUNT ? 202 : 101)
  })

  test('and reads what may be absent, 101 warnings say so', () => {
    const at = vi.spyOn(Lines.prototype, 'at')
    const { problems, policies } = checkPolicyText(
      'forbid(principal, action, resource) when { context.x };\n'.repeat(COUNT),
    )
    expect([policies, problems.length, at.mock.calls.length]).toEqual([COUNT, 101, 101])
    expect(problems.at(-1)).toMatchObject({ severity: 'warning', line: 101, count: COUNT - 100 })
  })
})

test('a set that was compiled before is compared entry by entry, however many policies an entry holds', () => {
  const source = 'permit(principal, action, resource);\n'.repeat(500)
  const before = compileSet(engine, [entry('a', source), entry('b', source)])
  const stringify = vi.spyOn(JSON, 'stringify')
  const again = compileSet(engine, [entry('a', source), entry('b', source)], before)
  expect(stringify.mock.calls.length).toBeLessThanOrEqual(4)
  expect(again.policies.every((policy, index) => policy === before.policies[index])).toBe(true)
})
