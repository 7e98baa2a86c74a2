/** How an explanation looks: the decision first, so that a script can read it, then each block and rule that was judged. */
import type { DelegationTarget } from '../../delegation/index.ts'
import {
  type BlockTrace,
  type InlineQuestion,
  type InlineRuling,
  type RuleTrace,
  showRead,
  Unanswerable,
} from '../../policy/index.ts'
import type { Console } from '../console.ts'
import { jsonLine, oneLine } from '../plain-text.ts'

export interface Explanation {
  readonly agent: DelegationTarget
  /** Where it is declared, as a person would write it. */
  readonly file: string
  readonly question: InlineQuestion
  /** What the call names and this runtime does not have. */
  readonly stranger: string | null
  /** Why a name that the project has cannot be used. */
  readonly reason: string | null
  readonly ruling: InlineRuling
}

export function showExplanation(console: Console, explanation: Explanation, json: boolean): void {
  if (json) console.result(jsonLine(asObject(explanation)))
  else for (const line of linesOf(console, explanation)) console.result(line)
  const { stranger, reason, question, ruling } = explanation
  if (reason !== null) {
    console.note(`Not available is ${oneLine(stranger ?? '', 100)}: ${oneLine(reason)}`)
  } else if (stranger !== null) {
    console.note(`Not known here is ${oneLine(stranger, 100)}: the call was taken as it was given`)
  }
  if (ruling.kind === 'Pass' && question.effect?.startsWith('delegate::') === true) {
    console.note('No run under an inline policy has the tool "delegate" today, so nothing comes of this permission')
  }
}

function linesOf(console: Console, { agent, question, ruling }: Explanation): readonly string[] {
  const refused = ruling.kind === 'Refuse'
  const judged = ruling.kind === 'Exempt' ? [] : ruling.blocks
  const left = ruling.kind === 'Exempt' ? [] : agent.policy.blocks.slice(judged.length)
  return [
    console.paint(refused ? 'red' : 'green', refused ? 'deny' : 'allow'),
    oneLine(sentence(agent, question, ruling)),
    ...judged.flatMap(blockLines),
    ...left.map(({ name }) => `  ${oneLine(`policy ${name}: not asked any more`)}`),
  ]
}

function sentence({ name }: DelegationTarget, { effect }: InlineQuestion, ruling: InlineRuling): string {
  if (ruling.kind === 'Refuse') return ruling.reason
  if (ruling.kind === 'Exempt') return 'a reply is not restricted by inline policies'
  return `the inline policy of agent "${name}" lets ${effect} pass; approval and the Cedar policies are asked after it`
}

function blockLines(block: BlockTrace): readonly string[] {
  return [`  ${oneLine(`policy ${block.name}: ${blockWords(block)}`)}`, ...block.rules.flatMap(ruleLines)]
}

function blockWords({ passed, decidedBy }: BlockTrace): string {
  if (decidedBy !== null) return `${passed ? 'passed' : 'refused'} by rule ${decidedBy}`
  return passed ? 'passed: no deny was true' : 'refused: no allow rule matched'
}

const RULE_COLUMNS_MAX = 160

function ruleLines({ number, rule, matched, answer, reads }: RuleTrace): readonly string[] {
  const words = !matched
    ? 'names other effects'
    : answer === null
      ? 'matches'
      : answer instanceof Unanswerable
        ? `has no answer: ${answer.why}`
        : `matches, and its condition is ${answer}`
  return [
    `    rule ${number}, line ${rule.start.line}: ${oneLine(rule.text, RULE_COLUMNS_MAX)}`,
    `      ${oneLine(words)}`,
    ...reads.map((read) => `      ${oneLine(`${read.path} = ${showRead(read)}`)}`),
  ]
}

/** One object, for programs. A value that was read is canonical JSON text, cut when it is long; null when it is missing. */
function asObject({ agent, file, question, stranger, ruling }: Explanation): object {
  const blocks = ruling.kind === 'Exempt' ? [] : ruling.blocks
  const last = blocks.at(-1)
  const refused = ruling.kind === 'Refuse'
  return {
    decision: refused ? 'deny' : 'allow',
    reason: refused ? ruling.reason : null,
    decided_by: refused && last !== undefined ? { policy: last.name, rule: last.decidedBy } : null,
    agent: agent.name,
    file,
    principal: question.principal,
    effect: question.effect,
    known: stranger === null,
    source_policy: agent.policy.metadata,
    policies: blocks.map(({ name, passed, decidedBy, rules }) => ({
      name,
      passed,
      decided_by: decidedBy,
      rules: rules.map(ruleObject),
    })),
    not_asked: ruling.kind === 'Exempt' ? [] : agent.policy.blocks.slice(blocks.length).map(({ name }) => name),
  }
}

function ruleObject({ number, rule, matched, answer, reads }: RuleTrace): object {
  const { line, column } = rule.start
  return {
    rule: number,
    line,
    column,
    text: rule.text,
    matched,
    condition: answer instanceof Unanswerable ? null : answer,
    unanswerable: answer instanceof Unanswerable ? answer.why : null,
    reads: reads.map((read) => ({ path: read.path, value: read.value === undefined ? null : showRead(read) })),
  }
}
