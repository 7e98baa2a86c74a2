/** Whoever can reach a value can name its types: every type of ours that a public declaration mentions is public as well. */
import { join } from 'node:path'
import ts from 'typescript'
import { expect, test } from 'vitest'
import { nodesOf, ROOT } from '../support/sources.ts'

const DOORS = ['runtime', 'journal', 'session', 'testing'].map((folder) => join(ROOT, 'src', folder, 'index.ts'))

/** Parts of how a type is computed, and opaque things that are only passed on: nobody writes these names. */
const NEVER_WRITTEN = new Set([
  'CedarEngine',
  'EventTable',
  'ObjectOf',
  'OfCall',
  'ServerOptions',
  'Shape',
  'TypeOf',
  'WireEntry',
])
/** The data of 38 methods, which are named by their method: `Parameters<RuntimeApi['…']>`. */
const BY_METHOD = join(ROOT, 'src', 'api')

test('every type that a public declaration mentions can be imported from a public subpath', () => {
  expect(unnameable(DOORS)).toEqual([])
}, 120_000) // it type-checks all of src, which takes its time where other work runs beside it

test('a type that stays behind the door is found', () => {
  expect(unnameable([join(ROOT, 'src', 'budget', 'index.ts')])).toContainEqual(expect.stringContaining('AgentId'))
})

function unnameable(doors: readonly string[]): readonly string[] {
  const program = ts.createProgram({
    rootNames: [...doors],
    options: {
      noLib: true,
      types: [],
      target: ts.ScriptTarget.ES2023,
      module: ts.ModuleKind.NodeNext,
      moduleResolution: ts.ModuleResolutionKind.NodeNext,
      allowImportingTsExtensions: true,
      noEmit: true,
    },
  })
  const checker = program.getTypeChecker()
  const resolved = (symbol: ts.Symbol): ts.Symbol =>
    symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol
  const shown = doors.flatMap((door) => {
    const file = program.getSourceFile(door)
    const module = file === undefined ? undefined : checker.getSymbolAtLocation(file)
    return module === undefined ? [] : checker.getExportsOfModule(module)
  })
  const known = new Set(shown.map(resolved))
  const found = new Set<string>()
  for (const symbol of shown) {
    for (const declaration of resolved(symbol).declarations ?? []) {
      if (declaration.getSourceFile().fileName.startsWith(BY_METHOD)) continue
      for (const name of namesIn(declaration, isTypeOnly(symbol))) {
        const at = checker.getSymbolAtLocation(name)
        const target = at === undefined ? undefined : resolved(at)
        const home = target?.declarations?.[0]
        if (target === undefined || home === undefined || known.has(target) || NEVER_WRITTEN.has(target.name)) continue
        if (
          ts.isTypeParameterDeclaration(home) ||
          ts.isSourceFile(home) ||
          !home.getSourceFile().fileName.startsWith(join(ROOT, 'src'))
        )
          continue
        found.add(`${target.name}, which "${symbol.name}" mentions`)
      }
    }
  }
  return [...found].sort()
}

/** A class that goes out as a type is made by nobody outside. */
function isTypeOnly(symbol: ts.Symbol): boolean {
  return (symbol.declarations ?? []).some((node) => ts.isExportSpecifier(node) && ts.isTypeOnlyExportDeclaration(node))
}

/** The names of types in the public part of a declaration: not in bodies, and not in members that nobody else can reach. */
function namesIn(declaration: ts.Node, typeOnly: boolean): readonly ts.Identifier[] {
  const names: ts.Identifier[] = []
  const visit = (node: ts.Node): void => {
    if (ts.isBlock(node) || isHidden(node) || (typeOnly && ts.isConstructorDeclaration(node))) return
    if (ts.isVariableDeclaration(node)) {
      if (node.type !== undefined) visit(node.type)
      return
    }
    if (ts.isTypeReferenceNode(node)) names.push(...leftOf(node.typeName))
    if (ts.isExpressionWithTypeArguments(node) && ts.isIdentifier(node.expression)) names.push(node.expression)
    ts.forEachChild(node, visit)
  }
  visit(declaration)
  return names
}

function leftOf(name: ts.EntityName): readonly ts.Identifier[] {
  return nodesOf(name).filter(ts.isIdentifier)
}

function isHidden(node: ts.Node): boolean {
  if (!ts.isClassElement(node)) return false
  if (node.name !== undefined && ts.isPrivateIdentifier(node.name)) return true
  return (ts.getCombinedModifierFlags(node) & ts.ModifierFlags.Private) !== 0
}
