/** Agent sources: parsed, checked, formatted and printed, whatever the text. */
import { checkSource, followsGrammar, format, parse, print } from '../../../src/dsl/index.ts'
import { badlySet } from '../../dsl/badly-set.ts'
import { EVERY_FORM, EVERY_FORM_SET } from '../../dsl/every-form.ts'
import { must, pure, type Target, textOf } from '../target.ts'

export const symbiSource: Target = {
  name: 'symbi-source',
  property:
    'parsing never throws, says where in the text each problem is, and at most a hundred; what follows the grammar formats to a fixed point with the same tree, and prints to a text with the same tree',
  seeds: [
    EVERY_FORM,
    EVERY_FORM_SET,
    'agent clerk() { policy only { allow: "system_health" } }',
    'function f(a: int, b: List<Text>) -> bool { if (a > 1) { return true } else { g(x) } return match a { 1 => true, _ => false } }',
    'schedule daily { cron: "0 9 * * *" agent: clerk }\nchannel c { platform: "slack" }\n// comment\n',
    '# a\nagent d { policy q { require: x -> y } }\n"unterminated',
  ],
  fresh: badlySet,
  words: [
    'agent ',
    'policy ',
    'allow:',
    'deny:',
    'audit:',
    'require:',
    'with ',
    'metadata ',
    'schedule ',
    'webhook ',
    'channel ',
    'memory ',
    'function ',
    'struct ',
    'type ',
    'return ',
    'let ',
    'if ',
    'else ',
    'for ',
    'match ',
    'try ',
    'catch ',
    '=>',
    '->',
    '::',
    '&&',
    '||',
    '30.seconds',
    '"',
    '/*',
    '*/',
    '//',
    '#',
    '\u{1f600}',
    '\u00a0',
    'vault://',
    'capabilities = [',
  ],
  bytesMax: 4096,
  steps: { fixed: 40_000, perByte: 1500 },
  open: () => pure(check),
}

const DIAGNOSTICS_MAX = 100

function check(input: Uint8Array): void {
  const text = textOf(input)
  const parsed = parse(text)
  const diagnostics = checkSource(parsed)
  must(diagnostics.length <= DIAGNOSTICS_MAX, 'there are at most a hundred diagnostics')
  const bytes = Buffer.byteLength(parsed.text)
  for (const { start, end, message } of diagnostics) {
    must(start.offset >= 0 && start.offset <= end.offset && end.offset <= bytes, `a place lies in the text: ${message}`)
    must(
      start.line >= 1 && start.column >= 1 && message !== '' && message.isWellFormed(),
      'a diagnostic has a line and a message',
    )
  }
  const formatted = format(text)
  if (!followsGrammar(parsed)) {
    must(formatted === text, 'what does not follow the grammar is left as it is')
    return
  }
  const again = parse(formatted)
  must(followsGrammar(again), 'a formatted text follows the grammar')
  must(format(formatted) === formatted, 'formatting twice is formatting once')
  must(shape(again.tree) === shape(parsed.tree), 'formatting keeps the tree')
  const printed = parse(print(parsed.tree))
  must(followsGrammar(printed) && shape(printed.tree) === shape(parsed.tree), 'printing keeps the tree')
}

/** A tree without its places. */
function shape(tree: unknown): string {
  return JSON.stringify(tree, (name, value) => (name === 'span' || /Span$/.test(name) ? undefined : value))
}
