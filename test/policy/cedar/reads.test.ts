import fc from 'fast-check'
import { expect, test } from 'vitest'
import { CedarEngine, type CedarPolicyJson, type CedarRequest } from '../../../src/policy/cedar/cedar-engine.ts'
import { cedarValue } from '../../../src/policy/cedar/cedar-value.ts'
import { Judge } from '../../../src/policy/cedar/judge.ts'
import { readsOf, shown } from '../../../src/policy/cedar/reads.ts'
import { entry } from '../support.ts'

const engine = new CedarEngine()

/** Few names, so that paths meet in policies and contexts; some are special to somebody. */
const NAMES = ['a', 'b', 'c', 'Var', 'toString', '__proto__', 'x y'] as const
const name = fc.constantFrom(...NAMES)
const dotted = (names: readonly string[]): string => names.map((one) => `[${JSON.stringify(one)}]`).join('')
const path = fc.array(name, { maxLength: 4 }).map((names) => `context${dotted(names)}`)

const literal = fc.constantFrom('1', '"a"', 'true', 'false', 'Resource::"r"', '{}', '[]', '{a: 1}', 'decimal("1.5")')
const { expr } = fc.letrec<{ expr: string; leaf: string }>((tie) => {
  const one = tie('expr')
  const leaf = fc.oneof({ weight: 4, arbitrary: path }, literal, fc.constantFrom('principal', 'action', 'resource'))
  return {
    leaf,
    expr: fc.oneof(
      { depthSize: 'small', maxDepth: 4 },
      { weight: 3, arbitrary: leaf },
      fc.tuple(one, fc.constantFrom('&&', '||')).chain(([left, op]) => one.map((right) => `(${left} ${op} ${right})`)),
      fc
        .tuple(one, fc.constantFrom('==', '!=', '<', '+', 'in'), one)
        .map(([left, op, right]) => `((${left}) ${op} (${right}))`),
      fc.tuple(one, name).map(([left, attr]) => `((${left}) has ${JSON.stringify(attr)})`),
      fc
        .tuple(one, fc.array(fc.constantFrom('a', 'b', 'c'), { minLength: 2, maxLength: 3 }))
        .map(([left, steps]) => `((${left}) has ${steps.join('.')})`),
      fc.tuple(one, name).map(([left, attr]) => `(${left})[${JSON.stringify(attr)}]`),
      fc.tuple(one, one, one).map(([test, then, other]) => `(if ${test} then ${then} else ${other})`),
      fc.tuple(one, one).map(([left, right]) => `[${left}, ${right}]`),
      fc.tuple(one, name, one).map(([left, key, right]) => `{${JSON.stringify(key)}: ${left}, "other": ${right}}`),
      fc
        .tuple(one, fc.constantFrom('contains', 'containsAny', 'hasTag', 'getTag', 'lessThan'), one)
        .map(([left, method, right]) => `(${left}).${method}(${right})`),
      fc
        .tuple(one, fc.constantFrom('.isEmpty()', ' like "a*"', ' is Resource', ' is Resource in Resource::"r"'))
        .map(([left, end]) => `((${left})${end})`),
      fc.tuple(fc.constantFrom('!', '-'), one).map(([sign, value]) => `${sign}(${value})`),
    ),
  }
})

const scope = fc.constantFrom(
  'resource',
  'resource == Resource::"r"',
  'resource in Resource::"r"',
  'resource is Resource',
)
/** Conditions as people write them, which seldom fail. */
const guarded = fc
  .tuple(fc.array(name, { minLength: 1, maxLength: 3 }), fc.oneof(literal, path))
  .map(([names, other]) => {
    const guards = names.map((one, at) => `context${dotted(names.slice(0, at))} has ${JSON.stringify(one)}`)
    return [...guards, `context${dotted(names)} == ${other}`].join(' && ')
  })
const condition = fc.oneof(
  { weight: 2, arbitrary: guarded },
  fc.tuple(guarded, expr).map((both) => both.join(' || ')),
  expr,
)
const policy = fc
  .tuple(fc.constantFrom('permit', 'forbid'), scope, fc.constantFrom('when', 'unless'), condition)
  .map(([effect, what, kind, test]) => `${effect}(principal, action, ${what}) ${kind} { ${test} };`)

const leafValue = fc.oneof(
  fc.integer({ min: -2, max: 2 }),
  fc.constantFrom('a', 'ab', '', 1.5, true, false),
  fc.maxSafeInteger(),
  fc.double({ noNaN: true, noDefaultInfinity: true, max: 1e6, min: -1e6 }),
)
const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', maxDepth: 4 },
    leafValue,
    fc.dictionary(name, tie('value'), { maxKeys: 5 }),
    fc.array(tie('value'), { maxLength: 2 }),
  ),
}))
const asked = fc
  .record({
    context: fc.dictionary(name, value, { maxKeys: 6 }),
    entity: fc.boolean(),
    resource: fc.constantFrom('r', 's'),
  })
  .map(({ context, entity, resource }): CedarRequest => {
    const uid = { type: 'Resource', id: resource }
    return {
      principal: { type: 'Agent', id: 'x' },
      action: { type: 'Action', id: 'y' },
      resource: uid,
      context: cedarValue(plain(context), 'context') as CedarRequest['context'],
      entities: entity ? [{ uid, attrs: { a: 'a', Var: 'context', 'x y': 'b' }, parents: [] }] : [],
    }
  })

/** An integer beyond what Cedar takes is refused before it is asked; here there are none. */
function plain(value: unknown): unknown {
  if (typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value)) return 0
  return value
}

test('what is shown to Cedar gives the decision, the deciding policies and the errors of the full request', () => {
  const whole = engine.lease()!
  let [less, failed, decided] = [0, 0, 0]
  fc.assert(
    fc.property(
      fc.array(policy, { minLength: 1, maxLength: 4 }),
      fc.array(asked, { minLength: 1, maxLength: 4 }),
      (written, questions) => {
        using judge = new Judge(engine)
        const parsed = written.flatMap((source) => {
          const json = jsonOf(source) // a literal in the wrong place is no policy
          return json === null ? [] : [{ source, json }]
        })
        const sources = parsed.map(({ source }) => source)
        const names = sources.map((_, index) => `p${index}`)
        judge.replace(sources.map((source, index) => entry(names[index]!, source)))
        engine.fill(whole, new Map(sources.map((source, index) => [names[index]!, source])))
        const reads = readsOf(parsed)
        for (const request of questions) {
          const full = engine.ask(whole, request)
          const part = engine.ask(whole, shown(request, reads))
          if (full.kind !== 'Answered' || part.kind !== 'Answered') throw new Error('no answer')
          expect(part.decision).toBe(full.decision)
          expect([...part.reason].sort()).toEqual([...full.reason].sort())
          expect(part.errors.map(({ id }) => id).sort()).toEqual(full.errors.map(({ id }) => id).sort())

          const verdict = judge.judge(request)
          if (verdict.kind !== 'Judged') throw new Error('no verdict')
          expect(verdict.allowed).toBe(full.decision === 'allow')
          expect(verdict.policies.map((one) => one.name).sort()).toEqual([...full.reason].sort())
          const texts = (list: readonly { readonly id: string; readonly error: unknown }[]): string[] =>
            list.map(({ id, error }) => `${id}: ${JSON.stringify(error)}`).sort() // help included: it lists what is there
          expect(texts(verdict.failures.map((one) => ({ id: one.policy.name, error: one.error })))).toEqual(
            texts(full.errors),
          )
          if (JSON.stringify(shown(request, reads).context) !== JSON.stringify(request.context)) less += 1
          if (full.errors.length > 0) failed += 1
          if (full.reason.length > 0) decided += 1
        }
      },
    ),
    { numRuns: 150 },
  )
  expect(engine.loads).toBe(1)
  for (const seen of [less, failed, decided]) expect(seen).toBeGreaterThan(50) // or it proved nothing
}, 120_000)

function jsonOf(source: string): CedarPolicyJson | null {
  const parsed = engine.parse(source)
  return parsed.kind === 'Parsed' ? parsed.value : null
}

const CONTEXT = { a: { b: { c: 1, d: 2 }, e: 3 }, f: 'text', g: [{ h: 1 }], i: { j: 1 } }

function shownTo(condition: string): { context: unknown; entities: number } {
  const json = jsonOf(`permit(principal, action, resource) when { ${condition} };`)
  if (json === null) throw new Error(`no policy: ${condition}`)
  const request: CedarRequest = {
    principal: { type: 'Agent', id: 'x' },
    action: { type: 'Action', id: 'y' },
    resource: { type: 'Resource', id: 'r' },
    context: CONTEXT,
    entities: [{ uid: { type: 'Resource', id: 'r' }, attrs: {}, parents: [] }],
  }
  const { context, entities } = shown(request, readsOf([{ json }]))
  return { context: JSON.parse(JSON.stringify(context)), entities: entities.length }
}

test('policies without conditions are shown who asks for what, and nothing else', () => {
  expect(shownTo('true')).toEqual({ context: {}, entities: 0 })
  expect(shownTo('principal == Agent::"x" && resource in Resource::"r" && action != Action::"z"')).toEqual({
    context: {},
    entities: 0,
  })
})

test('of the context, the paths that are read are shown, and what is used as a value is whole', () => {
  expect(shownTo('context.a.b.c == 1')).toEqual({ context: { a: { b: { c: 1 } } }, entities: 0 })
  expect(shownTo('context.a.b == {c: 1} && context.f like "t*"')).toEqual({
    context: { a: { b: { c: 1, d: 2 } }, f: 'text' },
    entities: 0,
  })
  expect(shownTo('context has a.b && context has i')).toEqual({ context: { a: { b: {} }, i: {} }, entities: 0 })
  expect(shownTo('context.a.b.c == 1 && context.a == context.i')).toEqual({
    context: { a: CONTEXT.a, i: CONTEXT.i },
    entities: 0,
  })
  expect(shownTo('[context.f].containsAny(context.g) && (if context.i.j > 0 then true else context has a)')).toEqual({
    context: { a: {}, f: 'text', g: [{ h: 1 }], i: { j: 1 } },
    entities: 0,
  })
})

test('the context itself as a value is shown whole', () => {
  for (const condition of ['context == {a: 1}', '[context].contains({})', '{c: context}.c.f == ""']) {
    expect(shownTo(condition).context).toEqual(CONTEXT)
  }
  expect(shownTo('(if context.f == "" then context else {f: "x"}).f == ""').context).toEqual(CONTEXT)
})

test('entities are shown where a member or a tag of anything but the context is read', () => {
  for (const condition of [
    'resource has a',
    'resource.a == 1',
    'resource.hasTag("a")',
    '(if context.f == "" then principal else resource).a == 1',
    'Resource::"r" has a',
    '{r: resource}.r == principal',
  ]) {
    expect(shownTo(condition).entities).toBe(1)
  }
})

test('an operator of a later Cedar is shown everything', () => {
  const later = (body: unknown): CedarPolicyJson =>
    ({
      effect: 'permit',
      principal: { op: 'All' },
      action: { op: 'All' },
      resource: { op: 'All' },
      conditions: [{ kind: 'when', body }],
    }) as CedarPolicyJson
  for (const body of [
    { matches: { left: { Var: 'context' }, with: 'x' } },
    { Slot: '?principal' },
    { '==': { left: { Value: 1 } } },
    { Value: 1, Var: 'resource', like: {} },
  ]) {
    expect(readsOf([{ json: later(body) }])).toEqual({ context: null, entities: true })
  }
})
