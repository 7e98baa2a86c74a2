/**
 * Policy files: what stands in `policies/*.cedar` and `policies/<surface>/*.cedar`, read as one consistent whole.
 *
 * Names: a file of Cedar text is one entry, named by its stem; a JSON file brings entries with names of their own. Entries
 * of a surface folder are named `<surface>/<name>`, so that both folders may have a `default.cedar`.
 *
 * Nothing is used in part: one file that cannot be read, a link that leads nowhere, a name that is no file, an empty list
 * of entries, and the whole reading is bad (law 5). An absent folder is not an error. The marks tell a watcher whether
 * anything that was read may have changed since.
 */
import { byCodePoint, Fault, fit, isFault, messageOf, readJson, shapes } from '../../core/index.ts'
import type { FileFacts, World } from '../../world/index.ts'
import { type PolicyEntry, policyEntryShape } from '../cedar/policy-set.ts'
import { TEXT_BYTES_MAX } from '../cedar/policy-text.ts'

const FILES_MAX = 1024
const ATTEMPTS_MAX = 3

/** Where our own ways in look for policies, beside the shared files. Any other plain folder name works as well. */
export const SURFACE = { chat: 'coordinator', run: 'run', toolClient: 'mcp-server' } as const

export type PolicyReading = {
  readonly marks: Marks
} & (
  | { readonly kind: 'Found'; readonly entries: readonly PolicyEntry[]; readonly files: readonly string[] }
  | { readonly kind: 'None' }
  | { readonly kind: 'Bad'; readonly problem: Fault }
)

/** Reads the shared folder and, unless it is null, one surface's. Never throws for anything that it finds there. */
export async function readPolicyFolder(world: World, folder: string, surface: string | null): Promise<PolicyReading> {
  for (let attempt = 1; ; attempt += 1) {
    const marks = new Marks(world)
    const reading = await readOnce(world, folder, surface, marks)
    if (!marks.changed()) return { ...reading, marks }
    if (attempt >= ATTEMPTS_MAX) {
      return { kind: 'Bad', problem: unreadable('it changes while it is read'), marks }
    }
  }
}

type Read =
  | { readonly kind: 'Found'; readonly entries: readonly PolicyEntry[]; readonly files: readonly string[] }
  | { readonly kind: 'None' }
  | { readonly kind: 'Bad'; readonly problem: Fault }

async function readOnce(world: World, folder: string, surface: string | null, marks: Marks): Promise<Read> {
  try {
    if (surface !== null && !isPlainName(surface)) {
      throw unreadable(`the surface ${JSON.stringify(surface.slice(0, 64))} is not a plain folder name`)
    }
    const shared = await readFiles(world, folder, '', marks)
    const own = surface === null ? [] : await readFiles(world, `${folder}/${surface}`, `${surface}/`, marks)
    const found = [...shared, ...own]
    if (found.length === 0) return { kind: 'None' }
    return { kind: 'Found', entries: found.flatMap(({ entries }) => entries), files: found.map(({ file }) => file) }
  } catch (error) {
    if (isFault(error, 'POLICY_UNREADABLE', 'POLICY_INVALID')) return { kind: 'Bad', problem: error }
    return { kind: 'Bad', problem: unreadable(messageOf(error), error) }
  }
}

export function isPlainName(name: string): boolean {
  return name !== '' && name !== '.' && name !== '..' && !/[/\\\p{Cc}]/u.test(name) && name.isWellFormed()
}

interface PolicyFile {
  /** Relative to the policy folder. */
  readonly file: string
  readonly entries: readonly PolicyEntry[]
}

async function readFiles(world: World, folder: string, prefix: string, marks: Marks): Promise<PolicyFile[]> {
  marks.note(folder)
  const names = await world.files.list(folder)
  if (names === null) {
    if ((await world.files.lstat(folder)) === null) return []
    throw unreadable(`the folder "${prefix}" is a link that leads nowhere`)
  }
  const cedar = names.filter((name) => name.endsWith('.cedar')).sort(byCodePoint)
  if (cedar.length > FILES_MAX) throw unreadable(`it holds ${cedar.length} files and ${FILES_MAX} are allowed`)
  const files: PolicyFile[] = []
  for (const name of cedar) {
    const path = `${folder}/${name}`
    marks.note(path)
    files.push({ file: `${prefix}${name}`, entries: await readPolicyFile(world, path, `${prefix}${name}`, prefix) })
  }
  return files
}

/** The entries of one file, for `reload`; throws `POLICY_UNREADABLE` or `POLICY_INVALID`. `file` is what messages call it. */
export async function readPolicyFile(
  world: World,
  path: string,
  file: string,
  prefix = '',
): Promise<readonly PolicyEntry[]> {
  return entriesOf(await readText(world, path, file), file, prefix)
}

/** Links are followed, because mounted configuration consists of them; the folder belongs to the operator. */
async function readText(world: World, path: string, file: string): Promise<string> {
  let bytes: Uint8Array
  try {
    const real = await world.files.realpath(path)
    if (real === null) throw unreadable(`"${file}" is a link that leads nowhere`)
    await using handle = await world.files.open(real, 'read')
    if (handle === null) throw unreadable(`"${file}" went away while it was read`)
    if ((await handle.facts()).kind !== 'file') throw unreadable(`"${file}" is not a file`)
    bytes = await handle.readAll(TEXT_BYTES_MAX)
  } catch (error) {
    if (isFault(error, 'POLICY_UNREADABLE')) throw error
    throw unreadable(`"${file}": ${messageOf(error)}`, error)
  }
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch (cause) {
    throw unreadable(`"${file}" is not UTF-8`, cause)
  }
}

const entryListShape = shapes.list(policyEntryShape, 10_000)

/** Cedar text never begins with a bracket, so a file that does is a JSON array of entries. */
function entriesOf(text: string, file: string, prefix: string): readonly PolicyEntry[] {
  if (!text.trimStart().startsWith('[')) {
    const stem = file.slice(0, -'.cedar'.length)
    return [{ name: stem === prefix ? `${prefix}.cedar` : stem, source: text, active: true, file }]
  }
  let entries: readonly PolicyEntry[]
  try {
    entries = fit(
      entryListShape,
      readJson(text, { depthMax: 8, bytesMax: TEXT_BYTES_MAX }),
      `"${file}"`,
      'POLICY_INVALID',
    )
  } catch (cause) {
    throw invalid(`"${file}": ${messageOf(cause)}`, cause)
  }
  if (entries.length === 0) throw invalid(`"${file}" is an empty list of entries`)
  return entries.map(({ name, source, active }) => ({ name: `${prefix}${name}`, source, active, file }))
}

/** What the paths of a reading looked like just before they were read. */
export class Marks {
  readonly #world: World
  readonly #seen = new Map<string, string>()
  #newestNs = 0n

  constructor(world: World) {
    this.#world = world
  }

  note(path: string): void {
    this.#seen.set(path, this.#markOf(path))
  }

  changed(): boolean {
    for (const [path, mark] of this.#seen) if (this.#markOf(path) !== mark) return true
    return false
  }

  /** When the newest change of anything that was read was made, in nanoseconds since the epoch. */
  get newestNs(): bigint {
    return this.#newestNs
  }

  /** All marks as one text: equal when nothing changed between two readings. */
  text(): string {
    return JSON.stringify([...this.#seen])
  }

  #markOf(path: string): string {
    let facts: FileFacts | null
    try {
      facts = this.#world.files.factsNow(path)
    } catch (error) {
      return `error:${isFault(error) ? String(error.facts.errno) : messageOf(error)}`
    }
    if (facts === null) return 'absent'
    if (facts.changedNs > this.#newestNs) this.#newestNs = facts.changedNs
    return `${facts.kind}:${facts.inode}:${facts.size}:${facts.modifiedNs}:${facts.changedNs}`
  }
}

function unreadable(state: string, cause?: unknown): Fault {
  return new Fault('POLICY_UNREADABLE', {
    message: `Cannot read the policy folder: ${state}`,
    hint: 'Make the folder and every .cedar file in it readable, or remove what does not belong there',
    cause,
  })
}

function invalid(state: string, cause?: unknown): Fault {
  return new Fault('POLICY_INVALID', {
    message: `Cannot use the policy file ${state}`,
    hint: 'Write Cedar text, or a JSON array of {"name","source","active"}',
    cause,
  })
}
