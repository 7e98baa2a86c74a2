import ts from 'typescript'
import { expect, test } from 'vitest'
import { ACCEPTANCE } from '../acceptance.ts'
import { nodesOf, parse, type Source, sourcesIn } from '../support/sources.ts'

/** Samples of test names stand in this file; they are no citations. */
const tests = sourcesIn('test').filter(({ path }) => path !== 'test/tidy/acceptance.test.ts')

test('every promise of the acceptance list is cited in the name of a test', () => {
  const cited = new Set(tests.flatMap(citationsIn))
  const missing = Object.keys(ACCEPTANCE).filter((id) => !cited.has(id))
  expect(missing.map((id) => `[${id}] ${ACCEPTANCE[id]}`)).toEqual([])
})

test('every id that the name of a test cites is on the acceptance list', () => {
  const strangers = tests.flatMap((source) =>
    citationsIn(source)
      .filter((id) => !Object.hasOwn(ACCEPTANCE, id))
      .map((id) => `${source.path} cites [${id}]`),
  )
  expect(strangers).toEqual([])
})

test.each([
  ["test('a claim runs once [V1]', run)", ['V1']],
  ["it('replays [C10.6, I13]', run)", ['C10.6', 'I13']],
  ["test('one [J1] and two [trap:lost-tail]', run)", ['J1', 'trap:lost-tail']],
  ["test.each(rows)('a row %s [D2]', run)", ['D2']],
  ["test.skipIf(root)('is private [J3]', run)", ['J3']],
  // biome-ignore lint/suspicious/noTemplateCurlyInString: this is the text of a test
  ['test(`${name}: one owner [V1]`, run)', ['V1']],
  ["test.skip('later [V1]', run)", []],
  ["test.todo('later [V1]')", []],
  ["describe('claims [V1]', run)", []],
  ["// test('a comment [V1]', run)", []],
  ["expect(list[0]).toBe('[V1]')", []],
  ["test('reads item [0] of a list [a, b]', run)", []],
])('citations are read from the names of tests that run: %s', (text, ids) => {
  expect(citationsIn({ path: 'a.test.ts', text })).toEqual(ids)
})

const ID = /^(?:[A-Z]{1,2}\d+(?:\.\d+)?|trap:[a-z0-9-]+)$/

function citationsIn(source: Source): readonly string[] {
  const found: string[] = []
  for (const node of nodesOf(parse(source))) {
    const title = ts.isCallExpression(node) && isRunningTest(node.expression) ? node.arguments[0] : undefined
    if (title === undefined) continue
    for (const [, list = ''] of title.getText().matchAll(/\[([^[\]]*)\]/g)) {
      found.push(...list.split(/,\s*/).filter((id) => ID.test(id)))
    }
  }
  return found
}

/** `test`, `it`, `test.each(rows)` and their like, but nothing that is skipped or still to be written. */
function isRunningTest(callee: ts.Expression): boolean {
  if (ts.isIdentifier(callee)) return callee.text === 'test' || callee.text === 'it'
  if (ts.isCallExpression(callee)) return isRunningTest(callee.expression)
  if (!ts.isPropertyAccessExpression(callee)) return false
  return callee.name.text !== 'skip' && callee.name.text !== 'todo' && isRunningTest(callee.expression)
}
