/**
 * Roots: the folders that the file tools may look into, each under a name. A path of a call is `root/folder/file`, always with
 * the name of its root, so that a rule about it means the same when a second root is added. What a path could say in two ways
 * is refused and not repaired; what lies outside is not even named.
 */
import { isAbsolute, normalize } from 'node:path'
import { defaultContract, type ToolContract } from '../../calls/index.ts'
import { digest, Fault, type JsonObject } from '../../core/index.ts'
import type { ToolDefinition } from '../../events/index.ts'
import type { Resolution } from '../tool.ts'

export interface FileRoot {
  /** What calls and policies call it: 1 to 64 letters, digits, "_" or "-". */
  readonly name: string
  /** Of this machine: absolute, without links. Never told to anybody. */
  readonly path: string
  /** Whether names that begin with a dot may be read too. Default: no. `.git` and `.symbiont` never are. */
  readonly hidden?: boolean
}

export interface Location {
  readonly root: FileRoot
  /** From the root downwards; none for the root itself. */
  readonly names: readonly string[]
}

export type Roots = ReadonlyMap<string, FileRoot>

const ROOTS_MAX = 64
const NEVER_SHOWN = new Set(['.git', '.symbiont'])

/** Throws `CONFIG_INVALID` for roots that cannot be told apart, or that lead to the evidence of this runtime. */
export function rootsByName(given: readonly FileRoot[]): Roots {
  const roots = new Map<string, FileRoot>()
  if (given.length > ROOTS_MAX) throw unusable('', `there are ${given.length} roots and ${ROOTS_MAX} are allowed`)
  for (const { name, path, hidden = false } of given) {
    if (!/^[A-Za-z0-9_-]{1,64}$/.test(name))
      throw unusable(name, 'its name must be 1 to 64 letters, digits, "_" or "-"')
    if (roots.has(name)) throw unusable(name, 'another root has the same name')
    if (!isAbsolute(path) || normalize(path) !== path)
      throw unusable(name, 'its path must be absolute and in its one form')
    if (path.split('/').includes('.symbiont')) throw unusable(name, 'the state of a runtime is not shown to models')
    roots.set(name, Object.freeze({ name, path, hidden }))
  }
  return roots
}

/** Throws `CALL_INVALID` for a path that is not in its one form, or names no root, or something hidden. */
export function locate(tool: string, path: string, roots: Roots): Location {
  const [name = '', ...names] = path.replace(/\/$/, '').split('/')
  const root = roots.get(name)
  if (root === undefined) {
    // in the message: it is all that a model is told of a call that cannot be prepared
    const known = [...roots.keys()].slice(0, 8).join(', ')
    const more = roots.size > 8 ? ', …' : ''
    throw refused(tool, `it does not begin with the name of a root (${known}${more})`, 'Begin with the name of a root')
  }
  const wrong = names.find((one) => !isPlainName(one))
  if (wrong !== undefined) {
    throw refused(tool, `a part of it is ${what(wrong)}`, 'Write it as root/folder/file, downwards and in one form')
  }
  if (names.some((one) => isHidden(one, root))) {
    throw refused(tool, 'a part of it is hidden here', 'Ask for files whose names do not begin with a dot')
  }
  return { root, names }
}

/** True for what is passed over when a folder is listed or searched. */
export function isHidden(name: string, root: FileRoot): boolean {
  return NEVER_SHOWN.has(name.toLowerCase()) || (name.startsWith('.') && root.hidden !== true)
}

export function pathOf({ root, names }: Location): string {
  return [root.name, ...names].join('/')
}

/** What policy judges: the arguments with their defaults, and which root and path they stand for. */
export function fileResolution(definition: ToolDefinition, location: Location, args: JsonObject): Resolution {
  return {
    arguments: { ...args, path: pathOf(location) },
    contract: contractFor(definition, location.root),
    resolved: { file_root: location.root.name, file_path: location.names.join('/') },
  }
}

/** The digest covers what the root means on this machine, without telling it. */
function contractFor(definition: ToolDefinition, { name, path, hidden }: FileRoot): ToolContract {
  return {
    ...defaultContract(definition),
    digest: digest({ definition, root: { name, path, hidden: hidden === true } }),
    resource_type: 'FileRoot',
    resource_id: name,
  }
}

function isPlainName(name: string): boolean {
  return name !== '' && name !== '.' && name !== '..' && Buffer.byteLength(name) <= 255 && !/[\\\p{Cc}]/u.test(name)
}

function what(name: string): string {
  if (name === '') return 'empty'
  if (name === '.' || name === '..') return `"${name}"`
  return Buffer.byteLength(name) > 255 ? 'longer than 255 bytes' : 'written with a backslash or a control character'
}

function refused(tool: string, state: string, hint: string): Fault {
  return new Fault('CALL_INVALID', {
    message: `Cannot prepare the call of "${tool}": #/path cannot be used: ${state}`,
    hint,
  })
}

function unusable(name: string, state: string): Fault {
  return new Fault('CONFIG_INVALID', {
    message: `Cannot use the file root "${name.slice(0, 64)}": ${state}`,
    hint: 'Correct "tools.file_roots"; docs/tools.md shows how roots are written',
  })
}
