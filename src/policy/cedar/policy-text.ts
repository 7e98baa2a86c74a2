/**
 * Policy text before Cedar sees it: its words, where one policy ends and the next begins, and how deeply it nests.
 *
 * Cedar's parser and evaluator recurse on the native stack: text that nests too deeply kills the WebAssembly module for
 * good. So depth is bounded here, before any parse. Brackets are not the only way to nest: `a && b && …`, `a.b.c…`,
 * `if … else if …` and `!!!…` build a tree just as deep, so operators count as well. Measured: parsing fails from about
 * 72 brackets on, evaluation from about 104 levels on; the bounds keep a distance from both.
 *
 * Leaves the grammar to Cedar: whatever is wrong here but within the bounds is Cedar's to explain.
 */
import { type Problem, problemAt } from './problems.ts'

export const BRACKETS_MAX = 32
export const NESTING_MAX = 64
export const TEXT_BYTES_MAX = 1024 * 1024

export interface Token {
  readonly kind: 'word' | 'string' | 'mark'
  readonly text: string
  readonly start: number
  readonly end: number
}

/** One policy of a text: from its first token to its semicolon. */
export interface Part {
  readonly text: string
  /** Where it starts in the whole text. */
  readonly start: number
  readonly tokens: readonly Token[]
}

export interface PolicyText {
  readonly parts: readonly Part[]
  /** Tokens behind the last semicolon: no policy, and something for Cedar to complain about. */
  readonly rest: readonly Token[]
  readonly problem: Problem | null
}

/** Takes a text apart, or says why it must not reach Cedar's parser. */
export function readPolicyText(text: string): PolicyText {
  const refuse = (index: number, message: string, hint: string): PolicyText => ({
    parts: [],
    rest: [],
    problem: problemAt(text, index, 'error', message, hint),
  })
  if (Buffer.byteLength(text) > TEXT_BYTES_MAX) {
    return refuse(0, `the text is longer than ${TEXT_BYTES_MAX} bytes`, 'Split it into several files')
  }
  if (!text.isWellFormed()) return refuse(0, 'the text holds a lone surrogate', 'Save the file as UTF-8')
  const { tokens, openString } = tokenise(text)
  if (openString !== null) return refuse(openString, 'a string does not end', 'Close it with a double quote')

  const parts: Part[] = []
  let from = 0
  const nesting = new Nesting()
  for (let index = 0; index < tokens.length; index += 1) {
    const token = tokens[index] as Token
    nesting.take(token, tokens[index - 1])
    if (nesting.brackets > BRACKETS_MAX) {
      return refuse(token.start, `more than ${BRACKETS_MAX} brackets are nested`, 'Split the policy into simpler ones')
    }
    if (token.text !== ';' || token.kind !== 'mark' || nesting.brackets > 0) continue
    const own = tokens.slice(from, index + 1)
    const start = (own[0] as Token).start
    if (nesting.total() > NESTING_MAX) return refuse(start, tooDeep, tooDeepHint)
    parts.push({ text: text.slice(start, token.end), start, tokens: own })
    from = index + 1
    nesting.reset()
  }
  const rest = tokens.slice(from)
  if (nesting.total() > NESTING_MAX) return refuse(rest[0]?.start ?? 0, tooDeep, tooDeepHint)
  return { parts, rest, problem: null }
}

const tooDeep = `the policy chains or nests more than ${NESTING_MAX} operators`
const tooDeepHint = 'Split the policy, or replace a chain of "||" by a set: ["a", "b"].contains(value)'

/** Cedar ends a comment at a line feed or a carriage return, and lets a string go over several lines. */
const TOKEN =
  /[\p{White_Space}]+|\/\/[^\n\r]*|(?<word>[_a-zA-Z][_a-zA-Z0-9]*|[0-9]+)|(?<string>"[^"\\]*(?:\\[\s\S][^"\\]*)*")|(?<mark>&&|\|\||::|==|!=|<=|>=|[\s\S])/gu

function tokenise(text: string): { tokens: Token[]; openString: number | null } {
  const tokens: Token[] = []
  for (const match of text.matchAll(TOKEN)) {
    const groups = match.groups as { word?: string; string?: string; mark?: string }
    const start = match.index
    const end = start + match[0].length
    if (groups.word !== undefined) tokens.push({ kind: 'word', text: groups.word, start, end })
    else if (groups.string !== undefined) tokens.push({ kind: 'string', text: groups.string, start, end })
    else if (groups.mark === '"') return { tokens, openString: start }
    else if (groups.mark !== undefined) tokens.push({ kind: 'mark', text: groups.mark, start, end })
  }
  return { tokens, openString: null }
}

/** Counts for one pair of brackets. Each bound is an upper one: the tree is never deeper than what is counted. */
interface Frame {
  /** Operators that separate operands: `&&`, `||`, `if`, and `when` or `unless` outside all brackets. */
  logic: number
  /** Operators in the operand being read, and the deepest bracket in it. */
  operators: number
  inner: number
  /** The deepest operand of this element, and the deepest element of this frame. */
  operandMax: number
  elementMax: number
}

const OPERATORS = new Set(['==', '!=', '<', '<=', '>', '>=', '+', '-', '*', '!', '.', 'like', 'in', 'has', 'is'])
const OPENING = new Set(['(', '[', '{'])
const CLOSING = new Set([')', ']', '}'])

class Nesting {
  #frames: Frame[] = [newFrame()]

  get brackets(): number {
    return this.#frames.length - 1
  }

  reset(): void {
    this.#frames = [newFrame()]
  }

  take({ kind, text }: Token, before: Token | undefined): void {
    const frame = this.#frames.at(-1) as Frame
    if (kind === 'string') return
    if (OPENING.has(text)) {
      // Behind a value a bracket is a call or an index, and chains of these nest without being inside each other.
      if (before !== undefined && (before.kind !== 'mark' || CLOSING.has(before.text))) frame.operators += 1
      this.#frames.push(newFrame())
    } else if (CLOSING.has(text)) {
      if (this.brackets > 0) this.#close()
    } else if (text === ',') {
      endElement(frame)
    } else if (text === '&&' || text === '||' || text === 'if' || this.#startsClause(text)) {
      endOperand(frame)
      frame.logic += 1
    } else if (text === 'then' || text === 'else') {
      endOperand(frame)
    } else if (OPERATORS.has(text)) {
      frame.operators += 1
    }
  }

  /** The depth of the policy so far, brackets that are still open included. */
  total(): number {
    while (this.brackets > 0) this.#close()
    const frame = this.#frames[0] as Frame
    endElement(frame)
    return frame.elementMax
  }

  #startsClause(text: string): boolean {
    return this.brackets === 0 && (text === 'when' || text === 'unless')
  }

  #close(): void {
    const frame = this.#frames.pop() as Frame
    const parent = this.#frames.at(-1) as Frame
    endElement(frame)
    parent.inner = Math.max(parent.inner, frame.elementMax + 1)
  }
}

function newFrame(): Frame {
  return { logic: 0, operators: 0, inner: 0, operandMax: 0, elementMax: 0 }
}

function endOperand(frame: Frame): void {
  frame.operandMax = Math.max(frame.operandMax, frame.operators + frame.inner)
  frame.operators = 0
  frame.inner = 0
}

function endElement(frame: Frame): void {
  endOperand(frame)
  frame.elementMax = Math.max(frame.elementMax, frame.logic + frame.operandMax)
  frame.logic = 0
  frame.operandMax = 0
}
