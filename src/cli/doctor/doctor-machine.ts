/** Checks of the machine: Node, the guarantees of the file system, room to write, and the port. */
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { isJsonObject, readJson } from '../../core/index.ts'
import { HTTP_LIMITS } from '../../server/index.ts'
import { readPrivateFile, tryLockFile } from '../../store/index.ts'
import type { World } from '../../world/index.ts'
import { readTextFile } from '../text-files.ts'
import { configOf, type Finding, failed, ok, type Patient, projectOf, skipped } from './doctor-rows.ts'

/** `engines.node` of our own package.json is the one place that says which Node we need. */
export async function checkNode({ world }: Patient): Promise<Finding> {
  const running = process.versions.node
  // by name: this file lies in src/cli/doctor, or built in dist/symbi
  const manifest = createRequire(import.meta.url).resolve('symbi-runtime/package.json')
  const text = await readTextFile(world, manifest, 256 * 1024)
  const range = /"node": ">=(\d+)\.(\d+)"/.exec(text ?? '')
  if (range === null)
    return failed(`Node ${running}`, 'The package is damaged: its package.json names no Node. Install it again')
  const [majorMin = 0, minorMin = 0] = range.slice(1).map(Number)
  const [major = 0, minor = 0] = running.split('.').map(Number)
  if (major > majorMin || (major === majorMin && minor >= minorMin)) return ok(`Node ${running}`)
  return failed(`Node ${running}`, `Install Node ${majorMin}.${minorMin} or newer`)
}

export async function checkPlatform({ world }: Patient): Promise<Finding> {
  const { platform } = world.processes
  if (world.files.durable) return ok(`${platform} has private modes, no-follow opens and file locks`)
  return failed(
    `${platform} lacks private modes, no-follow opens or file locks`,
    'Keep journals on Linux or macOS; verifying works everywhere',
  )
}

/** More than a record and its neighbours, so that a disk with a last free block does not pass. */
const TRIAL_BYTES = 8 * 1024 * 1024

/** Writes where evidence is written, syncs file and folder, and takes it away again. */
export async function checkDisk(patient: Patient): Promise<Finding> {
  const { world } = patient
  const { stateFolder } = projectOf(patient)
  if ((await world.files.lstat(stateFolder)) === null) return skipped('there is no .symbiont folder to write to')
  const path = join(stateFolder, `.doctor.${Buffer.from(world.random.bytes(8)).toString('hex')}.tmp`)
  const file = await world.files.create(path, 0o600)
  if (file === null) return failed('the name of a temporary file is taken', 'Try again')
  try {
    await file.append(new Uint8Array(TRIAL_BYTES))
    await file.syncAll()
    await world.files.syncDirectory(stateFolder)
  } finally {
    await file.close()
    await world.files.unlink(path)
  }
  return ok(`${TRIAL_BYTES / 1024 / 1024} MiB written, synced and removed`)
}

export async function checkPort(patient: Patient): Promise<Finding> {
  const { host, port } = configOf(patient)
  if (port === 0) return ok('any free port is taken')
  const url = await ownServer(patient)
  if (url?.endsWith(`:${port}`) === true) return ok(`${port} is used by the running server of this project`)
  const errno = await tryPort(patient.world, host, port)
  if (errno === null) return ok(`${host} port ${port} is free`)
  return failed(`${host} port ${port} cannot be opened (${errno})`, 'Stop what uses it, or choose another with --port')
}

/** Where the project's server listens, if one holds the project now. */
async function ownServer(patient: Patient): Promise<string | null> {
  const { world } = patient
  const { stateFolder } = projectOf(patient)
  const lockPath = join(stateFolder, 'server.lock')
  if ((await world.files.lstat(lockPath)) === null) return null
  const lock = await tryLockFile(world, lockPath, 'server lock')
  if (lock !== null) {
    await lock.release()
    return null
  }
  const bytes = await readPrivateFile(world, join(stateFolder, 'server.json'), { what: 'server note', bytesMax: 4096 })
  const note = bytes === null ? null : readJson(bytes)
  return isJsonObject(note) && typeof note.url === 'string' ? note.url : null
}

/** Null when the port can be opened, else the system's answer. */
async function tryPort(world: World, host: string, port: number): Promise<string | null> {
  const server = world.net.createServer(HTTP_LIMITS, (_request, response) => void response.destroy())
  return await new Promise<string | null>((resolve) => {
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? 'unknown'))
    server.listen({ host, port }, () => server.close(() => resolve(null)))
  })
}
