/**
 * The inline policy of an agent, judging one effect (9.3). Blocks are judged in order and each is a restriction of its own:
 * all of them must pass. In a block, rules are judged in order; a true `deny` refuses at once, a block with `allow` rules
 * needs one that is true, and a condition that has no answer refuses, whichever rule it belongs to (law 5).
 *
 * A ruling only ever restricts: `Pass` grants nothing. It carries a trace, so that explaining is the same code as judging.
 */
import { invocationView, type PreparedCall, type RunContext } from '../../calls/index.ts'
import { canonical } from '../../core/index.ts'
import type { InlinePolicy, PolicyBlock, PolicyRule } from '../../dsl/index.ts'
import { answerOf, type Read, type Subject, Unanswerable } from './inline-condition.ts'

export interface InlineQuestion extends Subject {
  /** The name of the tool, or `delegate::<declared target>`; null for replies, which no inline policy restricts. */
  readonly effect: string | null
}

export type InlineRuling =
  | { readonly kind: 'Exempt' }
  | { readonly kind: 'Pass'; readonly blocks: readonly BlockTrace[] }
  | {
      readonly kind: 'Refuse'
      /** Fit for the model: names and kinds, no values. */
      readonly reason: string
      /** Those judged until then; the last one refused. */
      readonly blocks: readonly BlockTrace[]
    }

export interface BlockTrace {
  readonly name: string
  readonly passed: boolean
  /** The rule that decided, from 1. Null when no rule did: nothing matched. */
  readonly decidedBy: number | null
  /** Those looked at, in order. */
  readonly rules: readonly RuleTrace[]
}

export interface RuleTrace {
  /** From 1. */
  readonly number: number
  readonly rule: PolicyRule
  /** Whether its selector names the effect. The condition of any other rule is not evaluated. */
  readonly matched: boolean
  /** What the condition came to; null without one, or where nothing matched. */
  readonly answer: boolean | Unanswerable | null
  readonly reads: readonly Read[]
}

export function evaluateInline(policy: InlinePolicy, question: InlineQuestion): InlineRuling {
  const { effect } = question
  if (effect === null) return { kind: 'Exempt' }
  const blocks: BlockTrace[] = []
  for (const block of policy.blocks) {
    const { trace, why } = judgeBlock(block, effect, question)
    blocks.push(trace)
    if (why !== null) return { kind: 'Refuse', reason: reasonOf(block, effect, why), blocks }
  }
  return { kind: 'Pass', blocks }
}

/**
 * True only when every call of this effect is refused, whatever its arguments and its context: a block has a rule without a
 * condition that denies it, or has `allow` rules of which none names it. What depends on a condition is not certain.
 */
export function refusesEvery(policy: InlinePolicy, effect: string): boolean {
  return policy.blocks.some(({ rules }) => {
    const named = rules.filter((rule) => names(rule, effect))
    if (named.some((rule) => rule.effect === 'deny' && rule.condition === null)) return true
    return rules.some((rule) => rule.effect === 'allow') && !named.some((rule) => rule.effect === 'allow')
  })
}

/** The question that a prepared call of a run is. */
export function questionOf(call: PreparedCall, run: Pick<RunContext, 'agent_id' | 'trusted_context'>): InlineQuestion {
  return {
    effect: effectOf(call),
    principal: run.agent_id,
    invocation: invocationView(call),
    context: run.trusted_context,
  }
}

const VALUE_CHARACTERS_MAX = 200

/** What stood at a path, as canonical JSON of bounded length, for people. */
export function showRead({ value }: Read): string {
  if (value === undefined) return 'missing'
  const text = canonical(value)
  return text.length <= VALUE_CHARACTERS_MAX ? text : `${text.slice(0, VALUE_CHARACTERS_MAX).toWellFormed()}…`
}

interface Judged {
  readonly trace: BlockTrace
  /** Why the block refuses, or null. */
  readonly why: string | null
}

function judgeBlock({ name, rules: all }: PolicyBlock, effect: string, subject: Subject): Judged {
  const rules: RuleTrace[] = []
  let allowedBy: number | null = null
  for (const [index, rule] of all.entries()) {
    const traced = judgeRule(index + 1, rule, effect, subject)
    rules.push(traced)
    const { number, matched, answer } = traced
    const refuse = (why: string): Judged => ({ trace: { name, passed: false, decidedBy: number, rules }, why })
    if (answer instanceof Unanswerable) return refuse(` (rule ${number}: ${answer.why})`)
    if (!matched || answer === false) continue
    if (rule.effect === 'deny') return refuse(` (rule ${number})`)
    allowedBy ??= number // a later deny still refuses
  }
  const passed = allowedBy !== null || all.every((rule) => rule.effect === 'deny')
  return { trace: { name, passed, decidedBy: allowedBy, rules }, why: passed ? null : ': no allow rule matched' }
}

function judgeRule(number: number, rule: PolicyRule, effect: string, subject: Subject): RuleTrace {
  const { condition } = rule
  const matched = names(rule, effect)
  const reads: Read[] = []
  const answer = matched && condition !== null ? answerOf(condition, subject, reads) : null
  return { number, rule, matched, answer, reads }
}

function names({ selector }: PolicyRule, effect: string): boolean {
  return typeof selector === 'boolean' ? selector : selector.some(({ text }) => text === effect)
}

const NAME_CHARACTERS_MAX = 256

function reasonOf({ name }: PolicyBlock, effect: string, why: string): string {
  const words = effect.startsWith(DELEGATE) ? effect : `tool_call ${effect}`
  return `inline policy ${cut(name)} denied ${cut(words)}${why}`
}

const DELEGATE = 'delegate::'

function effectOf({ action }: PreparedCall): string | null {
  if ('ToolCall' in action) return action.ToolCall.name
  return 'Delegate' in action ? `${DELEGATE}${action.Delegate.target}` : null
}

function cut(text: string): string {
  return text.length <= NAME_CHARACTERS_MAX ? text : `${text.slice(0, NAME_CHARACTERS_MAX).toWellFormed()}…`
}
