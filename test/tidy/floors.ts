/** The floors as data, and the rule that reads them: a file imports its own folder, or the front door of a lower floor. */
import { posix } from 'node:path'
import ts from 'typescript'
import type { Source } from '../support/sources.ts'

export const FLOORS = [
  ['core'],
  ['world', 'dsl', 'events'],
  ['store', 'keys', 'calls', 'providers', 'budget', 'api'],
  ['journal', 'policy', 'tools', 'access'],
  ['dispatch', 'invocations', 'replay', 'upstream'],
  ['loop', 'session'],
  ['delegation', 'fleet'],
  ['coordinator', 'scheduler'],
  ['server', 'broker', 'channels'],
  ['runtime'],
  ['cli', 'testing'],
]
/** Files with one visitor each: the one exception to the front door. */
export const GUARDED = new Map([
  ['src/calls/grant.ts', 'dispatch'],
  ['src/calls/approval.ts', 'policy'],
  ['src/tools/run.ts', 'dispatch'],
])

const floorOf = (folder: string): number => FLOORS.findIndex((floor) => floor.includes(folder))
const folderOf = (path: string): string => path.split('/')[1] ?? ''

/** Why the imports of these files break the layout. The files are the whole of src. */
export function floorViolations(sources: readonly Source[]): readonly string[] {
  const known = new Set(sources.map(({ path }) => path))
  return sources.flatMap((source) => {
    const own = folderOf(source.path)
    if (floorOf(own) === -1) return [`${source.path}: the folder "${own}" stands on no floor`]
    // type-only imports and `import('…')` count: preProcessFile lists them all
    const specifiers = ts.preProcessFile(source.text, true, true).importedFiles.map(({ fileName }) => fileName)
    return specifiers.flatMap((specifier) => {
      if (specifier.startsWith('symbi-runtime')) return [`${source.path}: imports its own package by name`]
      if (!specifier.startsWith('.')) return []
      const target = posix.join(posix.dirname(source.path), specifier)
      if (!known.has(target)) return [`${source.path}: "${specifier}" is no file of src`]
      const folder = folderOf(target)
      if (folder === own || GUARDED.get(target) === own) return []
      if (target !== `src/${folder}/index.ts`) return [`${source.path}: reaches past the front door into ${target}`]
      return floorOf(folder) < floorOf(own) ? [] : [`${source.path}: "${own}" must not import "${folder}"`]
    })
  })
}
