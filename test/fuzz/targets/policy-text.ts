/** Policy text: bounded before Cedar sees it, then checked. The engine stays in one piece whatever the text. */
import fc from 'fast-check'
import { compileSet } from '../../../src/policy/cedar/policy-set.ts'
import { BRACKETS_MAX, NESTING_MAX, readPolicyText } from '../../../src/policy/cedar/policy-text.ts'
import { checkPolicyText, sharedEngine } from '../../../src/policy/index.ts'
import { answer, must, pure, type Target, textOf } from '../target.ts'

export const policyText: Target = {
  name: 'policy-text',
  property:
    'a text is split into policies that stand in it, or refused at a place in it; what is checked without an error compiles to as many policies, and the engine answers afterwards',
  seeds: [
    'permit(principal, action == Action::"tool_call::system_health", resource);',
    '@id("a b") forbid(principal == Agent::"x", action in [Action::"tool_call::a", Action::"respond"], resource) when { context has approval && context.approval.surface == "rest" } unless { context.arguments.path like "/tmp/*" };',
    '// only this\npermit(principal, action, resource) when { if context.a > 1 then !context.b else [1,2].contains(context.c) };\nforbid(principal is Agent, action, resource in Tool::"t");',
    `permit(principal, action, resource) when { ${'('.repeat(20)}true${')'.repeat(20)} };`,
    'permit(principal == ?principal, action, resource);',
    '@id("x") @note("\\"y") permit(principal, action, resource) when { ip("10.0.0.1").isInRange(ip("10.0.0.0/8")) && decimal("1.2") == decimal("1.2") };',
  ],
  words: [
    'permit',
    'forbid',
    '(principal, action, resource)',
    'when {',
    'unless {',
    'context.',
    'has',
    'like',
    'in',
    'is',
    'if ',
    ' then ',
    ' else ',
    '&&',
    '||',
    '!',
    '==',
    '.contains(',
    '["a"]',
    '::"a"',
    '@id("x")',
    ';',
    '//',
    '\r',
    '?principal',
    '\u{1f600}',
    '\u2028',
    '-',
    '{a:1}',
  ],
  fresh: fc
    .tuple(
      fc.constantFrom(
        '(',
        '[',
        '!',
        '-',
        '{a:',
        'if true then ',
        'true && ',
        'context.a.',
        'true || ',
        '1 + ',
        'context["a"]',
      ),
      fc.integer({ min: 1, max: 120 }),
      fc.constantFrom('true', '1', 'context', ''),
      fc.constantFrom(')', ']', '', '}', ' else false', '.b'),
      fc.integer({ min: 0, max: 120 }),
    )
    .map(
      ([open, count, core, close, ends]) =>
        `permit(principal, action, resource) when { ${open.repeat(count)}${core}${close.repeat(ends)} };`,
    ),
  bytesMax: 4096,
  steps: { fixed: 60_000, perByte: 1000 },
  open: () => pure(check),
}

const GOOD = 'permit(principal, action, resource);'

function check(input: Uint8Array): void {
  const text = textOf(input)
  const { parts, rest, problem } = readPolicyText(text)
  must(problem === null || (parts.length === 0 && rest.length === 0), 'a text that is refused has no parts')
  let end = 0
  for (const { text: own, start } of parts) {
    must(
      start >= end && text.slice(start, start + own.length) === own && own.endsWith(';'),
      'a part stands in the text, after the one before it',
    )
    end = start + own.length
  }
  const checked = checkPolicyText(text)
  for (const { line, column, message, source } of checked.problems) {
    must(line >= 1 && column >= 1 && message !== '' && source.length <= 400, 'a problem has a place and a message')
    checkWords(message)
  }
  const isValid = checked.problems.every(({ severity }) => severity === 'warning')
  const compiled = answer(() => compileSet(sharedEngine(), [{ name: 'policy', source: text, active: true }]))
  must((compiled.kind === 'Value') === isValid, 'what has no error compiles, and nothing else does')
  if (compiled.kind === 'Value') {
    must(
      compiled.value.policies.length === checked.policies && checked.policies === parts.length,
      'each part is one policy',
    )
    must(
      deepest(text) <= BRACKETS_MAX,
      `what Cedar takes nests at most ${BRACKETS_MAX} brackets (${NESTING_MAX} operators)`,
    )
  }
  must(checkPolicyText(GOOD).problems.length === 0, 'the engine answers after every text')
}

function checkWords(message: string): void {
  must(
    message.isWellFormed() && !message.includes(process.cwd()),
    'a message is well-formed and names no path of the host',
  )
  must(!/RuntimeError|unreachable|panicked/.test(message), `no text makes the engine fail: ${message.slice(0, 200)}`)
}

function deepest(text: string): number {
  let depth = 0
  let most = 0
  for (const { tokens } of readPolicyText(text).parts) {
    for (const { text: word, kind } of tokens) {
      if (kind !== 'mark') continue
      if (word === '(' || word === '[' || word === '{') depth += 1
      if (word === ')' || word === ']' || word === '}') depth -= 1
      most = Math.max(most, depth)
    }
  }
  return most
}
