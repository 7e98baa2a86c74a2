/** Policy blocks and their rules. */
import { called, described, isMark } from '../lexer/token.ts'
import type { Policy, Rule, RuleEffect } from '../tree.ts'
import { readBraces } from './braces.ts'
import type { Cursor } from './cursor.ts'
import { readCondition, readExpression } from './expressions.ts'
import { readItemName } from './names.ts'
import { meant, RULE_MISSES } from './near-misses.ts'
import { readArray } from './primary.ts'

const EFFECTS: readonly RuleEffect[] = ['allow', 'deny', 'require', 'audit']
/** The other two are read, and refused as what nobody enforces: no hint leads there. */
const ENFORCED: readonly RuleEffect[] = ['allow', 'deny']
const RULE = 'allow: ["tool_a", "tool_b"]'
const FORM = `policy name { ${RULE} }`

const isEffect = (text: string): text is RuleEffect => EFFECTS.some((effect) => effect === text)

export function readPolicy(cursor: Cursor): Policy {
  const { start } = cursor.next()
  const name = readItemName(cursor, 'policy', FORM)
  if (cursor.is('[') || cursor.is('=') || cursor.is(':')) {
    cursor.fail('a policy is made of rules, not of a list', { hint: `Write ${FORM}` })
  }
  const rules: Rule[] = []
  readBraces(cursor, {
    what: `the policy "${called(name)}"`,
    form: FORM,
    read: () => (isBareList(cursor) ? passBareList(cursor) : rules.push(readRule(cursor))),
    starts: (index) => beginsRule(cursor, index),
  })
  return { kind: 'policy', name, rules, span: cursor.span(start) }
}

function beginsRule(cursor: Cursor, index: number): boolean {
  const [effect, next] = [cursor.at(index), cursor.at(index + 1)]
  if (effect.kind !== 'word' || !isEffect(effect.text)) return false
  return isMark(next, ':') || isMark(next, '=') || isMark(next, '[') || next.kind === 'string'
}

function readRule(cursor: Cursor): Rule {
  const { token } = cursor
  if (token.kind !== 'word' || !isEffect(token.text)) refuseRule(cursor)
  const effect = token.text as RuleEffect // refuseRule does not return
  cursor.next()
  if (!cursor.take(':')) refuseColon(cursor, effect)
  if (cursor.isWord('if')) cursor.fail('a rule names something before its condition', { hint: `Write ${RULE}` })
  const selector = readExpression(cursor)
  const condition = cursor.takeWord('if') ? readCondition(cursor, 'anywhere') : null
  const span = cursor.span(token.start)
  if (cursor.is(',') || cursor.is(';')) {
    cursor.report(`a rule does not end with ${described(cursor.token)}`, {
      hint: `Rules follow each other as they are: ${RULE}`,
    })
    cursor.next()
  }
  return { kind: 'rule', effect, selector, condition, span }
}

/** With a list or text behind it, it is clear what was meant, and the rest of the rule is still read. */
function refuseColon(cursor: Cursor, effect: RuleEffect): void {
  const message = `":" is missing behind "${effect}"`
  const hint = `Write ${effect}: ["tool_a", "tool_b"]`
  if (cursor.is('[') || cursor.token.kind === 'string' || cursor.is('=')) {
    cursor.report(message, { hint })
    cursor.take('=')
  } else {
    cursor.fail(`${message}, and ${described(cursor.token)} stands there`, { hint })
  }
}

const isBareList = (cursor: Cursor): boolean => cursor.token.kind === 'string' || cursor.is('[')

/** One problem for the whole list. */
function passBareList(cursor: Cursor): void {
  cursor.report('a policy is made of rules, not of a list', { hint: `Write ${RULE}` })
  do {
    if (cursor.is('[')) readArray(cursor)
    else cursor.next()
    cursor.take(',')
  } while (isBareList(cursor))
}

function refuseRule(cursor: Cursor): never {
  const { token } = cursor
  cursor.fail(`a rule begins with allow or deny, and ${described(token)} stands there`, {
    hint: () => {
      const word = token.kind === 'word' ? token.text : ''
      const miss = Object.hasOwn(RULE_MISSES, word) ? RULE_MISSES[word] : undefined
      if (miss !== undefined) return miss
      const near = meant(word, ENFORCED)
      return near === null ? `Write ${RULE}` : `Did you mean "${near}"? Write ${near}: ["tool_a", "tool_b"]`
    },
  })
}
