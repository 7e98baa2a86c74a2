/** What a folder shows, and what the package shows. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { expect, test } from 'vitest'
import { lineOf, nodesOf, parse, ROOT, type Source, sourcesIn } from '../support/sources.ts'

/** The public subpaths, and the folders behind them. */
const PUBLIC = { '.': 'runtime', './journal': 'journal', './session': 'session', './testing': 'testing' }

test('the subpaths of the package are the public folders, and no others', () => {
  const { exports } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const wanted = Object.fromEntries(
    Object.entries(PUBLIC).map(([subpath, folder]) => [
      subpath,
      { types: `./dist/${folder}/index.d.ts`, default: `./dist/${folder}/index.js` },
    ]),
  )
  expect(exports).toEqual({ ...wanted, './package.json': './package.json' })
})

test.each(Object.entries(PUBLIC))('the public subpath %s has a front door in src/%s', (_subpath, folder) => {
  expect(existsSync(join(ROOT, 'src', folder, 'index.ts'))).toBe(true)
})

test('every export of src is chosen by name', () => {
  expect(sourcesIn('src').flatMap(unnamedExports)).toEqual([])
})

test.each([
  "export * from './a.ts'",
  "export * as a from './a.ts'",
  'export default 1',
  'export default function run() {}',
  'export default class Run {}',
  "export { run as default } from './a.ts'",
  'const run = 1\nexport { run as default }',
  'const run = 1\nexport = run',
])('an export without a chosen name is found: %s', (text) => {
  expect(unnamedExports({ path: 'a.ts', text })).toHaveLength(1)
})

test('named exports are left alone, and so are words in comments and strings', () => {
  const text = "export const a = 'export default 1' // export * from\nexport { b, type C } from './b.ts'"
  expect(unnamedExports({ path: 'a.ts', text })).toEqual([])
})

/** A maker of authority is a value that the front door of its folder must not hand out under any name. */
test.each([
  ['calls', 'grant.ts', ['issue']],
  ['calls', 'approval.ts', ['makeApproval']],
])('the front door of src/%s keeps the makers in %s inside', async (folder, file, makers) => {
  const door = Object.values(await import(`../../src/${folder}/index.ts`))
  const inside = await import(`../../src/${folder}/${file}`)
  for (const maker of makers) {
    expect(inside[maker]).toBeTypeOf('function')
    expect(door).not.toContain(inside[maker])
  }
})

test('the front door of src/tools hands out nothing of the file that runs tools', () => {
  const handedOut = sourcesIn('src/tools', 'index.ts').filter(({ text }) => /from '\.\/run\.ts'/.test(text))
  expect(handedOut.map(({ path }) => path)).toEqual([])
})

function unnamedExports(source: Source): readonly string[] {
  const file = parse(source)
  const found: string[] = []
  for (const node of nodesOf(file)) {
    if (isUnnamed(node)) found.push(`${source.path}:${lineOf(file, node)} exports without a name of its own`)
  }
  return found
}

function isUnnamed(node: ts.Node): boolean {
  if (ts.isExportAssignment(node)) return true
  if (ts.isExportDeclaration(node)) return node.exportClause === undefined || ts.isNamespaceExport(node.exportClause)
  if (ts.isExportSpecifier(node)) return node.name.text === 'default'
  return ts.canHaveModifiers(node) && (node.modifiers ?? []).some(({ kind }) => kind === ts.SyntaxKind.DefaultKeyword)
}
