/**
 * Which source a person means by a name (1.1). A path is what it says; a name is looked up in the project, by its files first
 * and then by what they declare, because policy and journals know an agent by its declared name only.
 *
 * What is found through `agents` obeys the rules and the limits of that folder; a path that somebody typed may be a link, and
 * is taken however many files lie beside it.
 */
import { basename, isAbsolute, join } from 'node:path'
import { Fault, isFault, messageOf } from '../core/index.ts'
import { agentsOf, parse, readSource, SOURCE_BYTES_MAX } from '../dsl/index.ts'
import type { World } from '../world/index.ts'
import {
  AGENT_EXTENSIONS,
  type AgentFile,
  type AgentFolder,
  agentFolderFacts,
  readAgentFile,
  readAgentFolder,
  stemOf,
} from './agent-folder.ts'
import { AGENTS_FOLDER, LIMIT_HINT } from './limits.ts'
import { placed, shownName, someOf } from './places.ts'

export interface FoundSource {
  /** How messages call it: a path as it was typed, or relative to the project. */
  readonly file: string
  readonly text: string
  /** What to select in it. */
  readonly selector: string
}

/**
 * `root` is the project's folder; a path is relative to the current one. Throws `AGENT_UNKNOWN`, `AGENT_AMBIGUOUS`, or
 * `AGENT_UNAVAILABLE` for a file that cannot be taken or was left out.
 */
export async function findAgentSource(world: World, root: string, name: string): Promise<FoundSource> {
  const selector = stemOf(basename(name)) ?? basename(name)
  for (const { path, shown } of placesOf(root, name)) {
    const text = await readTyped(world, path, shown)
    if (text !== null) return { file: shown, text, selector }
  }
  const isName = !name.includes('/') && (await agentFolderFacts(world, join(root, AGENTS_FOLDER))) !== null
  const folder = await readAgentFolder(world, join(root, AGENTS_FOLDER))
  for (const file of isName ? spellingsOf(name) : []) {
    const text = await readFromFolder(world, root, file)
    if (text === null) continue
    refuseLeftOut(folder, file)
    return { file: `${AGENTS_FOLDER}/${shownName(file)}`, text, selector }
  }
  return findDeclared(folder, name)
}

/** A name that already ends in an agent extension is taken as it is. */
function spellingsOf(name: string): readonly string[] {
  return stemOf(name) === null ? [name, ...AGENT_EXTENSIONS.map((extension) => `${name}${extension}`)] : [name]
}

interface Place {
  readonly path: string
  readonly shown: string
}

/** What looks like a path means the current folder first; everything means the project's folder. */
function placesOf(root: string, name: string): readonly Place[] {
  const spellings = spellingsOf(name)
  const looksTyped = name.includes('/') || stemOf(name) !== null
  const typed = looksTyped ? spellings.map((file) => ({ path: file, shown: shownName(file) })) : []
  if (isAbsolute(name)) return typed
  return [...typed, ...spellings.map((file) => ({ path: join(root, file), shown: shownName(file) }))]
}

/** Null where no file is: a folder of that name does not stand in the way of an agent. */
async function readTyped(world: World, path: string, shown: string): Promise<string | null> {
  let bytes: Uint8Array
  try {
    const real = await world.files.realpath(path)
    if (real === null) return null
    await using file = await world.files.open(real, 'read')
    if (file === null) return null
    const { kind } = await file.facts()
    if (kind === 'directory') return null
    if (kind !== 'file') throw unavailable(`"${shown}" is no regular file`)
    bytes = await file.readAll(SOURCE_BYTES_MAX)
  } catch (error) {
    if (!isFault(error) || error.code === 'AGENT_UNAVAILABLE') throw error
    if (NO_SUCH_FILE.has(String(error.facts.errno))) return null
    throw unavailable(`"${shown}": ${messageOf(error)}`)
  }
  const { text, diagnostics } = readSource(bytes)
  const problem = diagnostics[0]
  if (problem !== undefined) throw unavailable(placed(shown, problem))
  return text
}

/** The system's words for a name that can be no file. */
const NO_SUCH_FILE = new Set(['ENOTDIR', 'ENAMETOOLONG', 'EISDIR'])

async function readFromFolder(world: World, root: string, name: string): Promise<string | null> {
  const path = join(root, AGENTS_FOLDER, name)
  const facts = await world.files.lstat(path).catch(() => null)
  if (facts === null || facts.kind === 'directory') return null
  const { file } = await readAgentFile(world, path, name)
  if ('rejection' in file) throw unavailable(file.rejection)
  return file.text
}

/** By its file, an agent is as available as by its name. A file without an agent extension is none of the folder's. */
function refuseLeftOut({ files, unread }: AgentFolder, name: string): void {
  const found = files.find(({ file }) => file === name)
  if (found !== undefined && 'leftOut' in found) throw leftOut(found.leftOut)
  if (found === undefined && unread !== null && stemOf(name) !== null) throw leftOut(unread)
}

function findDeclared({ files, unread }: AgentFolder, name: string): FoundSource {
  if (unread !== null) throw leftOut(unread)
  const declared = files.flatMap((source) => {
    const names = namesIn(source)
    return names === null ? [] : [{ file: `${AGENTS_FOLDER}/${shownName(source.file)}`, source, names }]
  })
  const [found, ...others] = declared.filter(({ names }) => names.includes(name))
  if (found === undefined)
    throw unknown(
      name,
      declared.flatMap(({ names }) => names),
      files.length - declared.length,
    )
  if (others.length === 0) {
    if ('leftOut' in found.source) throw leftOut(found.source.leftOut)
    if ('text' in found.source) return { file: found.file, text: found.source.text, selector: name }
  }
  throw new Fault('AGENT_AMBIGUOUS', {
    message: `Cannot tell which agent ${quoted(name)} is: ${others.length + 1} files declare it`,
    hint: `Name one of the files: ${someOf([found, ...others].map(({ file }) => file))}`,
  })
}

/** Null where nobody knows. */
function namesIn(file: AgentFile): readonly string[] | null {
  if ('leftOut' in file) return file.declares
  return 'text' in file ? agentsOf(parse(file.text).tree).map((agent) => agent.name.text) : null
}

function unknown(name: string, names: readonly string[], unread: number): Fault {
  const known = names.length === 0 ? 'The project declares no agents' : `The project declares: ${someOf(names)}`
  return new Fault('AGENT_UNKNOWN', {
    message: `Cannot find agent ${quoted(name)}: no file and no declaration of the project has this name`,
    hint: unread === 0 ? known : `${known}. ${unread} of its files cannot be read; "symbi doctor" says why`,
  })
}

function unavailable(state: string): Fault {
  return new Fault('AGENT_UNAVAILABLE', {
    message: `Cannot read the agent: ${state}`,
    hint: 'Make it a regular text file of at most 1 MiB that not everybody may write to',
  })
}

function leftOut(reason: string): Fault {
  return new Fault('AGENT_UNAVAILABLE', {
    message: `Cannot use the agent: ${reason}`,
    hint: `${LIMIT_HINT}; or name the file by its path`,
  })
}

function quoted(name: string): string {
  return `"${shownName(name)}"`
}
