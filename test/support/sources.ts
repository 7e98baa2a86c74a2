/** Our own files as data, for the tests that read them: paths are relative to the clone, with forward slashes. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

export const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const NOT_OURS = new Set(['node_modules', 'dist', 'coverage', '.git', '.cache', '.symbi-demo'])

export interface Source {
  readonly path: string
  readonly text: string
}

/** The files below a folder whose names end so. */
export function sourcesIn(folder: string, ending = '.ts'): readonly Source[] {
  return pathsIn(folder)
    .filter((path) => path.endsWith(ending))
    .map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }))
}

export function pathsIn(folder: string): readonly string[] {
  const found: string[] = []
  for (const entry of readdirSync(join(ROOT, folder), { withFileTypes: true })) {
    const path = folder === '.' ? entry.name : `${folder}/${entry.name}`
    if (NOT_OURS.has(entry.name)) continue
    if (entry.isDirectory()) found.push(...pathsIn(path))
    else if (entry.isFile()) found.push(path)
  }
  return found.sort()
}

export function parse({ path, text }: Source): ts.SourceFile {
  return ts.createSourceFile(path, text, ts.ScriptTarget.ES2023, true)
}

/** Every node of a file, in the order of the text. */
export function* nodesOf(node: ts.Node): Generator<ts.Node> {
  yield node
  for (const child of childrenOf(node)) yield* nodesOf(child)
}

function childrenOf(node: ts.Node): readonly ts.Node[] {
  const children: ts.Node[] = []
  ts.forEachChild(node, (child) => void children.push(child))
  return children
}

export function lineOf(file: ts.SourceFile, node: ts.Node): number {
  return file.getLineAndCharacterOfPosition(node.getStart(file)).line + 1
}
