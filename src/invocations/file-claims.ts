/**
 * Claims as files in one flat folder of the project. No request scans it, and nothing counts it: among a million closed
 * claims an open costs what it costs among none. Full is what the disk says. Nothing is evicted, deleted or rewritten.
 *
 * Two locks (both belong to an open file, exclude other holders in this process too, and end with the process): the
 * store's, for the moment of creation, and the claim's own, from creation until the owner has finished or gone. Whoever
 * reads a claim holds its lock meanwhile.
 */
import { type AgentId, assert, digest, Fault, type InvocationId, newId } from '../core/index.ts'
import { createJournal, type Journal } from '../journal/index.ts'
import { ensurePrivateDirectory, hasPrivateDirectory, openPrivateFile, PRIVATE_FILE_MODE } from '../store/index.ts'
import type { OpenFile, World } from '../world/index.ts'
import { inspectClaim, readState } from './assessment.ts'
import { auditLine, CLAIM_RULE, type ClaimRecord, ClaimWriter, claimLine, STORE_NAME } from './claim-file.ts'
import type { ClaimRequest, ClaimStore, Existing, Fresh, Inspection, NotFound } from './claims.ts'
import { FileOwner } from './file-owner.ts'
import { type Identity, identityOf, type Name, nameOf } from './identity.ts'
import { auditPath, type ClaimPlace, claimPlace, type Place, placeOf } from './place.ts'
import { completePublication, type Receipt, readReceipt, verifyReceipt, writeReceipt } from './receipt.ts'
import {
  alreadyRecorded,
  differentReview,
  doubtful,
  evidenceLost,
  notFound,
  ownerAlive,
  staleReview,
  takenMeanwhile,
} from './refusals.ts'
import { parseReview, type Review } from './review.ts'
import { currentKey } from './run-evidence.ts'
import { StoreLock } from './store-lock.ts'

/** The claims of a project, whose path is made canonical once, at the first use. */
export function fileClaims(world: World, project: string): ClaimStore {
  return new FileClaims(world, project)
}

type Taken =
  | { readonly kind: 'Absent' }
  | { readonly kind: 'InProgress' }
  /** The claim lock is held through `file`, and its closing gives it up. */
  | { readonly kind: 'Created' | 'Found'; readonly file: OpenFile }

class FileClaims implements ClaimStore {
  readonly #world: World
  readonly #project: string
  readonly #storeLock: StoreLock
  #place: Place | null = null
  /**
   * Claims of which a sync failed in this process. The system may show their bytes from then on and lose them with the power, and
   * the next sync says that all is well; so this process believes nothing that it reads in them.
   */
  readonly #doubtful = new Set<string>()

  constructor(world: World, project: string) {
    this.#world = world
    this.#project = project
    this.#storeLock = new StoreLock(world)
  }

  async open(request: ClaimRequest, signal: AbortSignal): Promise<Fresh | Existing> {
    const identity = identityOf(request)
    const place = await this.#placeOf(identity)
    await ensurePrivateDirectory(this.#world, place.store, STORE_NAME)
    const taken = await this.#take(place, identity, signal, 'create')
    assert(taken.kind !== 'Absent', 'a claim that is opened is there afterwards')
    if (taken.kind === 'InProgress') return taken
    if (taken.kind === 'Found') return await this.#read(place, identity, taken.file, request.agrees)
    return { kind: 'Fresh', owner: await this.#begin(place, identity, request.principal, taken.file) }
  }

  async lookup(request: ClaimRequest, signal: AbortSignal): Promise<Existing | NotFound> {
    const identity = identityOf(request)
    const place = await this.#placeOf(identity)
    const taken = await this.#takeExisting(place, identity, signal)
    if (taken.kind === 'Absent') return { kind: 'NotFound' }
    return taken.kind === 'InProgress' ? taken : await this.#read(place, identity, taken.file, request.agrees)
  }

  async inspect(scope: string, id: InvocationId, signal: AbortSignal): Promise<Inspection> {
    const name = nameOf(scope, id)
    const place = await this.#placeOf(name)
    await using file = await this.#takeForOperator(place, name, signal)
    return await inspectClaim(this.#world, place, name, await readClaim(file))
  }

  async reconcile(scope: string, id: InvocationId, given: Review, signal: AbortSignal): Promise<Receipt> {
    const review = parseReview(given)
    const name = nameOf(scope, id)
    const place = await this.#placeOf(name)
    await using file = await this.#takeForOperator(place, name, signal)
    await completePublication(this.#world, place)
    const { status, snapshot, snapshot_hash, resolution } = await inspectClaim(
      this.#world,
      place,
      name,
      await readClaim(file),
    )
    if (status === 'recorded') throw alreadyRecorded(name)
    if (review.snapshot_hash !== snapshot_hash) throw staleReview(name)
    if (resolution !== null) return requireReview(resolution, review, name)
    const key = await currentKey(this.#world, place, snapshot.audit)
    await writeReceipt(this.#world, place, snapshot, review, key)
    const written = await readReceipt(this.#world, place)
    assert(written !== null, 'a receipt that was published is there')
    return requireReview(verifyReceipt(written, snapshot, key.publicKey), review, name)
  }

  async #placeOf(name: Name): Promise<ClaimPlace> {
    this.#place ??= placeOf(await canonicalPath(this.#world, this.#project))
    return claimPlace(this.#place, name)
  }

  /** Under the store lock: the claim is found or made, and its own lock taken, in one step for everybody else. */
  async #take(place: ClaimPlace, name: Name, signal: AbortSignal, absent: 'create' | 'leave'): Promise<Taken> {
    return await this.#storeLock.hold(place.storeLock, signal, async () => {
      signal.throwIfAborted() // the last moment: a claim that was created is never given back
      const found = await openPrivateFile(this.#world, place.claim, 'lock', CLAIM_RULE)
      if (found !== null) return await lockedClaim(found, 'Found')
      if ((await this.#world.files.lstat(place.receipt)) !== null) throw evidenceLost(name)
      if (absent === 'leave') return { kind: 'Absent' }
      const made = await this.#world.files.create(place.claim, PRIVATE_FILE_MODE)
      if (made === null) throw takenMeanwhile(name)
      return await lockedClaim(made, 'Created')
    })
  }

  /** As `#take`, and creates nothing: where there is no store there is no claim, and no store afterwards. */
  async #takeExisting(place: ClaimPlace, name: Name, signal: AbortSignal): Promise<Taken> {
    if (!(await hasPrivateDirectory(this.#world, place.store, STORE_NAME))) return { kind: 'Absent' }
    return await this.#take(place, name, signal, 'leave')
  }

  async #takeForOperator(place: ClaimPlace, name: Name, signal: AbortSignal): Promise<OpenFile> {
    const taken = await this.#takeExisting(place, name, signal)
    if (taken.kind === 'InProgress') throw ownerAlive(name)
    if (taken.kind === 'Absent') throw notFound(name)
    return taken.file
  }

  /**
   * The claim is ours: two lines and the journal between them, in this order, so that each crash leaves a state that reads
   * as unresolved. Whatever fails here leaves the claim in place, and its id never runs.
   *
   * Two syncs of ours and two of the journal, all before an effect can begin:
   * - the store folder: the claim's name survives. It comes before the journal, so that no journal is without its claim.
   *   After a power loss before it nothing was created; after one behind it the file is empty, torn, or whole.
   * - the journal's file and folder (`createJournal`): what the audit line is about to name survives.
   * - the claim's data, once for both lines. A power loss before it keeps a prefix of them, and each prefix is a row of
   *   the crash table with the answer "unresolved". A sync of its own for the claim line would buy nothing: readers of
   *   other processes see written bytes at once, and the run cannot begin before both lines are durable.
   */
  async #begin(place: ClaimPlace, identity: Identity, principal: AgentId, file: OpenFile): Promise<FileOwner> {
    let journal: Journal | null = null
    try {
      const run_id = newId('run', this.#world.random)
      const claim: ClaimRecord = { kind: 'claim', version: 1, ...identity, agent_id: principal, run_id }
      const writer = new ClaimWriter(this.#world, place.store, file)
      await writer.append(claimLine(claim))
      await this.#world.files.syncDirectory(place.store)
      journal = await createJournal(this.#world, { directory: place.governed, principal, runId: run_id })
      assert(journal.audit.path === auditPath(place, principal, run_id), 'a journal lies where its claim says')
      await writer.append(auditLine(journal.audit))
      await writer.sync()
      const doubt = (): void => void this.#doubtful.add(place.claim)
      return new FileOwner(this.#world, { place, claim, file, writer, journal, doubt })
    } catch (error) {
      await Promise.allSettled([journal?.close(), file.close()])
      throw error
    }
  }

  async #read(
    place: ClaimPlace,
    identity: Identity,
    locked: OpenFile,
    agrees: ClaimRequest['agrees'],
  ): Promise<Existing> {
    await using file = locked
    if (this.#doubtful.has(place.claim)) throw doubtful(identity)
    const lines = await readClaim(file)
    // whoever wrote it may have died, or failed, before it was durable, and what is told now must hold after the next crash
    try {
      await file.syncData()
      await this.#world.files.syncDirectory(place.store)
    } catch (error) {
      this.#doubtful.add(place.claim)
      throw error
    }
    return await readState(this.#world, place, identity, lines, agrees)
  }
}

async function canonicalPath(world: World, project: string): Promise<string> {
  const path = await world.files.realpath(project)
  if (path !== null) return path
  throw new Fault('PROJECT_MISSING', {
    message: 'Cannot use the invocations of the project: its folder does not exist',
    hint: 'Create the project with "symbi init", or name the right folder with --project',
  })
}

async function lockedClaim(file: OpenFile, kind: 'Created' | 'Found'): Promise<Taken> {
  try {
    if (await file.tryLock()) return { kind, file }
  } catch (error) {
    await file.close()
    throw error
  }
  await file.close()
  return { kind: 'InProgress' }
}

function readClaim(file: OpenFile): Promise<Uint8Array> {
  return file.readAll(CLAIM_RULE.bytesMax)
}

/** The same review again is answered with the receipt that exists; a receipt is never replaced. */
function requireReview(receipt: Receipt, review: Review, name: Name): Receipt {
  if (digest(receipt.payload.review) === digest(review)) return receipt
  throw differentReview(name)
}
