/** Every form of the grammar, once as it is accepted and once as it is not. */
import { describe, expect, test } from 'vitest'
import { grammarOf } from './found.ts'

/** Name, an accepted text, a refused one, and what is found in it. */
type Form = readonly [name: string, accepted: string, refused: string, found: string]

function holds(forms: readonly Form[]): void {
  test.each(forms)('%s is accepted as it should be', (_name, accepted) => {
    expect(grammarOf(accepted)).toEqual([])
  })
  test.each(forms)('%s is refused where it goes wrong', (_name, _accepted, refused, found) => {
    expect(grammarOf(refused).join(', ')).toBe(found)
  })
}

/** An expression where one may stand. */
const inLet = (expression: string): string => `function f() { let x = ${expression}; }`
/** A statement where one may stand; it begins in column 16. */
const inBlock = (statement: string): string => `function f() { ${statement} }`

describe('tokens', () => {
  holds([
    ['white space', ' \t\r\n agent\n\ta\r\n{ }', 'agent\u00a0a {}', 'E100 1:6'],
    ['a comment with slashes', '// one\nagent a { // two\n}', '/ one\nagent a {}', 'E100 1:1'],
    ['a comment with a hash', '# one\nagent a {} # two', 'agent a {} * two', 'E100 1:12'],
    ['a comment between any two tokens', 'agent // x\n a # y\n ( ) // z\n { } //', 'agent /* x */ a {}', 'E100 1:7'],
    ['a name', 'agent _a9_B {}', 'agent 9a {}', 'E120 1:7'],
    ['a name that is a keyword elsewhere', 'agent policy { policy agent {} }', 'agent "policy" {}', 'E100 1:7'],
    ['"and" as a name', inLet('and'), inLet('a and b'), 'E100 1:26'],
    ['a string', inLet('"a \\" b"'), inLet("'a'"), 'E100 1:24'],
    ['an empty string', inLet('""'), inLet('"'), 'E101 1:24'],
    ['a string over two lines', inLet('"a\nb"'), inLet('"a\nb'), 'E101 1:24'],
    ['every escape', inLet('"\\" \\\\ \\/ \\b \\f \\n \\r \\t \\u00e9"'), inLet('"\\ud800"'), 'E100 1:24'],
    ['a number', inLet('12'), inLet('0x1f'), 'E120 1:24'],
    ['a number in groups', inLet('1_000_000'), inLet('1__0'), 'E120 1:24'],
    ['a number with a fraction', inLet('1_0.25'), inLet('1.'), 'E100 1:26'],
    ['a negative number', inLet('-1'), inLet('+1'), 'E100 1:24'],
    ['a long duration', inLet('[1.seconds, 2.minutes, 3.hours]'), inLet('1.second'), 'E120 1:24'],
    ['a short duration', inLet('[1s, 2m, 3h, 4d, 5w, 6months, 7y]'), inLet('30ms'), 'E120 1:24'],
    ['a duration that is whole', inLet('90m'), inLet('1.5h'), 'E120 1:24'],
    ['a boolean', inLet('[true, false]'), 'metadata { true "x" }', 'E100 1:17'],
    ['a vault address', inLet('vault://team/a-b_c.d'), inLet('vault:x'), 'E100 1:28'],
  ])
})

describe('items', () => {
  holds([
    ['an empty file', '', '}', 'E100 1:1'],
    ['items in any order, and again', 'policy p {} agent a {} metadata {} policy q {}', 'policy p {};', 'E100 1:12'],
    ['metadata', 'metadata { version = "1" }', 'metadata { version }', 'E100 1:20'],
    ['metadata with both separators', 'metadata { a = "1", b: "2" }', 'metadata { a := "2" }', 'E100 1:15'],
    ['metadata without commas', 'metadata { a = "1" b: "2" }', 'metadata { a = "1" "2" }', 'E100 1:20'],
    ['metadata with a last comma', 'metadata { a = "1", }', 'metadata { , a = "1" }', 'E100 1:12'],
    [
      'metadata with every kind of value',
      'metadata { a = "s" b = 5m c = 1 d = true e = word }',
      'metadata { a = -1 }',
      'E100 1:16',
    ],
    [
      'metadata with a list and a record',
      'metadata { a = ["x"], b = { c: "d" } }',
      'metadata { a = vault://x }',
      'E100 1:16',
    ],
    ['metadata without a name', 'metadata {}', 'metadata m {}', 'E100 1:10'],
    ['an agent', 'agent a {}', 'agent a', 'E100 1:8'],
    ['an agent with parentheses', 'agent a() {}', 'agent a( {}', 'E101 1:8'],
    ['parameters', 'agent a(x: String, y: int z: T,) {}', 'agent a(x) {}', 'E100 1:10'],
    ['a parameter without a default', 'agent a(x: int) {}', 'agent a(x: int = 1) {}', 'E100 1:16'],
    ['a return type', 'agent a -> bool {}', 'agent a -> {}', 'E100 1:12'],
    ['capabilities', 'agent a { capabilities = ["x", "y",] }', 'agent a { capabilities = "x" }', 'E100 1:26'],
    ['capabilities with a colon', 'agent a { capabilities: [] }', 'agent a { capabilities [] }', 'E100 1:24'],
    ['a policy', 'policy p { allow: "x" }', 'policy p allow: "x"', 'E100 1:10'],
    ['every effect', 'policy p { allow: a deny: b require: c audit: d }', 'policy p { forbid: a }', 'E100 1:12'],
    ['a condition', 'policy p { allow: "x" if a == 1 deny: "y" }', 'policy p { allow: "x" if }', 'E100 1:26'],
    ['a rule that names something', 'policy p { allow: x if a }', 'policy p { allow: if a }', 'E100 1:19'],
    ['a rule in an agent', 'agent a { policy p { deny: true } }', 'agent a { policy p { deny true } }', 'E100 1:27'],
    [
      'a rule whose effect is a name',
      'policy p { allow: deny deny: allow }',
      'policy p { allow: deny: x }',
      'E100 1:19',
    ],
    [
      'rules that follow each other',
      'policy p { allow: "a" deny: "b" }',
      'policy p { allow: "a"; deny: "b" }',
      'E100 1:22',
    ],
    ['a with-block', 'agent a { with sandbox = "docker" {} }', 'agent a { with sandbox = "docker" }', 'E100 1:35'],
    ['a with-block without attributes', 'agent a { with {} }', 'agent a { with }', 'E100 1:16'],
    ['attributes', 'agent a { with a = 1, b = [x] c = y {} }', 'agent a { with a: 1 {} }', 'E100 1:17'],
    [
      'a with-block with code',
      'agent a { with a = 1 { let x = 1; x } }',
      'agent a { with a = 1 { let x } }',
      'E100 1:30',
    ],
    ['a function', 'function f() {}', 'function f {}', 'E100 1:12'],
    [
      'a function in an agent',
      'agent a { function f(x: int) -> int { x } }',
      'agent a { function f(x) {} }',
      'E100 1:23',
    ],
    ['a struct', 'type T = { a: String, b: int c: bool, }', 'type T = { a }', 'E100 1:14'],
    ['another name for a type', 'type T = U', 'type T { a: String }', 'E100 1:8'],
    ['a type with arguments', 'type T = { a: map<String, list<int>> }', 'type T = { a: map<String }', 'E100 1:26'],
    ['a schedule', 'schedule s { cron: "0 0 1 * * *", agent = a }', 'schedule s { cron "0 0 1 * * *" }', 'E100 1:19'],
    ['a schedule with simple values', 'schedule s { one_shot: true }', 'schedule s { cron: ["x"] }', 'E100 1:20'],
    ['a channel', 'channel c { platform: "slack", channels = ["a"] }', 'channel c { platform "slack" }', 'E100 1:22'],
    [
      'a policy in a channel',
      'channel c { policy p { deny: "x" } policy: "q" }',
      'channel c { policy { } }',
      'E100 1:20',
    ],
    [
      'a classification',
      'channel c { data_classification { a: redact, b: block } }',
      'channel c { data_classification { a = b } }',
      'E100 1:37',
    ],
    ['the name of the inner block', 'memory m { search { a 1 } }', 'memory m { find { a 1 } }', 'E100 1:12'],
    ['a memory', 'memory m { store markdown, path "x" retention 90d }', 'memory m { store: markdown }', 'E100 1:17'],
    [
      'the search of a memory',
      'memory m { search { vector_weight 0.7, k 0.3 } }',
      'memory m { search { k = 0.3 } }',
      'E100 1:23',
    ],
    ['a webhook', 'webhook w { path "/x" provider github, agent a }', 'webhook w { path = "/x" }', 'E100 1:18'],
    [
      'the filter of a webhook',
      'webhook w { filter { json_path "$.a" equals "b" } }',
      'webhook w { filter }',
      'E100 1:20',
    ],
    ['a secret of a webhook', 'webhook w { secret vault://a/b }', 'memory m { path vault://a/b }', 'E100 1:17'],
  ])
})

describe('statements', () => {
  holds([
    ['let', inBlock('let x = 1;'), inBlock('let = 1;'), 'E100 1:20'],
    ['let without a type', inBlock('let x = 1;'), inBlock('let x: int = 1;'), 'E100 1:21'],
    ['the end of a statement', inBlock('f(); g();'), inBlock('f() g();'), 'E100 1:20'],
    ['the value of a block', inBlock('f(); g()'), inBlock('f(); g() h()'), 'E100 1:25'],
    ['if', inBlock('if a {} b();'), inBlock('if a b();'), 'E100 1:21'],
    ['if and else', inBlock('if a {} else if b {} else {} c();'), inBlock('if a {} else b();'), 'E100 1:29'],
    ['if let', inBlock('if let Some(x) = y { x }'), inBlock('if let Some(x) { x }'), 'E100 1:31'],
    ['patterns', inBlock('if let A(_, B(c) d,) = y {}'), inBlock('if let A(1) = y {}'), 'E100 1:25'],
    ['for', inBlock('for x in xs { f(x); }'), inBlock('for x of xs {}'), 'E100 1:22'],
    [
      'match',
      inBlock('match x { "a" => 1, 2 => { f(); } true => b, _ => c y => d }'),
      inBlock('match x { "a" -> 1 }'),
      'E100 1:30',
    ],
    ['what match compares with', inBlock('match x { 1 => a }'), inBlock('match x { 5m => a }'), 'E100 1:29'],
    ['try', inBlock('try { f(); } catch (e) {} catch (Kind e) {}'), inBlock('try { f(); } catch {}'), 'E100 1:35'],
    ['try alone', inBlock('try { f(); }'), inBlock('try f();'), 'E100 1:20'],
    ['return', inBlock('if a { return; } return 1;'), inBlock('return 1'), 'E100 1:23'],
    ['assignments', inBlock('a = 1; a.b += 2; a[0] -= 3; a *= 4; a /= 5; a %= 6;'), inBlock('a = 1'), 'E100 1:20'],
    ['what can be assigned to', inBlock('a().b = 1;'), inBlock('a + b = 1;'), 'E100 1:22'],
  ])
})

describe('expressions', () => {
  holds([
    [
      'operators',
      inLet('a || b && c == d != e in f < g > h <= i >= j + k - l * m / n % o'),
      inLet('a ||'),
      'E100 1:28',
    ],
    ['one sign for "or"', inLet('a || b'), inLet('a | b'), 'E100 1:26'],
    ['unary operators', inLet('!not -a'), inLet('!'), 'E100 1:25'],
    ['fields', inLet('a.b.if'), inLet('a.'), 'E100 1:26'],
    ['calls', inLet('f() + g(1, x = 2, y: 3,)'), inLet('f(1 2)'), 'E100 1:28'],
    ['an argument that is one', inLet('f(1)'), inLet('f(,)'), 'E100 1:26'],
    ['an index', inLet('a[0][b]'), inLet('a[]'), 'E100 1:26'],
    ['a list', inLet('[1, [], [2, 3,],]'), inLet('[1 2]'), 'E100 1:27'],
    ['a list that ends', inLet('[1]'), inLet('[1'), 'E101 1:24'],
    ['a record', inLet('{ a: 1, "b c": 2 d: {}, }'), inLet('{ a = 1 }'), 'E100 1:28'],
    ['a record with a name', inLet('Point { x: 1 }'), inLet('Point { 1 }'), 'E100 1:32'],
    ['parentheses', inLet('(a + b) * c'), inLet('(a + b'), 'E101 1:24'],
    ['something in parentheses', inLet('(a)'), inLet('()'), 'E100 1:25'],
    ['a lambda', inLet('x => y => x + y'), inLet('x =>'), 'E100 1:28'],
    ['if as a value', inLet('if a { 1 } else if b { 2 } else { 3 }'), inLet('if a { 1 }'), 'E100 1:34'],
    [
      'a head without a record',
      inBlock('if (P { x: 1 }) == p {}'),
      inBlock('if P { x: 1 } == p {}'),
      'E100 1:24, E100 1:30',
    ],
    ['a record in brackets of a head', inBlock('for x in [{ a: 1 }] {}'), inBlock('for x in { a: 1 } {}'), 'E100 1:25'],
  ])
})
