/**
 * One server a project (design 5): the lock dies with its process, and a second server is told who holds it. The note
 * beside the lock is only a courtesy; the lock alone decides.
 */
import { join } from 'node:path'
import { Fault, isJsonObject, readJson } from '../core/index.ts'
import {
  ensurePrivateDirectory,
  type HeldLock,
  readPrivateFile,
  replacePrivateFile,
  tryLockFile,
} from '../store/index.ts'
import type { World } from '../world/index.ts'
import type { Project } from './project.ts'

const NOTE = 'server.json'

export interface ProjectLock extends AsyncDisposable {
  /** Tells others where this server listens. */
  announce(url: string): Promise<void>
  release(): Promise<void>
}

/** Takes the project for this process, or throws `PROJECT_HELD` that names the holder. */
export async function lockProject(world: World, project: Project): Promise<ProjectLock> {
  await ensurePrivateDirectory(world, project.stateFolder, 'state folder of the project')
  const lock = await tryLockFile(world, join(project.stateFolder, 'server.lock'), 'server lock')
  if (lock === null) throw await held(world, project)
  const write = (note: object): Promise<void> =>
    replacePrivateFile(world, project.stateFolder, NOTE, Buffer.from(`${JSON.stringify(note)}\n`))
  const started_at = world.clock.wall()
  try {
    await write({ pid: world.processes.pid, started_at, url: null })
  } catch (error) {
    await lock.release()
    throw error
  }
  return lockHandle(lock, (url) => write({ pid: world.processes.pid, started_at, url }))
}

function lockHandle(lock: HeldLock, announce: (url: string) => Promise<void>): ProjectLock {
  return { announce, release: () => lock.release(), [Symbol.asyncDispose]: () => lock.release() }
}

async function held(world: World, project: Project): Promise<Fault> {
  let holder = 'a process that did not say who it is'
  try {
    const bytes = await readPrivateFile(world, join(project.stateFolder, NOTE), { what: 'server note', bytesMax: 4096 })
    const note = bytes === null ? null : readJson(bytes)
    if (isJsonObject(note)) {
      holder = `process ${String(note.pid)}, started ${String(note.started_at)}${note.url === null ? '' : `, listening on ${String(note.url)}`}`
    }
  } catch {
    holder = 'a process whose note cannot be read' // the lock decides; the note is a courtesy
  }
  return new Fault('PROJECT_HELD', {
    message: `Cannot start a second server on this project: it is held by ${holder}`,
    hint: 'Stop that server first, or use another project folder',
  })
}
