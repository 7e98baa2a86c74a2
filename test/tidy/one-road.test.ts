/**
 * All surfaces reach tools through dispatch, and there is no other road: proved from the text of src. The floors keep other
 * folders from importing the file that runs tools; these tests keep the effect itself inside that file.
 */
import ts from 'typescript'
import { expect, test } from 'vitest'
import { lineOf, nodesOf, parse, type Source, sourcesIn } from '../support/sources.ts'

const THE_ROAD = 'src/tools/run.ts'

test('only tools/run.ts executes a toolbox, and only dispatch reaches it', () => {
  const sources = sourcesIn('src')
  expect(sources.flatMap(executions).map(({ path }) => path)).toEqual([THE_ROAD])
  expect(importers(sources, THE_ROAD)).toEqual(['src/dispatch/dispatch-grants.ts'])
})

test('only the batch of a toolbox calls the effect of a tool', () => {
  const sources = sourcesIn('src')
  expect(sources.flatMap(effectsCalled)).toEqual(['src/tools/batch.ts'])
  expect(importers(sources, 'src/tools/batch.ts')).toEqual(['src/tools/toolbox.ts'])
})

test('only dispatch makes grants, and only policy makes approvals', () => {
  const sources = sourcesIn('src')
  const folders = (file: string): string[] => [
    ...new Set(importers(sources, file).map((path) => path.split('/')[1] ?? '')),
  ]
  expect(folders('src/calls/grant.ts').sort()).toEqual(['calls', 'dispatch'])
  expect(folders('src/calls/approval.ts').sort()).toEqual(['calls', 'policy'])
})

test('only the loop and the dispatcher of batches, which judges them first, take grants to dispatch', () => {
  const sources = sourcesIn('src')
  expect(callers(sources, 'dispatchGrants')).toEqual(['src/dispatch/dispatcher.ts', 'src/loop/act.ts'])
  expect(callers(sources, 'dispatchBatch')).toEqual(['src/session/calls.ts'])
  expect(callers(sources, 'delegateAll')).toEqual(['src/loop/act.ts'])
  expect(callers(sources, 'act')).toEqual(['src/loop/turn.ts'])
  expect(callers(sources, 'takeTurn')).toEqual(['src/loop/lifecycle.ts'])
})

test.each([
  ['toolbox.execute(calls, scope)'],
  ['run.setup.toolbox.execute(calls, scope)'],
  ["box['execute'](calls)"],
  ['const { execute } = toolbox'],
  ['const go = box.execute'],
  ['box.execute?.(calls)'],
])('a second road is found: %s', (text) => {
  expect(executions({ path: 'src/loop/a.ts', text })).toHaveLength(1)
})

test('a toolbox that wraps another may hand on what the road gave it, and nothing else may', () => {
  const wrapped = 'const box = { execute: (calls, scope, signal) => inner.execute(calls, scope, signal) }'
  expect(executions({ path: 'src/policy/a.ts', text: wrapped })).toEqual([])
  expect(executions({ path: 'src/policy/a.ts', text: 'const box = { execute() { return inner.execute() } }' })).toEqual(
    [],
  )
  const taken = 'const box = { execute: inner.execute, prepare: () => inner.execute() }'
  expect(executions({ path: 'src/policy/a.ts', text: taken })).toHaveLength(2)
})

/**
 * Every mention of a member `execute`, called or not: whoever takes it away can call it elsewhere. Declarations are none, and
 * neither is a call inside a member `execute`: the road alone enters that one.
 */
function executions(source: Source): readonly { readonly path: string; readonly line: number }[] {
  const file = parse(source)
  return [...nodesOf(file)]
    .filter((node) => takesExecute(node) && !handsOn(node))
    .map((node) => ({ path: source.path, line: lineOf(file, node) }))
}

function handsOn(node: ts.Node): boolean {
  if (!ts.isCallExpression(node.parent) || node.parent.expression !== node) return false
  for (let at: ts.Node | undefined = node.parent; at !== undefined; at = at.parent) {
    if (ts.isMethodDeclaration(at)) return at.name.getText() === 'execute'
    if (ts.isPropertyAssignment(at) && ts.isFunctionLike(at.initializer)) return at.name.getText() === 'execute'
  }
  return false
}

function takesExecute(node: ts.Node): boolean {
  if (ts.isPropertyAccessExpression(node)) return node.name.text === 'execute'
  if (ts.isElementAccessExpression(node)) {
    return ts.isStringLiteralLike(node.argumentExpression) && node.argumentExpression.text === 'execute'
  }
  return ts.isBindingElement(node) && (node.propertyName ?? node.name).getText() === 'execute'
}

/** Calls of a member `run` on something called a tool. */
function effectsCalled(source: Source): readonly string[] {
  return nodesOf(parse(source))
    .filter(ts.isCallExpression)
    .map(({ expression }) => expression)
    .filter(ts.isPropertyAccessExpression)
    .filter(({ name, expression }) => name.text === 'run' && /tool$/i.test(expression.getText()))
    .map(() => source.path)
}

function importers(sources: readonly Source[], file: string): readonly string[] {
  const name = file.slice(file.lastIndexOf('/') + 1)
  const folder = file.split('/')[1] ?? ''
  return sources
    .filter(({ path, text }) =>
      ts.preProcessFile(text, true, true).importedFiles.some(({ fileName }) => {
        const own = path.split('/')[1] === folder
        return own ? fileName === `./${name}` : fileName.endsWith(`/${folder}/${name}`)
      }),
    )
    .map(({ path }) => path)
}

function callers(sources: readonly Source[], name: string): readonly string[] {
  return sources
    .filter((source) =>
      nodesOf(parse(source)).some(
        (node) => ts.isCallExpression(node) && ts.isIdentifier(node.expression) && node.expression.text === name,
      ),
    )
    .map(({ path }) => path)
}
