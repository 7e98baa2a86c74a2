/** What tests say about a text: the codes that are found, each with its place. */
import { checkSource, type Diagnostic, parse } from '../../src/dsl/index.ts'

export const codeAt = ({ code, start }: Diagnostic): string => `${code} ${start.line}:${start.column}`

/** What the grammar has to say, warnings included. */
export const grammarOf = (text: string): readonly string[] => parse(text).diagnostics.map(codeAt)

export const checkOf = (text: string): readonly string[] => checkSource(parse(text)).map(codeAt)

/** Without the places: what was read, for comparisons. */
export function shapeOf(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(shapeOf)
  if (node === null || typeof node !== 'object') return node
  return Object.fromEntries(
    Object.entries(node).flatMap(([key, value]) => (key === 'span' ? [] : [[key, shapeOf(value)]])),
  )
}
