/**
 * The files of the queue: what is held survives the process, so that nobody can be shown a request that no file knows, and
 * an approval that was used stays used.
 *
 * `held/` has the live ones, each under the name of the process that holds it: the request, then perhaps a decision, then
 * perhaps its end. A process keeps the lock of its name, so that another one, at its opening, can tell what the dead have
 * left. An ended action moves to `settled/`, which nobody lists: the live folder stays small however much was decided.
 * Nothing is made before the first action is held.
 */
import { join } from 'node:path'
import { assert, canonical, Fault, fits, isFault, readJson, type Shape } from '../../core/index.ts'
import {
  ensurePrivateDirectory,
  hasPrivateDirectory,
  openPrivateFile,
  PRIVATE_FILE_MODE,
  publishPrivateFile,
  readPrivateFile,
} from '../../store/index.ts'
import type { OpenFile, World } from '../../world/index.ts'
import {
  decisionShape,
  endShape,
  type KeptDecision,
  type KeptEnd,
  type KeptRequest,
  requestShape,
} from './held-action.ts'

const FOLDER = 'folder of the approvals'
const FILE = 'record of an approval'
const LOCK = 'lock of the approvals'
const BYTES_MAX = 4 * 1024 * 1024
const NAME = /^\.?([0-9a-f]{16})\.(?:lock$|([0-9a-f]{16})\.(?:decision\.|end\.)?json(?:$|\.))/

export type Report = (what: string, error: unknown) => void

export class QueueFiles {
  readonly #world: World
  readonly #folder: string
  readonly #held: string
  readonly #settled: string
  #owner: Promise<Owner> | null = null

  constructor(world: World, folder: string) {
    this.#world = world
    this.#folder = folder
    this.#held = join(folder, 'held')
    this.#settled = join(folder, 'settled')
  }

  /** Ends what dead processes have left, and says what it was. Makes nothing where nothing was held. */
  async bury(at: KeptEnd['at'], report: Report): Promise<readonly KeptEnd[]> {
    if (!(await hasPrivateDirectory(this.#world, this.#folder, FOLDER))) return []
    if (!(await hasPrivateDirectory(this.#world, this.#held, FOLDER))) return []
    const owners = new Set((await this.#names()).flatMap((name) => NAME.exec(name)?.[1] ?? []))
    const ends: KeptEnd[] = []
    for (const owner of owners) ends.push(...(await this.#buryOwner(owner, at, report)))
    return ends
  }

  /** False when the id is taken. */
  async keepRequest(request: KeptRequest): Promise<boolean> {
    const { name } = await this.#own()
    const written = await this.#publish(`${name}.${request.action.id}.json`, requestShape, request)
    return written
  }

  async keepDecision(id: string, decision: KeptDecision): Promise<void> {
    const { name } = await this.#own()
    const fresh = await this.#publish(`${name}.${id}.decision.json`, decisionShape, decision)
    assert(fresh, 'an action is decided once')
  }

  /** After this the action has ended, whatever happens to this process. */
  async keepEnd(end: KeptEnd): Promise<void> {
    const { name } = await this.#own()
    const fresh = await this.#publish(`${name}.${end.request.action.id}.end.json`, endShape, end)
    assert(fresh, 'an action ends once')
  }

  /** Clears the live folder of an action that has ended. */
  async settle(id: string): Promise<void> {
    await this.#move((await this.#own()).name, id)
  }

  /** An action that ended some time ago, or null. */
  async recall(id: string): Promise<KeptEnd | null> {
    const rule = { what: FILE, bytesMax: BYTES_MAX }
    return this.#read(join(this.#settled, `${id}.json`), endShape, rule)
  }

  async close(): Promise<void> {
    const owner = await this.#owner?.catch(() => null)
    this.#owner = null
    if (owner === null || owner === undefined) return
    try {
      await this.#unlink(`${owner.name}.lock`)
    } finally {
      await owner.lock.close() // or nobody could tell that we are gone
    }
  }

  async #own(): Promise<Owner> {
    this.#owner ??= this.#begin().catch((error: unknown) => {
      this.#owner = null // a disk that was full for a moment is asked again
      throw error
    })
    return await this.#owner
  }

  async #begin(): Promise<Owner> {
    for (const folder of [this.#folder, this.#held, this.#settled]) {
      await ensurePrivateDirectory(this.#world, folder, FOLDER)
    }
    for (;;) {
      const name = Buffer.from(this.#world.random.bytes(8)).toString('hex')
      const path = join(this.#held, `${name}.lock`)
      const lock = await this.#world.files.create(path, PRIVATE_FILE_MODE)
      if (lock === null) continue
      // Between creation and lock somebody who opens may take us for dead, and remove the name: then we take another.
      let isOurs = false
      try {
        isOurs = (await lock.tryLock()) && (await this.#world.files.lstat(path)) !== null
        if (isOurs) return { name, lock }
      } finally {
        if (!isOurs) await lock.close()
      }
    }
  }

  async #buryOwner(owner: string, at: KeptEnd['at'], report: Report): Promise<readonly KeptEnd[]> {
    const rule = { what: LOCK, bytesMax: 0 }
    const lock = await openPrivateFile(this.#world, join(this.#held, `${owner}.lock`), 'lock', rule)
    try {
      if (lock !== null && !(await lock.tryLock())) return [] // it lives
      const names = (await this.#names()).filter((name) => NAME.exec(name)?.[1] === owner)
      // A second name of a record is only ever the rest of its own publication.
      const rests = names.filter((name) => name.startsWith('.'))
      for (const name of rests) await this.#unlink(name)
      await ensurePrivateDirectory(this.#world, this.#settled, FOLDER)
      const ends: KeptEnd[] = []
      for (const id of new Set(names.flatMap((name) => NAME.exec(name)?.[2] ?? []))) {
        try {
          const end = await this.#buryAction(owner, id, at)
          if (end !== null) ends.push(end)
        } catch (error) {
          if (!isFault(error, 'EVIDENCE_INVALID', 'STORAGE_UNSAFE', 'FILE_TOO_LARGE')) throw error
          report('what an earlier process held cannot be read', error) // it stays, and is never executed
        }
      }
      if (lock !== null) await this.#unlink(`${owner}.lock`)
      return ends
    } finally {
      await lock?.close()
    }
  }

  async #buryAction(owner: string, id: string, at: KeptEnd['at']): Promise<KeptEnd | null> {
    const name = `${owner}.${id}`
    let end = await this.#live(`${name}.end.json`, endShape)
    if (end === null && (await this.#world.files.lstat(join(this.#settled, `${id}.json`))) === null) {
      const request = await this.#live(`${name}.json`, requestShape)
      const decision = await this.#live(`${name}.decision.json`, decisionShape)
      if (request !== null) {
        end = { version: 1, request, decision, ended: endLeftBy(request, decision), at, spent_for: null }
        await this.#publish(`${name}.end.json`, endShape, end)
      }
    }
    await this.#move(owner, id)
    return end
  }

  async #move(owner: string, id: string): Promise<void> {
    const name = `${owner}.${id}`
    await this.#unlink(`${name}.decision.json`)
    await this.#unlink(`${name}.json`)
    const end = join(this.#held, `${name}.end.json`)
    if ((await this.#world.files.lstat(end)) === null) return
    await this.#world.files.rename(end, join(this.#settled, `${id}.json`))
    await this.#world.files.syncDirectory(this.#settled)
    await this.#world.files.syncDirectory(this.#held)
  }

  async #names(): Promise<readonly string[]> {
    return (await this.#world.files.list(this.#held)) ?? []
  }

  async #publish<T>(name: string, shape: Shape<T>, value: T): Promise<boolean> {
    assert(fits(shape, value), 'what the queue keeps has the shape that it reads')
    const bytes = Buffer.from(`${canonical(value)}\n`)
    return (await publishPrivateFile(this.#world, this.#held, name, bytes)) === 'published'
  }

  async #live<T>(name: string, shape: Shape<T>): Promise<T | null> {
    return await this.#read(join(this.#held, name), shape, { what: FILE, bytesMax: BYTES_MAX })
  }

  async #read<T>(path: string, shape: Shape<T>, rule: { what: string; bytesMax: number }): Promise<T | null> {
    const bytes = await readPrivateFile(this.#world, path, rule)
    if (bytes === null) return null
    try {
      const value = readJson(bytes)
      if (fits(shape, value)) return value
    } catch (error) {
      if (!isFault(error)) throw error
    }
    throw new Fault('EVIDENCE_INVALID', {
      message: `Cannot read the ${rule.what}: it is not what this program writes`,
      hint: 'Keep the file, and look at who changed it; what it held is never executed',
    })
  }

  async #unlink(name: string): Promise<void> {
    try {
      await this.#world.files.unlink(join(this.#held, name))
    } catch (error) {
      if (!isFault(error) || error.facts.errno !== 'ENOENT') throw error
    }
  }
}

interface Owner {
  readonly name: string
  readonly lock: OpenFile
}

/** A decision that was waited for may have been used; one that waits for its handle was not, or its end would be here. */
function endLeftBy(request: KeptRequest, decision: KeptDecision | null): KeptEnd['ended'] {
  if (decision?.decision === 'deny') return 'denied'
  return decision?.decision === 'approve' && request.use === 'waits' ? 'approved' : 'expired'
}
