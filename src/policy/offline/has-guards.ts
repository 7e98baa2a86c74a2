/**
 * Finds what a policy reads without asking first whether it is there.
 *
 * Reading an absent attribute fails the policy, and a failed policy denies. So a `forbid` without a scope that reads an
 * argument of one tool denies every other call, replies included. This analysis knows which attributes every request of
 * the runtime has, and follows `has` through `&&`, `||`, `!` and `if`; it warns, and never changes a decision.
 */
import type { CedarExpr, CedarPolicyJson } from '../cedar/cedar-engine.ts'
import type { Policy } from '../cedar/policy-set.ts'
import type { Token } from '../cedar/policy-text.ts'

export interface UnguardedRead {
  /** For example `context`, `invocation`, `arguments`, `path`. */
  readonly path: readonly string[]
  /** How many steps of the path are surely there. */
  readonly sure: number
  /** Index in the policy's part. */
  readonly start: number
}

/** Every unguarded read of a policy, once for each path, in the order of the text. */
export function unguardedReads(policy: Policy): readonly UnguardedRead[] {
  const walk = new Walk(kindsOf(policy))
  walk.policy(policy.json)
  const places = readPlaces(policy.part.tokens)
  const found: UnguardedRead[] = []
  for (const { path, sure, occurrence } of walk.unguarded) {
    const start = places.get(keyOf(path))?.[occurrence] ?? policy.part.start
    found.push({ path, sure, start })
  }
  return found
}

/** `context.invocation["a b"]`, as it is written in Cedar. */
export function spellPath(path: readonly string[]): string {
  return path
    .map((step, index) => (index === 0 ? step : isIdent(step) ? `.${step}` : `[${JSON.stringify(step)}]`))
    .join('')
}

/** The test that would guard a read, for a hint. */
export function guardFor({ path, sure }: UnguardedRead): string {
  const rest = path.slice(sure)
  const test = rest.every(isIdent) ? rest.join('.') : JSON.stringify(rest[0])
  return `${spellPath(path.slice(0, sure))} has ${test} && …`
}

type Kind = 'tool' | 'delegate' | 'respond' | 'terminate'
const ALL_KINDS: readonly Kind[] = ['tool', 'delegate', 'respond', 'terminate']

function kindsOf({ actions }: Policy): readonly Kind[] {
  if (actions === null) return ALL_KINDS
  return actions.map(({ type, id }) => {
    if (type !== 'Action') return 'tool'
    if (id === 'respond' || id === 'terminate') return id
    return id.startsWith('delegate::') ? 'delegate' : 'tool'
  })
}

const CONTRACT = [
  'name',
  'version',
  'digest',
  'action_type',
  'action_id',
  'resource_type',
  'resource_id',
  'requires_approval',
]
const ALWAYS = [
  'context.has_human_approval',
  'context.approved_fingerprint',
  'context.invocation',
  'context.invocation.fingerprint',
  'context.invocation.action',
  'context.invocation.resolved',
]
const action = (variant: string, ...members: string[]): string[] => [
  `context.invocation.action.${variant}`,
  ...members.map((member) => `context.invocation.action.${variant}.${member}`),
]
/** What the runtime's mapping always provides for one kind of action, beside `ALWAYS`. */
const PRESENT: Readonly<Record<Kind, ReadonlySet<string>>> = {
  tool: new Set([
    ...ALWAYS,
    'context.invocation.arguments',
    'context.invocation.contract',
    ...CONTRACT.map((member) => `context.invocation.contract.${member}`),
    ...['tool_name', 'version', 'contract_hash', 'call_fingerprint'].map((member) => `resource.${member}`),
    ...action('ToolCall', 'call_id', 'name', 'arguments'),
  ]),
  delegate: new Set([...ALWAYS, ...action('Delegate', 'call_id', 'target', 'message')]),
  respond: new Set([...ALWAYS, ...action('Respond', 'content')]),
  terminate: new Set([...ALWAYS, ...action('Terminate', 'reason', 'output')]),
}

type Paths = ReadonlySet<string>
const NONE: Paths = new Set()

class Walk {
  readonly unguarded: { path: readonly string[]; sure: number; occurrence: number }[] = []
  readonly #kinds: readonly Kind[]
  readonly #counts = new Map<string, number>()
  readonly #reported = new Set<string>()

  constructor(kinds: readonly Kind[]) {
    this.#kinds = kinds
  }

  policy({ conditions }: CedarPolicyJson): void {
    let known = NONE
    for (const { kind, body } of conditions) {
      this.#expr(body as Tree, known)
      known = union(known, kind === 'when' ? whenTrue(body as Tree) : whenFalse(body as Tree))
    }
  }

  #expr(expr: Tree, known: Paths): void {
    const path = pathOf(expr)
    const [operator, operands] = Object.entries(expr)[0] ?? ['Value', null]
    const { left, right } = (operands ?? {}) as Operands
    if (path !== null) {
      this.#read(path, known)
    } else if ((operator === '&&' || operator === '||') && left !== undefined && right !== undefined) {
      this.#expr(left, known)
      this.#expr(right, union(known, operator === '&&' ? whenTrue(left) : whenFalse(left)))
    } else if (operator === 'if-then-else') {
      const { if: condition, then, else: otherwise } = operands as Record<'if' | 'then' | 'else', Tree>
      this.#expr(condition, known)
      this.#expr(then, union(known, whenTrue(condition)))
      this.#expr(otherwise, union(known, whenFalse(condition)))
    } else if (operator !== 'Value' && operator !== 'Slot') {
      for (const operand of Object.values(operands as object)) {
        if (typeof operand === 'object' && operand !== null && !Array.isArray(operand)) this.#expr(operand, known)
      }
    }
  }

  #read(path: readonly string[], known: Paths): void {
    if (path.length < 2) return
    const key = keyOf(path)
    const occurrence = this.#counts.get(key) ?? 0
    this.#counts.set(key, occurrence + 1)
    for (let length = 2; length <= path.length; length += 1) {
      const prefix = path.slice(0, length)
      if (known.has(keyOf(prefix)) || this.#isPresent(prefix)) continue
      if (!this.#reported.has(key)) this.unguarded.push({ path, sure: length - 1, occurrence })
      this.#reported.add(key)
      return
    }
  }

  #isPresent(path: readonly string[]): boolean {
    const text = path.join('.')
    return this.#kinds.every((kind) => PRESENT[kind].has(text))
  }
}

/** Cedar's tree as it is walked: one operator, and operands by name or in a list. */
type Tree = CedarExpr
type Operands = { readonly left?: Tree; readonly right?: Tree; readonly arg?: Tree; readonly attr?: string | string[] }

/** The path of `context.a.b`, or null for any other expression. */
function pathOf(expr: Tree): readonly string[] | null {
  if ('Var' in expr && typeof expr.Var === 'string') return [expr.Var]
  if (!('.' in expr)) return null
  const { left, attr } = expr['.'] as { left: Tree; attr: string }
  const base = pathOf(left)
  return base === null ? null : [...base, attr]
}

/** What is surely there when the expression is true. */
function whenTrue(expr: Tree): Paths {
  const [operator, operands] = Object.entries(expr)[0] ?? ['', null]
  const { left, right, arg, attr } = (operands ?? {}) as Operands
  if (operator === 'has' && left !== undefined && attr !== undefined) return hasPaths(left, attr)
  if (operator === '!' && arg !== undefined) return whenFalse(arg)
  if (left === undefined || right === undefined) return NONE
  if (operator === '&&') return union(whenTrue(left), whenTrue(right))
  return operator === '||' ? both(whenTrue(left), whenTrue(right)) : NONE
}

function whenFalse(expr: Tree): Paths {
  const [operator, operands] = Object.entries(expr)[0] ?? ['', null]
  const { left, right, arg } = (operands ?? {}) as Operands
  if (operator === '!' && arg !== undefined) return whenTrue(arg)
  if (left === undefined || right === undefined) return NONE
  if (operator === '||') return union(whenFalse(left), whenFalse(right))
  return operator === '&&' ? both(whenFalse(left), whenFalse(right)) : NONE
}

function hasPaths(left: Tree, attr: string | readonly string[]): Paths {
  const base = pathOf(left)
  if (base === null) return NONE
  const steps = typeof attr === 'string' ? [attr] : attr
  return new Set(steps.map((_, index) => keyOf([...base, ...steps.slice(0, index + 1)])))
}

function union(left: Paths, right: Paths): Paths {
  return right.size === 0 ? left : new Set([...left, ...right])
}

function both(left: Paths, right: Paths): Paths {
  return new Set([...left].filter((path) => right.has(path)))
}

function keyOf(path: readonly string[]): string {
  return JSON.stringify(path)
}

function isIdent(step: string): boolean {
  return /^[_a-zA-Z][_a-zA-Z0-9]*$/.test(step)
}

/** Where each path is read in the text, in order: a variable and the members behind it, up to a call. */
function readPlaces(tokens: readonly Token[]): ReadonlyMap<string, readonly number[]> {
  const places = new Map<string, number[]>()
  for (let index = 0; index < tokens.length; index += 1) {
    const first = tokens[index] as Token
    if (first.kind !== 'word' || !/^(?:context|principal|resource|action)$/.test(first.text)) continue
    if (tokens[index - 1]?.text === '.') continue
    const path = [first.text]
    let at = index + 1
    for (;;) {
      const [a, b, c] = tokens.slice(at, at + 3)
      if (a?.text === '.' && b?.kind === 'word' && c?.text !== '(') {
        path.push(b.text)
        at += 2
      } else if (a?.text === '[' && b?.kind === 'string' && c?.text === ']') {
        path.push(b.text.slice(1, -1))
        at += 3
      } else break
    }
    const known = places.get(keyOf(path))
    if (known === undefined) places.set(keyOf(path), [first.start])
    else known.push(first.start)
  }
  return places
}
