/**
 * Which source a person means by a name (1.1). A path is what it says; a name is looked up in the project, by its files first
 * and then by what they declare, because policy and journals know an agent by its declared name only.
 *
 * What is found through `agents` obeys the rules of that folder; a path that somebody typed may be a link.
 */
import { basename, isAbsolute, join } from 'node:path'
import { Fault, isFault, messageOf } from '../core/index.ts'
import { agentsOf, parse, readSource, SOURCE_BYTES_MAX } from '../dsl/index.ts'
import type { World } from '../world/index.ts'
import {
  AGENT_EXTENSIONS,
  AGENTS_FOLDER,
  agentFolderFacts,
  readAgentFile,
  readAgentFolder,
  stemOf,
} from './agent-folder.ts'
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
 * `AGENT_UNAVAILABLE` for a file that cannot be taken.
 */
export async function findAgentSource(world: World, root: string, name: string): Promise<FoundSource> {
  const selector = stemOf(basename(name)) ?? basename(name)
  for (const { path, shown } of placesOf(root, name)) {
    const text = await readTyped(world, path, shown)
    if (text !== null) return { file: shown, text, selector }
  }
  if (!name.includes('/') && (await agentFolderFacts(world, join(root, AGENTS_FOLDER))) !== null) {
    for (const file of spellingsOf(name)) {
      const text = await readFromFolder(world, root, file)
      if (text !== null) return { file: `${AGENTS_FOLDER}/${shownName(file)}`, text, selector }
    }
  }
  return await findDeclared(world, root, name)
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

async function findDeclared(world: World, root: string, name: string): Promise<FoundSource> {
  const { files } = await readAgentFolder(world, join(root, AGENTS_FOLDER))
  const readable = files.filter((file) => 'text' in file)
  const declared = readable.map(({ file, text }) => {
    return {
      file: `${AGENTS_FOLDER}/${shownName(file)}`,
      text,
      names: agentsOf(parse(text).tree).map((agent) => agent.name.text),
    }
  })
  const [found, ...others] = declared.filter(({ names }) => names.includes(name))
  if (found === undefined)
    throw unknown(
      name,
      declared.flatMap(({ names }) => names),
      files.length - readable.length,
    )
  if (others.length === 0) return { file: found.file, text: found.text, selector: name }
  throw new Fault('AGENT_AMBIGUOUS', {
    message: `Cannot tell which agent ${quoted(name)} is: ${others.length + 1} files declare it`,
    hint: `Name one of the files: ${someOf([found, ...others].map(({ file }) => file))}`,
  })
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

function quoted(name: string): string {
  return `"${shownName(name)}"`
}
