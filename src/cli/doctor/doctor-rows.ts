/** What a check of `symbi doctor` looks at, and what it says. A check that fails itself is a failed check, never a crash. */
import { isFault } from '../../core/index.ts'
import type { Project } from '../../runtime/index.ts'
import type { World } from '../../world/index.ts'
import type { Config } from '../settings/config.ts'

export interface Finding {
  readonly status: 'ok' | 'warning' | 'failed' | 'skipped'
  /** What was seen, in a few words. */
  readonly found: string
  /** What to do about it, or null. */
  readonly hint: string | null
  /** The single things it is about. */
  readonly items?: readonly string[]
}

export interface Row extends Finding {
  readonly check: string
  /** Only a required check decides the exit code. */
  readonly level: 'required' | 'optional'
}

export interface Patient {
  readonly world: World
  readonly project: Project | null
  readonly config: Config | null
  /** What tool servers are given names from: the environment, and beneath it the project's `.env`. */
  readonly variables: Readonly<Record<string, string | undefined>>
  /** For a person who waits. */
  readonly progress: (text: string) => void
}

export function ok(found: string): Finding {
  return { status: 'ok', found, hint: null }
}

export function warning(found: string, hint: string, items?: readonly string[]): Finding {
  return { status: 'warning', found, hint, ...(items === undefined ? {} : { items }) }
}

export function failed(found: string, hint?: string, items?: readonly string[]): Finding {
  return { status: 'failed', found, hint: hint ?? null, ...(items === undefined ? {} : { items }) }
}

export function skipped(found: string): Finding {
  return { status: 'skipped', found, hint: null }
}

export async function guarded(look: () => Promise<Finding>): Promise<Finding> {
  try {
    return await look()
  } catch (error) {
    if (isFault(error)) return failed(error.message, error.hint)
    throw error
  }
}

/** For checks that run only where there is a project. */
export function projectOf({ project }: Patient): Project {
  if (project !== null) return project
  throw new TypeError('a check that needs a project runs only where there is one')
}

export function configOf({ config }: Patient): Config {
  if (config !== null) return config
  throw new TypeError('a check that needs the configuration runs only where it can be used')
}

export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`
}
