import { describe, expect, test } from 'vitest'
import { CedarEngine } from '../../../src/policy/cedar/cedar-engine.ts'
import { parseSource } from '../../../src/policy/cedar/policy-source.ts'
import { cedarGate } from '../../../src/policy/index.ts'
import { decide, entry, toolQuestion } from '../support.ts'

const PERMIT = 'permit(principal, action, resource);'

/** The engine, with an answer of its own to one question. */
function engineWith(parts: Partial<Pick<CedarEngine, 'split' | 'parse' | 'fill' | 'release'>>): CedarEngine {
  return Object.assign(new CedarEngine(), parts)
}

describe('one source of policy text', () => {
  test('that begins with a byte order mark is refused at its first character', () => {
    expect(parseSource(new CedarEngine(), `\ufeff${PERMIT}`)).toMatchObject({
      policies: [],
      problems: [{ severity: 'error', line: 1, column: 1, message: 'the text begins with a byte order mark' }],
    })
  })

  test.each([
    ['more policies', { policies: 2, templates: 0 }],
    ['fewer policies', { policies: 0, templates: 0 }],
    ['a template as well', { policies: 1, templates: 1 }],
  ])('in which Cedar counts %s than we do is refused: both must mean the same', (_, value) => {
    const engine = engineWith({ split: () => ({ kind: 'Parsed', value }) })
    expect(parseSource(engine, `\n${PERMIT}`)).toMatchObject({
      policies: [],
      problems: [{ message: 'the text cannot be split into policies', hint: 'End each with ";"' }],
    })
  })

  test('with words behind its last policy is refused where they begin, even if Cedar let them pass', () => {
    const engine = engineWith({ split: () => ({ kind: 'Parsed', value: { policies: 1, templates: 0 } }) })
    expect(parseSource(engine, `${PERMIT}\n  more`).problems).toMatchObject([{ line: 2, column: 3 }])
  })

  test('at which the engine fails is a problem of that text, and says so', () => {
    const engine = new CedarEngine()
    const killed = () => {
      engine.parse(`permit(principal, action, resource) when { ${'('.repeat(400)}true${')'.repeat(400)} };`)
      throw new Error('it was not killed')
    }
    expect(parseSource(Object.assign(engine, { split: killed }), PERMIT)).toMatchObject({
      policies: [],
      problems: [{ line: 1, column: 1, message: expect.stringMatching(/^Cedar failed while it read this text/) }],
    })
  })

  test('at which something of ours breaks is no problem of the text', () => {
    const broken = () => {
      throw new TypeError('ours')
    }
    expect(() => parseSource(engineWith({ split: broken }), PERMIT)).toThrow('ours')
  })

  test('with an error that Cedar cannot place, or calls related, has all of them as problems', () => {
    const error = { message: 'first', help: null, code: null, url: null, severity: null }
    const related = [{ ...error, message: 'second', sourceLocations: [{ start: 7, end: 9, label: 'here' }] }]
    const engine = engineWith({ split: () => ({ kind: 'Errors', errors: [{ ...error, related }] }) })
    expect(parseSource(engine, PERMIT).problems).toMatchObject([
      { column: 1, message: 'first' },
      { column: 8, message: 'second: here' },
    ])
  })
})

describe('a set of policies that cannot be put into force', () => {
  const A = entry('a', 'permit(principal, action == Action::"tool_call::a", resource);')
  const next = ['b', 'c'].map((name) =>
    entry(name, `permit(principal, action == Action::"tool_call::${name}", resource);`),
  )

  test('for want of places in the engine is refused, and the policies from before stay in force', async () => {
    const engine = new CedarEngine()
    using gate = cedarGate({ policies: [A], default: 'deny', engine })
    while (engine.lease() !== null);
    expect(() => gate.replaceAll(next)).toThrow(
      expect.objectContaining({ code: 'POLICY_ENGINE', message: expect.stringContaining('all places') }),
    )
    expect((await decide(gate, toolQuestion('a'))).kind).toBe('Allow')
    expect((await decide(gate, toolQuestion('b'))).kind).toBe('Deny')
  })

  test('and cannot be taken back either denies what the old ones allowed, until the engine recovers', async () => {
    const engine = new CedarEngine()
    using gate = cedarGate({ policies: [A], default: 'deny', engine })
    const { fill, release } = engine
    const killed = () => {
      engine.parse(`permit(principal, action, resource) when { ${'('.repeat(400)}true${')'.repeat(400)} };`)
    }
    Object.assign(engine, { fill: killed, release: killed })
    expect(() => gate.replaceAll(next)).toThrow(expect.objectContaining({ code: 'POLICY_ENGINE' }))
    Object.assign(engine, { fill, release })
    expect((await decide(gate, toolQuestion('b'))).kind).toBe('Deny')
    expect(await decide(gate, toolQuestion('a'))).toEqual({ kind: 'Allow', policies: ['a'] })
  })
})
