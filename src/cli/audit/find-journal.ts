/**
 * Which journal is meant, and which run it must be of. The expected run comes from the name of the file or from the
 * command line, never from the records under test: a journal that was put in another's place would vouch for itself.
 */
import { basename, join } from 'node:path'
import { type AgentId, Fault, idOrNull, isJsonObject, type Json, type RunId, readJson } from '../../core/index.ts'
import type { World } from '../../world/index.ts'
import type { ProjectPaths } from '../project/project-paths.ts'

export interface JournalFile {
  readonly path: string
  readonly name: string
  /** Null for the legacy format, which names no run. */
  readonly runId: RunId | null
  /** What the name says; null when the name says nothing and the run was given. */
  readonly agentId: AgentId | null
}

/** What a file name of ours says, or null when it is none. */
export function readName(name: string): Pick<JournalFile, 'runId' | 'agentId'> | null {
  const match = /^([0-9a-f-]{36})(?:\.([0-9a-f-]{36}))?\.jsonl$/.exec(name)
  const agentId = idOrNull('agent', match?.[1])
  const runId = match?.[2] === undefined ? null : idOrNull('run', match[2])
  if (agentId === null || (match?.[2] !== undefined && runId === null)) return null
  return { agentId, runId }
}

/** A path, the id of a run of this project (or its beginning), or `latest`. */
export async function findJournal(
  world: World,
  paths: () => Promise<ProjectPaths>,
  wanted: string,
  runId: RunId | null,
): Promise<JournalFile> {
  const path = await pathOf(world, paths, wanted)
  const name = basename(path)
  const said = readName(name)
  if (runId !== null) return { path, name, runId, agentId: said?.agentId ?? null }
  if (said !== null) return { path, name, ...said }
  const facts = await world.files.lstat(path)
  if (facts === null) throw missing(wanted)
  if (facts.kind === 'directory') throw isFolder(name)
  throw new Fault('EVIDENCE_INVALID', {
    message: `Cannot verify the journal "${name}": its name does not say which run it is of`,
    hint: 'Give --run-id from the audit reference, or put back the name AGENT.RUN.jsonl that the runtime gave it',
  })
}

/** The folder that is meant, or null for what names a journal. A run of the project is never looked for among folders. */
export async function folderMeant(world: World, wanted: string): Promise<string | null> {
  if (isRunName(wanted) || readName(basename(wanted)) !== null) return null // what should be a journal is judged as one
  const real = await world.files.realpath(wanted).catch(() => null)
  return real !== null && (await world.files.lstat(real))?.kind === 'directory' ? real : null
}

function isRunName(wanted: string): boolean {
  return wanted === 'latest' || /^[0-9a-f-]{6,36}$/i.test(wanted)
}

async function pathOf(world: World, paths: () => Promise<ProjectPaths>, wanted: string): Promise<string> {
  if (!isRunName(wanted)) return wanted
  if (wanted === 'latest') return await latest(world, await paths())
  const { governedFolder } = await paths()
  const runs = ((await world.files.list(governedFolder)) ?? []).filter((name) =>
    readName(name)?.runId?.startsWith(wanted.toLowerCase()),
  )
  const [run] = runs
  if (run === undefined) throw missing(wanted)
  if (runs.length === 1) return join(governedFolder, run)
  throw new Fault('USAGE', {
    message: `Cannot tell which journal "${wanted}" is: ${runs.length} runs begin like this`,
    hint: 'Give more of the id',
  })
}

/** The latest run that somebody asked for: not one that another run began, unless there is nothing else. */
async function latest(world: World, { governedFolder }: ProjectPaths): Promise<string> {
  const found: { readonly path: string; readonly modifiedNs: bigint }[] = []
  for (const name of (await world.files.list(governedFolder)) ?? []) {
    if (readName(name) === null) continue
    const path = join(governedFolder, name)
    const facts = await world.files.lstat(path)
    if (facts !== null && facts.size > 0) found.push({ path, modifiedNs: facts.modifiedNs }) // nothing began in an empty one
  }
  found.sort((left, right) => (left.modifiedNs < right.modifiedNs ? 1 : left.modifiedNs > right.modifiedNs ? -1 : 0))
  for (const { path } of found) if (!(await saysDelegated(world, path))) return path
  const [newest] = found
  if (newest !== undefined) return newest.path
  throw new Fault('NOT_FOUND', {
    message: 'Cannot find the latest journal: the project has none yet',
    hint: 'A journal is made for each message of a chat; name the project with --project',
  })
}

const FIRST_LINE_BYTES_MAX = 1024 * 1024

/** Only chooses which journal is looked at, so its first line is read and not verified; what is shown is verified then. */
async function saysDelegated(world: World, path: string): Promise<boolean> {
  try {
    await using file = await world.files.open(path, 'read')
    const bytes = Buffer.from((await file?.read(0, FIRST_LINE_BYTES_MAX)) ?? [])
    const line = readJson(bytes.subarray(0, bytes.indexOf(0x0a)), { depthMax: 640 })
    return (
      ['payload', 'entry', 'event', 'Started', 'execution_context', 'delegation'].reduce<Json | undefined>(
        (value, name) => (isJsonObject(value) ? value[name] : undefined),
        line,
      ) !== undefined
    )
  } catch {
    return false // a journal that cannot be understood is not hidden
  }
}

function isFolder(name: string): Fault {
  return new Fault('EVIDENCE_INVALID', {
    message: `Cannot verify the journal "${name}": it is a folder`,
    hint: 'Name one of its journals; "symbi audit verify FOLDER" verifies all of them',
  })
}

function missing(wanted: string): Fault {
  return new Fault('EVIDENCE_INVALID', {
    message: `Cannot verify the journal "${wanted}": there is no such file and no such run in the project`,
    hint: 'Check the path or the id, and name the project with --project. "symbi audit verify" without a name lists journals that are gone',
  })
}
