/**
 * Test files share processes, and the modules that were loaded in them. What a file changes for good, the next one meets,
 * and which one that is differs from run to run. So a file that changes more than itself must run alone.
 */
import ts from 'typescript'
import { expect, test } from 'vitest'
import { ALONE } from '../../vitest.config.ts'
import { nodesOf, parse, type Source, sourcesIn } from '../support/sources.ts'

/** Calls and places whose change outlives a test file. What `vi.stubEnv`, `vi.spyOn` and false timers do is taken back. */
const CALLS = /^vi\.(?:mock|doMock|stubGlobal|resetModules)$|\bsetFlagsFromString$|^process\.(?:chdir|umask)$/
const PLACES = /^(?:process\.(?:env|exitCode|title|argv)|globalThis)\b/

/** These run in processes of their own, whoever starts them. */
const CHILDREN = /\/children\/|^test\/policy\/long-loop-child\.ts$/
const tests = sourcesIn('test').filter(({ path }) => !CHILDREN.test(path))

const lasting = (source: Source): boolean => nodesOf(parse(source)).some(lasts)

function lasts(node: ts.Node): boolean {
  if (ts.isDeleteExpression(node)) return PLACES.test(node.expression.getText())
  if (ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.EqualsToken)
    return PLACES.test(node.left.getText())
  if (!ts.isCallExpression(node)) return false
  const callee = node.expression.getText()
  return CALLS.test(callee) || (callee === 'Object.assign' && PLACES.test(node.arguments[0]?.getText() ?? ''))
}

test('a test file that changes what other files would see runs alone', () => {
  const found = tests.filter(lasting).map(({ path }) => path)
  expect(found.filter((path) => !ALONE.includes(path))).toEqual([])
  expect(
    ALONE.filter((path) => !found.includes(path)),
    'they change nothing, and may share',
  ).toEqual([])
})

test.each([
  "vi.mock('a', make)",
  "vi.doMock('a', make)",
  "vi.stubGlobal('fetch', fake)",
  "v8.setFlagsFromString('--liftoff-only')",
  "process.chdir('/')",
  'process.env = before',
  "process.env.HOME = '/'",
  "process.env['HOME'] = '/'",
  'delete process.env.HOME',
  'process.exitCode = 1',
  'Object.assign(process.env, more)',
  'globalThis.fetch = fake',
])('a change that lasts is found: %s', (text) => {
  expect(lasting({ path: 'test/a.test.ts', text })).toBe(true)
})

test.each([
  "vi.stubEnv('HOME', '/')",
  'if (process.exitCode === 1) stop()',
  'const { env } = process',
  "run('process.exitCode = 1')",
])('what changes nothing for others is left in peace: %s', (text) => {
  expect(lasting({ path: 'test/a.test.ts', text })).toBe(false)
})
