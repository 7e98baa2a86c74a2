/**
 * Which sources a command is about, and their texts. What is wrong with a file as a file is a diagnostic like any other, so
 * one that cannot be read keeps no other from being looked at.
 */
import { basename, join } from 'node:path'
import { byCodePoint, Fault, messageOf } from '../../core/index.ts'
import { AGENT_EXTENSIONS, AGENTS_FOLDER } from '../../delegation/index.ts'
import { type Diagnostic, readSource, SOURCE_BYTES_MAX } from '../../dsl/index.ts'
import type { FileFacts, World } from '../../world/index.ts'
import { folderPaths } from '../project/project-paths.ts'

export interface SourceText {
  /** As the person wrote it, so that an editor can jump there. */
  readonly name: string
  /** Null when nothing could be decoded; then `problems` says why. */
  readonly text: string | null
  readonly problems: readonly Diagnostic[]
}

/** What is meant where no file is named: the folder of agents, or nothing where the project has none. */
export async function agentsOfProject(world: World, project: string): Promise<readonly string[]> {
  await folderPaths(world, project) // says so when there is no such folder
  const folder = join(project, AGENTS_FOLDER)
  return (await world.files.lstat(folder)) === null ? [] : [folder]
}

/** A folder stands for the agent files directly in it. Whatever else is named, or is named like a source, is taken for a file. */
export async function filesAt(world: World, paths: readonly string[]): Promise<readonly string[]> {
  const files: string[] = []
  for (const path of paths) {
    if (isSourceName(basename(path)) || world.files.factsNow(path)?.kind !== 'directory') {
      files.push(path)
      continue
    }
    const names = ((await world.files.list(path)) ?? []).filter(isSourceName).sort(byCodePoint)
    files.push(...names.map((name) => (path.endsWith('/') ? `${path}${name}` : `${path}/${name}`)))
  }
  return files
}

/** Of a file's own name; a name that is nothing but an ending is none. */
export function isSourceName(name: string): boolean {
  return AGENT_EXTENSIONS.some((extension) => name.endsWith(extension) && name.length > extension.length)
}

/** Never throws for anything that it finds there. */
export async function readSourceFile(world: World, name: string): Promise<SourceText> {
  try {
    const found = await world.files.lstat(name)
    const misfit = found === null ? 'it does not exist' : misfitOf(found)
    if (misfit !== null) return unreadable(name, misfit)
    await using file = await world.files.open(name, 'read')
    if (file === null) return unreadable(name, 'it went away while it was read')
    return sourceOf(name, await file.readAll(SOURCE_BYTES_MAX + 1))
  } catch (error) {
    if (error instanceof Fault) return unreadable(name, stateOf(error))
    throw error
  }
}

/** What came from elsewhere: an argument, or standard input. */
export function sourceOf(name: string, bytes: Uint8Array): SourceText {
  const { text, diagnostics } = readSource(bytes)
  return { name, text: diagnostics.length === 0 ? text : null, problems: diagnostics }
}

function misfitOf({ kind, size }: FileFacts): string | null {
  if (kind === 'link') return 'it is a link'
  if (kind !== 'file') return 'it is no regular file'
  return size > SOURCE_BYTES_MAX ? `it holds ${size} bytes and ${SOURCE_BYTES_MAX} are allowed` : null
}

/** The state of a message "Cannot … …: state". */
function stateOf(fault: Fault): string {
  return messageOf(fault).replace(/^Cannot [^:]*: /, '')
}

function unreadable(name: string, state: string): SourceText {
  const start = { line: 1, column: 1, offset: 0 }
  const message = `Cannot read the source: ${state}`
  const hint = 'Name a regular file of at most 1 MiB that ends in .symbi'
  return {
    name,
    text: null,
    problems: [{ kind: 'syntax', code: 'E104', message, hint, start, end: start, related: [] }],
  }
}
