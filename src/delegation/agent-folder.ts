/**
 * The agent files of a project, read once: what stands directly in `agents` and has an agent extension, in the order of
 * code points. Owns which files are taken and what is refused about a file as a file; what the text says is others' matter.
 *
 * A file that cannot be taken makes only its own name unavailable, with a reason; what concerns the folder as a whole ends the
 * reading (law 5). Agents are ordinary project files, so their modes may let others read them, and never write them.
 */
import { join } from 'node:path'
import { byCodePoint, Fault, isFault, messageOf } from '../core/index.ts'
import { readSource, SOURCE_BYTES_MAX } from '../dsl/index.ts'
import type { FileFacts, OpenFile, World } from '../world/index.ts'
import { placed, shownName } from './places.ts'

export const AGENTS_FOLDER = 'agents'
export const AGENT_EXTENSIONS = ['.symbi', '.dsl'] as const

const ENTRIES_MAX = 1024
const ALL_BYTES_MAX = 16 * 1024 * 1024
const WRITABLE_BY_ALL = 0o002

/** `file` is a name in the folder; a rejection says why, for people, with the file and where it can the place. */
export type AgentFile =
  | { readonly file: string; readonly text: string }
  | { readonly file: string; readonly rejection: string }

export interface AgentFolder {
  readonly files: readonly AgentFile[]
}

/** Empty where there is no folder. Throws `REGISTRY_LIMIT`, or `STORAGE_UNSAFE` for a folder that cannot be trusted. */
export async function readAgentFolder(world: World, folder: string): Promise<AgentFolder> {
  const before = await agentFolderFacts(world, folder)
  if (before === null) return { files: [] }
  const names = (await world.files.list(folder)) ?? []
  if (names.length > ENTRIES_MAX) throw tooMuch(`it has ${names.length} entries and ${ENTRIES_MAX} are allowed`)
  const files: AgentFile[] = []
  let bytes = 0
  for (const name of names.filter((name) => stemOf(name) !== null).sort(byCodePoint)) {
    const read = await readAgentFile(world, join(folder, name), name)
    files.push(read.file)
    bytes += read.bytes
    if (bytes > ALL_BYTES_MAX) throw tooMuch(`its files hold more than the ${ALL_BYTES_MAX} bytes that are allowed`)
  }
  const after = await world.files.lstat(folder)
  if (after?.inode !== before.inode) throw unsafeFolder('it was replaced while it was read')
  return { files }
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
  readonly file: AgentFile
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

function tooMuch(state: string): Fault {
  return new Fault('REGISTRY_LIMIT', {
    message: `Cannot read the folder "${AGENTS_FOLDER}": ${state}`,
    hint: 'Move what is no agent out of the folder, or split the agents over several projects',
  })
}

function unsafeFolder(state: string): Fault {
  return new Fault('STORAGE_UNSAFE', {
    message: `Cannot read the folder "${AGENTS_FOLDER}": ${state}`,
    hint: 'Make it a real folder that not everybody may write to',
  })
}
