/**
 * What the claims of a project say about its journals. A chain of signatures does not notice that its last records are gone:
 * a claim with a result was written after the end of its run was durable, and a claim that names a journal was written after
 * it existed. Claims are not signed; they find accidents and careless hands, not a thief who changes both.
 */
import { basename, join } from 'node:path'
import { isJsonObject, type Json, readJson } from '../../core/index.ts'
import type { World } from '../../world/index.ts'
import type { ProjectPaths } from '../project/project-paths.ts'

export type Claims = ReadonlyMap<string, { readonly journal: string; readonly recorded: boolean }>

const CLAIM_BYTES_MAX = 2 * 1024 * 1024

/** What the claims say about journals, by run. Read before the journals, so that a run at work contradicts nothing. */
export async function readClaims(world: World, { invocationFolder }: ProjectPaths): Promise<Claims> {
  const claims = new Map<string, { journal: string; recorded: boolean }>()
  for (const name of (await world.files.list(invocationFolder)) ?? []) {
    if (!name.endsWith('.jsonl')) continue
    const lines = await readLines(world, join(invocationFolder, name))
    const audit = lines[1]
    if (!isJsonObject(audit) || !isJsonObject(audit.reference)) continue
    const { run_id, path } = audit.reference
    if (typeof run_id !== 'string' || typeof path !== 'string') continue
    claims.set(run_id, { journal: basename(path), recorded: isJsonObject(lines[2]) && lines[2].kind === 'result' })
  }
  return claims
}

/** A claim that cannot be read says nothing here; "symbi invocation inspect" says what is wrong with it. */
async function readLines(world: World, path: string): Promise<readonly Json[]> {
  try {
    await using file = await world.files.open(path, 'read')
    const bytes = Buffer.from((await file?.readAll(CLAIM_BYTES_MAX)) ?? [])
    const complete = bytes.subarray(0, bytes.lastIndexOf(0x0a) + 1).toString()
    return complete.split('\n', 3).map((line) => (line === '' ? null : readJson(line, { depthMax: 520 })))
  } catch {
    return []
  }
}

/** Of the journals of a folder. Claims speak only about those that lie in the project. */
export async function claimsFor(world: World, paths: () => Promise<ProjectPaths>, folder: string): Promise<Claims> {
  const real = await world.files.realpath(folder)
  const project = await paths().catch(() => null)
  return project !== null && real === project.governedFolder ? await readClaims(world, project) : new Map()
}
