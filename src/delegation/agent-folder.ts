/**
 * The agent files of a project, read once: what stands directly in `agents` and has an agent extension, in the order of
 * code points. Owns which files are taken and what is refused about a file as a file; what the text says is others' matter.
 *
 * A file that cannot be taken makes only its own name unavailable, with a reason, and one that no longer fits its names; a
 * folder that cannot be trusted ends the reading (law 5). Agents are ordinary project files, so their modes may let others
 * read them, and never write them.
 */
import { join } from 'node:path'
import { byCodePoint, Fault, isFault, messageOf } from '../core/index.ts'
import { agentsOf, parse, readSource, SOURCE_BYTES_MAX } from '../dsl/index.ts'
import type { FileFacts, OpenFile, World } from '../world/index.ts'
import {
  AGENTS_FOLDER,
  ALL_BYTES_MAX,
  ENTRIES_MAX,
  LOOKED_AT_BYTES_MAX,
  LOOKED_AT_FILES_MAX,
  leftOutBecause,
  uncertainBecause,
} from './limits.ts'
import { placed, shownName } from './places.ts'

export const AGENT_EXTENSIONS = ['.symbi', '.dsl'] as const

const WRITABLE_BY_ALL = 0o002

type ReadFile =
  | { readonly file: string; readonly text: string }
  /** It cannot be read, so nobody knows what it declares. */
  | { readonly file: string; readonly rejection: string }

/** `file` is a name in the folder. A reason is for people, with the file and where it can the place. */
export type AgentFile =
  | ReadFile
  /** It can be read and no longer fits: it is looked through for the names that it declares, and not taken. */
  | { readonly file: string; readonly leftOut: string; readonly declares: readonly string[] }

export interface AgentFolder {
  /** In the order of their names. */
  readonly files: readonly AgentFile[]
  /** Why not all files of the folder were looked through, so that no name in it is certain; null where all were. */
  readonly unread: string | null
}

/** Empty where there is no folder. Throws `STORAGE_UNSAFE` for a folder that cannot be trusted. */
export async function readAgentFolder(world: World, folder: string): Promise<AgentFolder> {
  const before = await agentFolderFacts(world, folder)
  if (before === null) return { files: [], unread: null }
  const names = (await world.files.list(folder)) ?? []
  const read = await readFiles(world, folder, [...names].sort(byCodePoint))
  const after = await world.files.lstat(folder)
  if (after?.inode !== before.inode) throw unsafeFolder('it was replaced while it was read')
  return read
}

async function readFiles(world: World, folder: string, entries: readonly string[]): Promise<AgentFolder> {
  const files: AgentFile[] = []
  let [bytesSeen, bytesTaken] = [0, 0]
  for (const [at, name] of entries.entries()) {
    if (stemOf(name) === null) continue
    const unread = unreadBecause(files.length, bytesSeen)
    if (unread !== null) return { files, unread }
    const { file, bytes } = await readAgentFile(world, join(folder, name), name)
    bytesSeen += bytes
    const why = 'text' in file ? misfitIn(at, entries.length, bytesTaken + bytes) : null
    if (!('text' in file) || why === null) {
      files.push(file)
      bytesTaken += 'text' in file ? bytes : 0
      continue
    }
    const declares = [...new Set(agentsOf(parse(file.text).tree).map((agent) => agent.name.text))]
    files.push({ file: name, leftOut: leftOutBecause(`${AGENTS_FOLDER}/${shownName(name)}`, why), declares })
  }
  return { files, unread: null }
}

/** Why the next file is not even looked through. */
function unreadBecause(files: number, bytes: number): string | null {
  if (files >= LOOKED_AT_FILES_MAX) return uncertainBecause(`it has more than ${LOOKED_AT_FILES_MAX} files of agents`)
  if (bytes < LOOKED_AT_BYTES_MAX) return null
  return uncertainBecause(`its files hold more than ${LOOKED_AT_BYTES_MAX} bytes`)
}

/** Why a file is not taken, or null: `at` is its place among the entries, and `bytes` what would be taken with it. */
function misfitIn(at: number, entries: number, bytes: number): string | null {
  if (at >= ENTRIES_MAX) return `the folder has ${entries} entries and the first ${ENTRIES_MAX} by name are taken`
  if (bytes <= ALL_BYTES_MAX) return null
  return `with the files before it, it would hold ${bytes} bytes and ${ALL_BYTES_MAX} are allowed`
}

/** The name without its extension, or null where it is no name of an agent file. */
export function stemOf(name: string): string | null {
  const extension = AGENT_EXTENSIONS.find((ending) => name.length > ending.length && name.endsWith(ending))
  return extension === undefined ? null : name.slice(0, -extension.length)
}

/** Null where there is no folder; throws `STORAGE_UNSAFE` for one that cannot be trusted. */
export async function agentFolderFacts(world: World, folder: string): Promise<FileFacts | null> {
  const facts = await world.files.lstat(folder)
  if (facts === null) return null
  const { kind, mode } = facts
  if (kind !== 'directory') throw unsafeFolder(`it is ${kind === 'link' ? 'a link' : 'no folder'}`)
  if ((mode & WRITABLE_BY_ALL) !== 0) throw unsafeFolder(`everybody may write to it (mode 0${mode.toString(8)})`)
  return facts
}

interface Read {
  readonly file: ReadFile
  readonly bytes: number
}

/** One file by the rules of the folder. */
export async function readAgentFile(world: World, path: string, name: string): Promise<Read> {
  const place = `${AGENTS_FOLDER}/${shownName(name)}`
  const rejected = (reason: string, bytes = 0): Read => ({
    file: { file: name, rejection: `${place}: ${reason}` },
    bytes,
  })
  if (name.startsWith('.')) return rejected('hidden files are not read')
  let bytes: Uint8Array
  try {
    await using file = await world.files.open(path, 'read')
    if (file === null) return rejected('it went away while the folder was read')
    const before = await file.facts()
    const misfit = misfitOf(before)
    if (misfit !== null) return rejected(misfit)
    bytes = await file.read(0, before.size)
    if (await changed(file, before, bytes)) return rejected('it changed while it was read')
  } catch (error) {
    if (isFault(error)) return rejected(unreadable(error))
    throw error
  }
  const { text, diagnostics } = readSource(bytes)
  const problem = diagnostics[0]
  if (problem !== undefined) return { file: { file: name, rejection: placed(place, problem) }, bytes: bytes.length }
  return { file: { file: name, text }, bytes: bytes.length }
}

function misfitOf({ kind, links, mode, size }: FileFacts): string | null {
  if (kind !== 'file') return 'it is no regular file'
  if (links !== 1) return `it has ${links} links, and a file that has another name can be changed under that name`
  if ((mode & WRITABLE_BY_ALL) !== 0) return `everybody may write to it (mode 0${mode.toString(8)})`
  return size > SOURCE_BYTES_MAX ? `it holds ${size} bytes and ${SOURCE_BYTES_MAX} are allowed` : null
}

/** Read twice: two writes that the file system stamps alike show in the bytes. */
async function changed(file: OpenFile, before: FileFacts, bytes: Uint8Array): Promise<boolean> {
  const again = await file.read(0, before.size)
  const { size, modifiedNs, changedNs } = await file.facts()
  return (
    size !== before.size ||
    modifiedNs !== before.modifiedNs ||
    changedNs !== before.changedNs ||
    bytes.length !== before.size ||
    Buffer.compare(bytes, again) !== 0
  )
}

/** The message without its "Cannot …": the reason already names the file. */
function unreadable(fault: Fault): string {
  return messageOf(fault).replace(/^Cannot [^:]*: /, '')
}

function unsafeFolder(state: string): Fault {
  return new Fault('STORAGE_UNSAFE', {
    message: `Cannot read the folder "${AGENTS_FOLDER}": ${state}`,
    hint: 'Make it a real folder that not everybody may write to',
  })
}
