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

const read = new Map<string, Source>()
const parsed = new WeakMap<Source, ts.SourceFile>()

/** The files below a folder whose names end so. Each is read once a process: nobody writes to them while tests run. */
export function sourcesIn(folder: string, ending = '.ts'): readonly Source[] {
  return pathsIn(folder)
    .filter((path) => path.endsWith(ending))
    .map((path) => {
      const source = read.get(path) ?? { path, text: readFileSync(join(ROOT, path), 'utf8') }
      read.set(path, source)
      return source
    })
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

/** Its tree, made once: several rules look at each file, and to parse all of src takes a second. */
export function parse(source: Source): ts.SourceFile {
  const file = parsed.get(source) ?? ts.createSourceFile(source.path, source.text, ts.ScriptTarget.ES2023, true)
  parsed.set(source, file)
  return file
}

/** Every node of a file, in the order of the text. */
export function nodesOf(node: ts.Node): readonly ts.Node[] {
  const found: ts.Node[] = []
  const visit = (at: ts.Node): void => {
    found.push(at)
    ts.forEachChild(at, visit)
  }
  visit(node)
  return found
}

export function lineOf(file: ts.SourceFile, node: ts.Node): number {
  return file.getLineAndCharacterOfPosition(node.getStart(file)).line + 1
}
