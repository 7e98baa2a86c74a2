/**
 * The condition of an inline rule, evaluated (9.3). Equal kinds only, no conversion, and nothing that a condition cannot
 * answer becomes an answer: a missing field, null and a value of the wrong kind are `Unanswerable`, and the caller refuses
 * (law 5). What a short circuit skips is not read.
 *
 * Says of a value only its kind, because reasons are shown to the model; the values themselves go to whoever asks for `reads`.
 */
import { isJsonObject, type Json, type JsonObject } from '../../core/index.ts'
import { type Condition, HIDDEN_CONTEXT, type Scalar } from '../../dsl/index.ts'

export interface Subject {
  readonly principal: string
  /** The prepared call as `invocationView` shows it. */
  readonly invocation: JsonObject
  /** The trusted context of the run. */
  readonly context: JsonObject
}

/** A path that was read, with what stood there; undefined for a field that is missing. */
export interface Read {
  readonly path: string
  readonly value: Json | undefined
}

export class Unanswerable {
  readonly why: string
  constructor(why: string) {
    this.why = why
  }
}

/** True or false, or why neither. Every path that was looked at is added to `reads`, in order. */
export function answerOf(condition: Condition, subject: Subject, reads: Read[]): boolean | Unanswerable {
  const value = evaluate(condition, subject, reads)
  if (value instanceof Unanswerable || typeof value === 'boolean') return value
  return new Unanswerable(`${wordsFor(condition)} is ${kindOf(value)} and not true or false`)
}

function evaluate(condition: Condition, subject: Subject, reads: Read[]): Scalar | Unanswerable {
  switch (condition.kind) {
    case 'literal':
      return condition.value
    case 'path':
      return readPath(condition, subject, reads)
    case 'not': {
      const operand = answerOf(condition.operand, subject, reads)
      return operand instanceof Unanswerable ? operand : !operand
    }
    case 'and':
    case 'or': {
      const left = answerOf(condition.left, subject, reads)
      const settled = condition.kind === 'or'
      return left instanceof Unanswerable || left === settled ? left : answerOf(condition.right, subject, reads)
    }
    case 'compare': {
      const left = evaluate(condition.left, subject, reads)
      if (left instanceof Unanswerable) return left
      const right = evaluate(condition.right, subject, reads)
      return right instanceof Unanswerable ? right : compare(condition, left, right)
    }
    case 'in': {
      const operand = evaluate(condition.operand, subject, reads)
      if (operand instanceof Unanswerable) return operand
      const stranger = condition.items.find((item) => typeof item !== typeof operand)
      if (stranger === undefined) return condition.items.includes(operand)
      return new Unanswerable(
        `${wordsFor(condition.operand)} is ${kindOf(operand)} and the list holds ${kindOf(stranger)}`,
      )
    }
  }
}

type Path = Extract<Condition, { kind: 'path' }>
type Compare = Extract<Condition, { kind: 'compare' }>

function compare(
  { operator, left: leftSide, right: rightSide }: Compare,
  left: Scalar,
  right: Scalar,
): boolean | Unanswerable {
  if (operator === '==' || operator === '!=') {
    if (typeof left === typeof right) return (left === right) === (operator === '==')
    return new Unanswerable(`${wordsFor(leftSide)} is ${kindOf(left)} and ${wordsFor(rightSide)} is ${kindOf(right)}`)
  }
  if (typeof left !== 'bigint')
    return new Unanswerable(`${wordsFor(leftSide)} is ${kindOf(left)}, and only integers have an order`)
  if (typeof right !== 'bigint')
    return new Unanswerable(`${wordsFor(rightSide)} is ${kindOf(right)}, and only integers have an order`)
  switch (operator) {
    case '<':
      return left < right
    case '>':
      return left > right
    case '<=':
      return left <= right
    case '>=':
      return left >= right
  }
}

/** Own members of objects only: `__proto__`, `constructor` and the length of a list are no fields of anybody's data. */
function readPath(path: Path, subject: Subject, reads: Read[]): Scalar | Unanswerable {
  const hidden = path.root === 'context' && HIDDEN_CONTEXT.includes(path.fields[0] ?? '')
  let value: Json | undefined = hidden ? undefined : subject[path.root]
  for (const field of path.fields) {
    value = isJsonObject(value) && Object.hasOwn(value, field) ? value[field] : undefined
  }
  reads.push({ path: spell(path), value })
  const scalar = scalarOf(value)
  return scalar instanceof Unanswerable ? new Unanswerable(`${wordsFor(path)} ${scalar.why}`) : scalar
}

function scalarOf(value: Json | undefined): Scalar | Unanswerable {
  if (value === undefined) return new Unanswerable('is missing')
  if (value === null) return new Unanswerable('is null')
  if (typeof value === 'object') return new Unanswerable(`is ${Array.isArray(value) ? 'a list' : 'an object'}`)
  if (typeof value !== 'number') return value
  return Number.isSafeInteger(value) ? BigInt(value) : new Unanswerable('is a number that is no exact integer')
}

/** As the author wrote it. */
function spell({ root, fields }: Path): string {
  return [root, ...fields].join('.')
}

const PATH_MAX = 120

/** Never a value: what a literal holds may be the secret that a rule looks for. */
function wordsFor(condition: Condition): string {
  if (condition.kind === 'literal') return 'a literal'
  if (condition.kind !== 'path') return 'a part of the condition'
  const path = spell(condition)
  return `"${path.length > PATH_MAX ? `${path.slice(0, PATH_MAX)}…` : path}"`
}

function kindOf(value: Scalar): string {
  return typeof value === 'bigint' ? 'an integer' : typeof value === 'string' ? 'text' : 'true or false'
}
