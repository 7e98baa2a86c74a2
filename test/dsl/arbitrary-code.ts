/**
 * Arbitrary expressions, statements and blocks, of exactly the shapes that a text can be parsed to: no operand that would need
 * parentheses and has no `Group`, no record where a brace opens a block, nothing behind a lambda that its body would swallow.
 */
import fc, { type Arbitrary } from 'fast-check'
import type {
  Argument,
  Block,
  Catch,
  Expression,
  Field,
  If,
  IfExpression,
  LetPattern,
  MatchArm,
  Name,
  NumberLiteral,
  Pattern,
  RecordLiteral,
  Statement,
  StringLiteral,
} from '../../src/dsl/tree.ts'

export const span = { start: 0, end: 0 }
const DEPTH_MAX = 2

const RESERVED = ['if', 'else', 'let', 'for', 'in', 'match', 'try', 'catch', 'return', 'not', 'true', 'false']
/** Words that mean something elsewhere and are ordinary names here. */
const CONTEXTUAL = [
  'metadata',
  'agent',
  'policy',
  'type',
  'with',
  'capabilities',
  'and',
  'or',
  'String',
  'list',
  'search',
  '_x',
]

export const word: Arbitrary<string> = fc
  .oneof(
    { weight: 4, arbitrary: fc.stringMatching(/^[a-zA-Z_][a-zA-Z0-9_]{0,6}$/) },
    { weight: 1, arbitrary: fc.constantFrom(...CONTEXTUAL) },
  )
  .filter((text) => !RESERVED.includes(text) && text !== '_')

export const name: Arbitrary<Name> = word.map((text) => ({ kind: 'name', text, span }))

export const string: Arbitrary<StringLiteral> = fc
  .oneof(
    fc.string({ unit: 'binary', maxLength: 6 }),
    fc.constantFrom(
      '',
      '"',
      '\\',
      'a\nb',
      'a\r\nb',
      '\u0000',
      '\u202eabc',
      '// no comment',
      '# no comment',
      '\\n',
      '\u2028',
    ),
  )
  .map((value) => ({ kind: 'string', value, span }))

export const number: Arbitrary<NumberLiteral> = fc
  .stringMatching(/^[0-9]{1,3}(_[0-9]{1,2}){0,2}(\.[0-9]{1,2})?$/)
  .map((text) => ({ kind: 'number', text, span }))

/** What an entry may have. */
export const value: Arbitrary<Expression> = fc.oneof(
  string,
  number,
  name,
  fc.boolean().map((value): Expression => ({ kind: 'boolean', value, span })),
  fc
    .tuple(fc.nat(), fc.constantFrom('seconds', 'minutes', 'hours', 's', 'm', 'h', 'd', 'w', 'months', 'y'))
    .map(([amount, unit]): Expression => ({ kind: 'duration', amount, unit, span })),
)

const vaultUrl: Arbitrary<Expression> = fc
  .stringMatching(/^[a-zA-Z0-9_/.-]{1,6}$/)
  .map((path) => ({ kind: 'vault-url', text: `vault://${path}`, span }))

/** Where an expression stands. */
interface Place {
  /** In the head of `if`, `for` or `match`: a brace opens a block. */
  readonly isHead: boolean
  /** Where `if` would begin something else: at the start of a statement, and of what a rule selects. */
  readonly isStart: boolean
  /** Nothing follows in the same expression. */
  readonly isLast: boolean
}
const ANYWHERE: Place = { isHead: false, isStart: false, isLast: true }
const HEAD: Place = { isHead: true, isStart: false, isLast: true }
const START: Place = { isHead: false, isStart: true, isLast: true }

const ASSIGNABLE = new Set(['name', 'field-access', 'call', 'index', 'group'])
const OPERATORS = [['||'], ['&&'], ['==', '!=', 'in'], ['<', '>', '<=', '>='], ['+', '-'], ['*', '/', '%']] as const
const UNARY = OPERATORS.length

/** Arbitraries are made once for each place. */
const made = new Map<string, unknown>()
function once<T>(key: string, make: () => Arbitrary<T>): Arbitrary<T> {
  const known = made.get(key) as Arbitrary<T> | undefined
  if (known !== undefined) return known
  const fresh = make()
  made.set(key, fresh)
  return fresh
}

export const expression: Arbitrary<Expression> = anyExpression(DEPTH_MAX, ANYWHERE)
/** Behind `allow:`, where `if` begins the condition. */
export const selector: Arbitrary<Expression> = anyExpression(DEPTH_MAX, START)

function anyExpression(depth: number, place: Place, level = 0): Arbitrary<Expression> {
  return once(`expression ${depth} ${JSON.stringify(place)} ${level}`, () => {
    if (depth === 0) return primary(0, place)
    if (level === UNARY)
      return fc.oneof({ weight: 1, arbitrary: unary(depth, place) }, { weight: 4, arbitrary: postfix(depth, place) })
    return fc.oneof(
      { weight: 1, arbitrary: binary(depth, place, level) },
      { weight: 5, arbitrary: anyExpression(depth, place, level + 1) },
    )
  })
}

function binary(depth: number, place: Place, level: number): Arbitrary<Expression> {
  return fc
    .record({
      operator: fc.constantFrom(...(OPERATORS[level] ?? [])),
      left: anyExpression(depth - 1, { ...place, isLast: false }, level),
      right: anyExpression(depth - 1, { ...place, isStart: false }, level + 1),
    })
    .map((parts) => ({ kind: 'binary', ...parts, span }))
}

function unary(depth: number, place: Place): Arbitrary<Expression> {
  const operand = anyExpression(depth - 1, { ...place, isStart: false }, UNARY)
  return fc
    .record({ operator: fc.constantFrom('!', 'not', '-'), operand })
    .map((parts) => ({ kind: 'unary', ...parts, span }))
}

function postfix(depth: number, place: Place): Arbitrary<Expression> {
  return once(`postfix ${depth} ${JSON.stringify(place)}`, () => {
    if (depth === 0) return primary(0, place)
    const object = postfix(depth - 1, { ...place, isLast: false })
    return fc.oneof(
      { weight: 4, arbitrary: primary(depth, place) },
      {
        weight: 1,
        arbitrary: fc
          .record({ object, field: name })
          .map((parts): Expression => ({ kind: 'field-access', ...parts, span })),
      },
      {
        weight: 1,
        arbitrary: fc
          .record({ callee: object, arguments: fc.array(argument(depth - 1), { maxLength: 2 }) })
          .map((parts): Expression => ({ kind: 'call', ...parts, span })),
      },
      {
        weight: 1,
        arbitrary: fc
          .record({ object, index: inside(depth - 1) })
          .map((parts): Expression => ({ kind: 'index', ...parts, span })),
      },
    )
  })
}

function argument(depth: number): Arbitrary<Argument> {
  return fc
    .record({ name: fc.option(name), value: inside(depth) })
    .map((parts) => ({ kind: 'argument', ...parts, span }))
}

/** In brackets nothing of what is around them matters. */
function inside(depth: number): Arbitrary<Expression> {
  return anyExpression(depth, ANYWHERE)
}

function primary(depth: number, place: Place): Arbitrary<Expression> {
  return once(`primary ${depth} ${JSON.stringify(place)}`, () => {
    const simple = fc.oneof({ weight: 6, arbitrary: value }, { weight: 1, arbitrary: vaultUrl })
    if (depth === 0) return simple
    const kinds: Arbitrary<Expression>[] = [
      fc.array(inside(depth - 1), { maxLength: 2 }).map((items) => ({ kind: 'array', items, span })),
      inside(depth - 1).map((inner) => ({ kind: 'group', inner, span })),
    ]
    if (!place.isHead) {
      kinds.push(record(depth))
      kinds.push(fc.record({ name, record: record(depth) }).map((parts) => ({ kind: 'construct', ...parts, span })))
    }
    if (place.isLast) {
      const body = anyExpression(depth - 1, { ...place, isStart: false })
      kinds.push(fc.record({ parameter: name, body }).map((parts) => ({ kind: 'lambda', ...parts, span })))
    }
    if (!place.isStart) kinds.push(ifExpression(depth))
    return fc.oneof(simple, ...kinds)
  })
}

function record(depth: number): Arbitrary<RecordLiteral> {
  const field = fc
    .record({ key: fc.oneof(name, string), value: inside(depth - 1) })
    .map((parts): Field => ({ kind: 'field', ...parts, span }))
  return fc.array(field, { maxLength: 2 }).map((fields) => ({ kind: 'record', fields, span }))
}

export const recordValue: Arbitrary<RecordLiteral> = record(2)

function ifExpression(depth: number): Arbitrary<IfExpression> {
  return once(`if ${depth}`, () => {
    const otherwise: Arbitrary<IfExpression | Block> =
      depth > 1 ? fc.oneof(block(depth - 1), ifExpression(depth - 1)) : block(depth - 1)
    return fc
      .record({
        condition: anyExpression(depth - 1, HEAD),
        // biome-ignore lint/suspicious/noThenProperty: a branch of the tree has this name, and no tree is awaited
        then: block(depth - 1),
        otherwise,
      })
      .map((parts) => ({ kind: 'if-expression', ...parts, span }))
  })
}

export const body: Arbitrary<Block> = block(DEPTH_MAX)

function block(depth: number): Arbitrary<Block> {
  return once(`block ${depth}`, () =>
    fc
      .record({
        statements: depth === 0 ? fc.constant([]) : fc.array(statement(depth - 1), { maxLength: 2 }),
        value: fc.option(wholeExpression(depth)),
      })
      .filter(({ statements, value }) => value !== null || !isComplete(statements.at(-1)))
      .map((parts) => ({ kind: 'block', ...parts, span })),
  )
}

/** An expression that begins and ends a part of a block, which an `if` with all its branches may be. */
function wholeExpression(depth: number): Arbitrary<Expression> {
  return depth === 0 ? anyExpression(0, START) : fc.oneof(anyExpression(depth, START), ifExpression(depth))
}

/** Behind the last statement nothing else may stand that would be the value. */
function isComplete(last: Statement | undefined): boolean {
  if (last?.kind !== 'if' || last.condition.kind === 'let-pattern' || last.otherwise === null) return false
  return last.otherwise.kind === 'block' || isComplete(last.otherwise)
}

function statement(depth: number): Arbitrary<Statement> {
  return once(`statement ${depth}`, () => {
    const right = anyExpression(depth, ANYWHERE)
    const head = anyExpression(depth, HEAD)
    return fc.oneof<Arbitrary<Statement>[]>(
      fc.record({ name, value: right }).map((parts) => ({ kind: 'let', ...parts, span })),
      fc.option(right).map((value) => ({ kind: 'return', value, span })),
      wholeExpression(depth).map((expression) => ({ kind: 'expression-statement', expression, span })),
      fc
        .record({
          target: postfix(depth, { ...START, isLast: false }).filter(({ kind }) => ASSIGNABLE.has(kind)),
          operator: fc.constantFrom('=', '+=', '-=', '*=', '/=', '%='),
          value: right,
        })
        .map((parts) => ({ kind: 'assign', ...parts, span })),
      ifStatement(depth),
      fc.record({ name, items: head, body: block(depth) }).map((parts) => ({ kind: 'for', ...parts, span })),
      fc
        .record({ value: head, arms: fc.array(matchArm(depth), { maxLength: 2 }) })
        .map((parts) => ({ kind: 'match', ...parts, span })),
      fc
        .record({ body: block(depth), catches: fc.array(catchPart(depth), { maxLength: 2 }) })
        .map((parts) => ({ kind: 'try', ...parts, span })),
    )
  })
}

function ifStatement(depth: number): Arbitrary<If> {
  return once(`if statement ${depth}`, () => {
    const letPattern = fc
      .record({ pattern: pattern(2), value: anyExpression(depth, HEAD) })
      .map((parts): LetPattern => ({ kind: 'let-pattern', ...parts, span }))
    const otherwise: Arbitrary<If | Block | null>[] = [fc.constant(null), block(depth)]
    if (depth > 0) otherwise.push(ifStatement(depth - 1))
    return fc
      .record({
        condition: fc.oneof<Arbitrary<Expression | LetPattern>[]>(anyExpression(depth, HEAD), letPattern),
        // biome-ignore lint/suspicious/noThenProperty: a branch of the tree has this name, and no tree is awaited
        then: block(depth),
        otherwise: fc.oneof(...otherwise),
      })
      .map((parts) => ({ kind: 'if', ...parts, span }))
  })
}

function pattern(depth: number): Arbitrary<Pattern> {
  const plain = fc
    .oneof(word, fc.constant('_'))
    .map((text): Pattern => ({ kind: 'pattern', name: text, arguments: null, span }))
  if (depth === 0) return plain
  return fc.oneof(
    plain,
    fc
      .record({ name: word, arguments: fc.array(pattern(depth - 1), { maxLength: 2 }) })
      .map((parts): Pattern => ({ kind: 'pattern', ...parts, span })),
  )
}

function matchArm(depth: number): Arbitrary<MatchArm> {
  const wanted: Arbitrary<MatchArm['pattern']> = fc.oneof<Arbitrary<MatchArm['pattern']>[]>(
    string,
    number,
    name,
    fc.boolean().map((value) => ({ kind: 'boolean', value, span })),
    fc.constant({ kind: 'name', text: '_', span }),
  )
  const result = fc.oneof<Arbitrary<Expression | Block>[]>(
    anyExpression(depth, ANYWHERE).filter((result) => !beginsWithBraces(result)),
    block(depth),
  )
  return fc.record({ pattern: wanted, body: result }).map((parts) => ({ kind: 'match-arm', ...parts, span }))
}

/** `{}` is an empty block there, and no record. */
function beginsWithBraces(node: Expression): boolean {
  switch (node.kind) {
    case 'binary':
      return beginsWithBraces(node.left)
    case 'call':
      return beginsWithBraces(node.callee)
    case 'field-access':
    case 'index':
      return beginsWithBraces(node.object)
    default:
      return node.kind === 'record' && node.fields.length === 0
  }
}

function catchPart(depth: number): Arbitrary<Catch> {
  return fc
    .record({ type: fc.option(name), name, body: block(depth) })
    .map((parts) => ({ kind: 'catch', ...parts, span }))
}
