/**
 * Counts where a program goes: a transformer for the compiler that adds one to a counter at the start of every function,
 * branch, loop body, case, and right side of `&&`, `||` and `??`. The counters are one array of the process, `COUNTERS`, so
 * that whoever runs the program can ask after each input which ways it took, and how many steps they were.
 *
 * What is added does nothing else: it reads no name of the program and changes no value.
 */
import ts from 'typescript'

/** The name of the array, a member of globalThis. */
export const COUNTERS = 'symbiFuzzCounters'
const LOCAL = '__count'
const { factory } = ts

/** Hands out the numbers of counters over several files. */
export class Counters {
  count = 0

  /** @returns {number} */
  next() {
    this.count += 1
    return this.count - 1
  }
}

/**
 * The JavaScript of a TypeScript file. With `counters` it counts, once `head` stands before it.
 *
 * @param {string} text
 * @param {string} path
 * @param {Counters | null} counters
 * @returns {string}
 */
export function transpile(text, path, counters) {
  const { outputText } = ts.transpileModule(text, {
    fileName: path,
    compilerOptions: {
      target: ts.ScriptTarget.ES2023,
      module: ts.ModuleKind.ESNext,
      verbatimModuleSyntax: true,
      rewriteRelativeImportExtensions: true,
    },
    ...(counters === null ? {} : { transformers: { before: [counting(counters)] } }),
  })
  return outputText
}

/**
 * What stands before each file that counts, in front of its first line. `count` is that of all files together.
 *
 * @param {Counters} counters
 * @returns {string}
 */
export function head({ count }) {
  return `const ${LOCAL} = (globalThis.${COUNTERS} ??= new Uint32Array(${count}));`
}

/**
 * @param {Counters} counters
 * @returns {import('typescript').TransformerFactory<import('typescript').SourceFile>}
 */
function counting(counters) {
  const step = () =>
    factory.createPostfixIncrement(
      factory.createElementAccessExpression(factory.createIdentifier(LOCAL), counters.next()),
    )
  /** @param {import('typescript').Statement} statement */
  const counted = (statement) =>
    ts.isBlock(statement)
      ? factory.updateBlock(statement, [factory.createExpressionStatement(step()), ...statement.statements])
      : factory.createBlock([factory.createExpressionStatement(step()), statement], true)
  /** @param {import('typescript').Expression} expression */
  const after = (expression) => factory.createParenthesizedExpression(factory.createComma(step(), expression))

  return (context) => {
    /**
     * @param {import('typescript').Node} given
     * @returns {import('typescript').Node}
     */
    const visit = (given) => {
      if (ts.isTypeNode(given)) return given
      const node = ts.visitEachChild(given, visit, context)
      if (ts.isIfStatement(node)) {
        const other = node.elseStatement
        const otherwise =
          other === undefined ? factory.createBlock([factory.createExpressionStatement(step())]) : counted(other)
        return factory.updateIfStatement(node, node.expression, counted(node.thenStatement), otherwise)
      }
      if (ts.isConditionalExpression(node)) {
        const { condition, questionToken, whenTrue, colonToken, whenFalse } = node
        return factory.updateConditionalExpression(
          node,
          condition,
          questionToken,
          after(whenTrue),
          colonToken,
          after(whenFalse),
        )
      }
      if (ts.isBinaryExpression(node) && SHORT.has(node.operatorToken.kind)) {
        return factory.updateBinaryExpression(node, node.left, node.operatorToken, after(node.right))
      }
      if (ts.isForStatement(node)) {
        const { initializer, condition, incrementor } = node
        return factory.updateForStatement(node, initializer, condition, incrementor, counted(node.statement))
      }
      if (ts.isForOfStatement(node)) {
        const { awaitModifier, initializer, expression } = node
        return factory.updateForOfStatement(node, awaitModifier, initializer, expression, counted(node.statement))
      }
      if (ts.isWhileStatement(node)) return factory.updateWhileStatement(node, node.expression, counted(node.statement))
      if (ts.isCaseClause(node)) return factory.updateCaseClause(node, node.expression, [own(), ...node.statements])
      if (ts.isDefaultClause(node)) return factory.updateDefaultClause(node, [own(), ...node.statements])
      if (ts.isCatchClause(node)) {
        return factory.updateCatchClause(node, node.variableDeclaration, /** @type {any} */ (counted(node.block)))
      }
      if (ts.isArrowFunction(node) && !ts.isBlock(node.body)) {
        const { modifiers, typeParameters, parameters, type, equalsGreaterThanToken, body } = node
        return factory.updateArrowFunction(
          node,
          modifiers,
          typeParameters,
          parameters,
          type,
          equalsGreaterThanToken,
          after(body),
        )
      }
      return node
    }
    const own = () => factory.createExpressionStatement(step())
    /**
     * The bodies of functions, and the arms of branches, are blocks. A body's own first step is added here, in front of
     * nothing that has to come first: `super()` may stand behind a statement, and a directive is not used by anybody here.
     *
     * @param {import('typescript').Node} given
     * @returns {import('typescript').Node}
     */
    const bodies = (given) => {
      const node = ts.visitEachChild(given, bodies, context)
      const isBody = ts.isBlock(node) && given.parent !== undefined && ts.isFunctionLike(given.parent)
      return isBody ? counted(/** @type {import('typescript').Block} */ (node)) : node
    }
    return (file) => /** @type {import('typescript').SourceFile} */ (visit(bodies(file)))
  }
}

const SHORT = new Set([
  ts.SyntaxKind.AmpersandAmpersandToken,
  ts.SyntaxKind.BarBarToken,
  ts.SyntaxKind.QuestionQuestionToken,
])
