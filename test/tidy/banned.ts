/**
 * One World: what is banned outside src/world, and what to write instead.
 *
 * Names are resolved, not searched for: a parameter or an import of the same name is no global, and comments and strings
 * do not count. Type-only imports are gone when the program runs, so they are free.
 */
import ts from 'typescript'
import { lineOf, nodesOf, type Source } from '../support/sources.ts'

const CLOCK = 'world.clock'
const FILES = 'world.files'
const NET = 'world.net'

/** Globals by name. */
const GLOBALS: Readonly<Record<string, string>> = {
  setTimeout: `${CLOCK}.timer or ${CLOCK}.sleep`,
  setInterval: `${CLOCK}.timer, armed again`,
  setImmediate: `${CLOCK}.yield`,
  clearTimeout: `the function that ${CLOCK}.timer returns`,
  clearInterval: `the function that ${CLOCK}.timer returns`,
  clearImmediate: `${CLOCK}.yield`,
  performance: `${CLOCK}.monotonicMs`,
  process: 'world.processes, or an argument from cli',
  navigator: 'world.threads',
  fetch: `${NET}.fetch`,
  WebSocket: `a socket over ${NET}`,
  EventSource: `${NET}.fetch`,
  XMLHttpRequest: `${NET}.fetch`,
  BroadcastChannel: 'a port that runtime fills',
  crypto: 'world.random, or names imported from node:crypto',
  console: 'the logger that was handed in, or the output of cli',
  globalThis: 'the World that was handed in',
  global: 'the World that was handed in',
  self: 'the World that was handed in',
  eval: 'code',
  Function: 'a function',
}
/** Globals that are half pure: these members may be used, everything else of them not. */
const HALF_PURE: Readonly<Record<string, { readonly pure: ReadonlySet<string>; readonly instead: string }>> = {
  Date: { pure: new Set(['parse', 'UTC']), instead: `${CLOCK}.wall, or timestampOf` },
  Math: {
    pure: new Set(Object.getOwnPropertyNames(Math).filter((name) => name !== 'random')),
    instead: 'world.random',
  },
  AbortSignal: { pure: new Set(['abort', 'any']), instead: `an AbortController and ${CLOCK}.timer` },
}
/** Modules, with every module below them. */
const MODULES: Readonly<Record<string, string>> = {
  fs: FILES,
  net: NET,
  http: NET,
  https: NET,
  http2: NET,
  tls: NET,
  dgram: NET,
  dns: NET,
  child_process: 'world.processes',
  cluster: 'world.processes',
  process: 'world.processes',
  os: 'world.threads or world.processes',
  worker_threads: 'a WaitingThread of src/world',
  timers: CLOCK,
  perf_hooks: CLOCK,
  inspector: 'nothing',
  repl: 'nothing',
}
/** What node:crypto offers by chance; hashing, signing and comparing are pure. */
const CHANCE = new Set([
  ...[
    'randomBytes',
    'randomUUID',
    'randomInt',
    'randomFill',
    'randomFillSync',
    'getRandomValues',
    'webcrypto',
    'subtle',
  ],
  ...['generateKey', 'generateKeySync', 'generateKeyPair', 'generateKeyPairSync', 'generatePrime', 'generatePrimeSync'],
])
/** Folders that may use more. The project of a test is made and removed outside of the World that the test opens on it. */
const ALLOWED: Readonly<Record<string, ReadonlySet<string>>> = {
  cli: new Set(['process']),
  testing: new Set(['node:fs', 'node:os']),
}

export interface Violation {
  readonly place: string
  readonly banned: string
  readonly instead: string
}

export function bannedIn(sources: readonly Source[]): readonly Violation[] {
  const program = bind(sources.filter(({ path }) => !path.startsWith('src/world/')))
  const checker = program.getTypeChecker()
  const found: Violation[] = []
  for (const file of program.getSourceFiles()) {
    const allowed = ALLOWED[file.fileName.split('/')[1] ?? '']
    for (const node of nodesOf(file)) {
      for (const [banned, instead] of [...globalUse(node, checker), ...moduleUse(node)]) {
        if (allowed?.has(banned) === true) continue
        found.push({ place: `${file.fileName}:${lineOf(file, node)}`, banned, instead })
      }
    }
  }
  return found
}

type Use = readonly [banned: string, instead: string]

function globalUse(node: ts.Node, checker: ts.TypeChecker): readonly Use[] {
  if (!ts.isIdentifier(node) || !isValue(node)) return []
  const instead = Object.hasOwn(GLOBALS, node.text) ? GLOBALS[node.text] : undefined
  const half = Object.hasOwn(HALF_PURE, node.text) ? HALF_PURE[node.text] : undefined
  if ((instead === undefined && half === undefined) || isDeclared(node, checker)) return []
  if (instead !== undefined) return [[node.text, instead]]
  if (half === undefined || isPureUse(node, half.pure)) return []
  const member = ts.isPropertyAccessExpression(node.parent) ? `.${node.parent.name.text}` : ''
  return [[`${node.text}${member}`, half.instead]]
}

/** `Math.max`, `Date.parse` and `new Date(instant)` compute; `Math` or `Date` by itself could become anything. */
function isPureUse(node: ts.Identifier, pure: ReadonlySet<string>): boolean {
  const { parent } = node
  if (ts.isPropertyAccessExpression(parent) && parent.expression === node) return pure.has(parent.name.text)
  if (ts.isBinaryExpression(parent)) return parent.operatorToken.kind === ts.SyntaxKind.InstanceOfKeyword
  return (
    node.text === 'Date' &&
    ts.isNewExpression(parent) &&
    parent.expression === node &&
    (parent.arguments ?? []).length > 0
  )
}

function moduleUse(node: ts.Node): readonly Use[] {
  if (ts.isImportDeclaration(node)) return importUse(node.moduleSpecifier, node.importClause)
  if (ts.isExportDeclaration(node) && node.moduleSpecifier !== undefined && !node.isTypeOnly) {
    return nameUse(node.moduleSpecifier)
  }
  if (ts.isCallExpression(node)) return node.arguments.flatMap(nameUse) // import('…'), require('…') and their like
  return []
}

function importUse(specifier: ts.Expression, clause: ts.ImportClause | undefined): readonly Use[] {
  if (clause?.phaseModifier === ts.SyntaxKind.TypeKeyword) return []
  const bindings = clause?.namedBindings
  const names = bindings !== undefined && ts.isNamedImports(bindings) ? bindings.elements : []
  const values = names.filter((name) => !name.isTypeOnly)
  if (names.length > 0 && values.length === 0 && clause?.name === undefined) return []
  if (moduleOf(specifier) !== 'crypto') return nameUse(specifier)
  const whole = clause?.name !== undefined || (bindings !== undefined && ts.isNamespaceImport(bindings))
  if (whole) return [['node:crypto as a whole', 'names imported from node:crypto']]
  return values
    .map(({ name, propertyName }) => (propertyName ?? name).text)
    .filter((name) => CHANCE.has(name))
    .map((name) => [`node:crypto ${name}`, 'world.random'])
}

function nameUse(specifier: ts.Expression): readonly Use[] {
  const module = moduleOf(specifier)
  const instead = module !== null && Object.hasOwn(MODULES, module) ? MODULES[module] : undefined
  return instead === undefined ? [] : [[`node:${module}`, instead]]
}

/** `fs` of 'node:fs/promises' and of 'fs'; a bare word counts only where a module is named. */
function moduleOf(specifier: ts.Expression): string | null {
  if (!ts.isStringLiteralLike(specifier)) return null
  const names = !ts.isCallExpression(specifier.parent) || isLoader(specifier.parent)
  if (!names && !specifier.text.startsWith('node:')) return null
  return specifier.text.replace(/^node:/, '').split('/')[0] ?? null
}

function isLoader(call: ts.CallExpression): boolean {
  if (call.expression.kind === ts.SyntaxKind.ImportKeyword) return true
  return ts.isIdentifier(call.expression) && call.expression.text === 'require'
}

/** False for the name of a member, of a declaration, of a label, and for types. */
function isValue(node: ts.Identifier): boolean {
  const { parent } = node
  if (ts.isPropertyAccessExpression(parent)) return parent.expression === node
  if (ts.isShorthandPropertyAssignment(parent)) return true
  if (ts.isTypeQueryNode(parent) || ts.isQualifiedName(parent)) return false
  if (ts.isTypeNode(parent) && !ts.isExpressionWithTypeArguments(parent)) return false
  return !isNameOf(parent, node)
}

function isNameOf(parent: ts.Node, node: ts.Identifier): boolean {
  return ['name', 'propertyName', 'label'].some((part) => (parent as unknown as Record<string, unknown>)[part] === node)
}

function isDeclared(node: ts.Identifier, checker: ts.TypeChecker): boolean {
  const symbol = ts.isShorthandPropertyAssignment(node.parent)
    ? checker.getShorthandAssignmentValueSymbol(node.parent)
    : checker.getSymbolAtLocation(node)
  return (symbol?.declarations ?? []).length > 0
}

/** A program of these files alone, without libraries: what they do not declare themselves is a global. */
function bind(sources: readonly Source[]): ts.Program {
  const files = new Map(
    sources.map(({ path, text }) => [path, ts.createSourceFile(path, text, ts.ScriptTarget.ES2023, true)]),
  )
  return ts.createProgram({
    rootNames: [...files.keys()],
    options: { noLib: true, noResolve: true, types: [], target: ts.ScriptTarget.ES2023, module: ts.ModuleKind.ESNext },
    host: {
      getSourceFile: (path) => files.get(path),
      getDefaultLibFileName: () => 'lib.d.ts',
      getCurrentDirectory: () => '',
      getCanonicalFileName: (path) => path,
      useCaseSensitiveFileNames: () => true,
      getNewLine: () => '\n',
      fileExists: (path) => files.has(path),
      readFile: (path) => files.get(path)?.text,
      writeFile: () => undefined,
    },
  })
}
