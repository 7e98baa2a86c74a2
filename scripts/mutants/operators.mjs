/**
 * What is changed beside what Stryker changes by itself: an `await` is dropped, a statement is left out, a number is one
 * more. Most of our promises are of that kind: something is awaited before the next step, in order, and within a bound.
 * Texts for people are left alone, because a test that repeats a sentence proves nothing.
 *
 * Stryker has no way in for operators, so this reaches into the one version of it that `scripts/mutants.mjs` installs.
 */
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

/** Set by `scripts/mutants.mjs`. A worker of Stryker loads this file too, and changes nothing. */
const home = process.env.SYMBI_MUTANTS_HOME
const inside = '@stryker-mutator/instrumenter/dist/src/mutators/mutate.js'

/**
 * Stryker asks every plugin for this list.
 *
 * @type {readonly object[]}
 */
export const strykerPlugins = []

/**
 * The parts of a babel path that are used here; its package is Stryker's, and not ours.
 *
 * @typedef {{ type: string, value?: any, quasis?: any[], expression?: any, body?: any[], argument?: any }} Node
 * @typedef {{ node: Node, parent: Node, parentPath: Path }} Path
 * @typedef {{ name: string, mutate(path: Path, options: object): Iterable<Node> }} Operator
 */

/** @type {readonly Operator[]} */
const ours = [
  {
    name: 'DroppedAwait',
    *mutate({ node }) {
      if (node.type === 'AwaitExpression') yield node.argument
    },
  },
  {
    name: 'RemovedStatement',
    *mutate({ node, parent }) {
      // the only statement of a block goes with the block
      const alone = parent.type !== 'BlockStatement' || parent.body?.length === 1
      const removed = ['ExpressionStatement', 'ThrowStatement'].includes(node.type)
      if (removed && !alone) yield { type: 'EmptyStatement' }
    },
  },
  {
    name: 'OneMore',
    *mutate({ node }) {
      if (node.type === 'NumericLiteral') yield { type: 'NumericLiteral', value: node.value + 1 }
    },
  },
]

/** @param {Operator} operator */
function withoutTexts(operator) {
  return {
    ...operator,
    /**
     * @param {Path} path
     * @param {object} options
     */
    mutate: (path, options) => (isText(path.node) ? [] : operator.mutate(path, options)),
  }
}

/** @param {Node} node a literal of several words is read by people; a single word is a name */
function isText({ type, value, quasis }) {
  if (type === 'StringLiteral') return value.trim().includes(' ')
  return type === 'TemplateLiteral' && quasis?.some((part) => part.value.raw.includes(' '))
}

if (home !== undefined) {
  const { allMutators } = await import(pathToFileURL(join(home, 'node_modules', inside)).href)
  const texts = allMutators.findIndex((/** @type {Operator} */ { name }) => name === 'StringLiteral')
  allMutators.splice(texts, 1, withoutTexts(allMutators[texts]), ...ours)
}
