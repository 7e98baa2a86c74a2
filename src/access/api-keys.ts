/**
 * API keys: from a token to a caller, or to null.
 *
 * Owns the set of keys that is in force, the legacy token's rules, and what one proof may save later: the hash of a secret
 * is paid once a token, not once a request. Every authentication first looks whether the file changed, so a revocation
 * holds from the next request on. A changed file that cannot be used is reported and the set in force stays; a file that
 * cannot be used at the start is a Fault, and the server does not start (law 5).
 *
 * Settings come in as values; this module reads no environment.
 */
import { timingSafeEqual } from 'node:crypto'
import { canonical, Fault, hexHash, instantOf, isFault } from '../core/index.ts'
import type { World } from '../world/index.ts'
import { type Caller, networkCaller } from './caller.ts'
import { type KeyFile, type KeyRecord, keyFileMark, readKeyFile } from './key-file.ts'
import { spendOneVerification, verifySecret } from './password.ts'
import { Turnstile } from './turnstile.ts'

export type AccessSettings = {
  /** The key file, or null where none is configured. */
  readonly keyFile: string | null
  /** `SYMBIONT_API_TOKEN`: one admin token, in force only while there are no key records. Empty counts as absent. */
  readonly legacyToken: string | null
  /** `SYMBIONT_REFUSE_LEGACY_API_TOKEN`: that token is refused everywhere. */
  readonly refuseLegacyToken: boolean
  /** `SYMBI_REJECT_LEGACY_API_KEYS`: tokens without the `id.secret` form are refused. */
  readonly rejectLegacyKeys: boolean
  /** In production a key file without records is refused instead of falling back to the legacy token. */
  readonly production: boolean
}

const TOKEN_BYTES_MAX = 8192
const PROOFS_MAX = 4096
/** Timestamps of files move in steps; a file this young may change again under the same mark. */
const SETTLED_NS = 1_000_000_000n

/** What a caller's standing rests on: the very record, by its hash and scope, or the legacy token. */
type Proof = { readonly key: { readonly id: string; readonly hash: string; readonly scope: string } | null }

export class ApiKeys {
  readonly #settings: AccessSettings
  readonly #world: World
  readonly #report: (fault: Fault) => void
  readonly #proofs = new WeakMap<Caller, Proof>()
  /** By SHA-256 of the token, oldest first. A proof is checked against the set in force each time it is used. */
  readonly #proven = new Map<string, Caller>()
  readonly #proving = new Map<string, Promise<Caller | null>>()
  readonly #fast = new Turnstile(2, 256)
  /** A token without an id is tried against every key. One at a time, so that it cannot crowd out the others. */
  readonly #slow = new Turnstile(1, 16)
  #file: KeyFile
  #hadKeys: boolean
  #refusedMark: string | null = null
  #looks: Promise<void> = Promise.resolve()
  #nextLook: Promise<void> | null = null

  private constructor(settings: AccessSettings, file: KeyFile, world: World, report: (fault: Fault) => void) {
    this.#settings = settings
    this.#file = file
    this.#hadKeys = file.records.size > 0
    this.#world = world
    this.#report = report
  }

  /** `report` hears of a changed key file that cannot be used, once for each change, and of a file without records. */
  static async open(settings: AccessSettings, world: World, report: (fault: Fault) => void): Promise<ApiKeys> {
    const file =
      settings.keyFile === null
        ? { records: new Map(), raw: [], exists: false, mark: 'none', bytes: '' }
        : await readKeyFile(settings.keyFile, world)
    if (file.exists && file.records.size === 0) {
      const empty = new Fault('KEY_FILE_INVALID', {
        message: 'Cannot take keys from the API key file: it holds no records',
        hint: 'Add a key with "symbi keys add", or remove the file and its setting to use SYMBIONT_API_TOKEN',
      })
      if (settings.production) throw empty
      report(empty)
    }
    return new ApiKeys(settings, file, world, report)
  }

  /** False when nothing could ever authenticate: no usable record and no legacy token in force. */
  get hasCredential(): boolean {
    for (const record of this.#file.records.values()) if (!record.revoked) return true
    return this.#legacyToken() !== null
  }

  /** Whom the token speaks for. Null for everything that is not a valid credential, without saying why. */
  async authenticate(token: string): Promise<Caller | null> {
    if (token.trim() === '' || Buffer.byteLength(token) > TOKEN_BYTES_MAX || !token.isWellFormed()) return null
    await this.#look()
    const legacy = this.#legacyToken()
    if (legacy !== null) return sameText(token, legacy) ? this.#remember(token, null) : null
    if (this.#file.records.size === 0) return null
    const name = hexHash(token)
    const proven = this.#proven.get(name)
    if (proven !== undefined && this.#stands(proven)) return proven
    let proving = this.#proving.get(name)
    if (proving === undefined) {
      proving = this.#prove(token).finally(() => this.#proving.delete(name))
      this.#proving.set(name, proving)
    }
    const caller = await proving
    return caller !== null && this.#stands(caller) ? caller : null
  }

  /** Whether a caller that was authenticated earlier would be so now: the same record, unrevoked and with equal scope. */
  async isCurrent(caller: Caller): Promise<boolean> {
    await this.#look()
    return this.#stands(caller)
  }

  async #prove(token: string): Promise<Caller | null> {
    const dot = token.indexOf('.')
    if (dot < 1 || dot === token.length - 1) return await this.#proveWithoutId(token)
    const record = this.#file.records.get(token.slice(0, dot))
    const secret = token.slice(dot + 1)
    const right = await this.#fast.pass(async () => {
      if (record !== undefined && !record.revoked) return await verifySecret(record.key_hash, secret)
      await spendOneVerification(secret)
      return false
    })
    return right && record !== undefined ? this.#remember(token, record) : null
  }

  /** The deprecated form: the whole token may be the secret of any key. */
  async #proveWithoutId(token: string): Promise<Caller | null> {
    if (this.#settings.rejectLegacyKeys) return null
    return await this.#slow.pass(async () => {
      for (const record of this.#file.records.values()) {
        if (!record.revoked && (await verifySecret(record.key_hash, token))) return this.#remember(token, record)
      }
      return null
    })
  }

  #remember(token: string, record: KeyRecord | null): Caller {
    const name = hexHash(token)
    const known = this.#proven.get(name)
    if (known !== undefined && this.#stands(known)) return known
    const caller = networkCaller(token, record)
    this.#proofs.set(caller, {
      key: record && { id: record.key_id, hash: record.key_hash, scope: canonical(record.agent_scope) },
    })
    if (this.#proven.size >= PROOFS_MAX) {
      const [oldest] = this.#proven.keys()
      if (oldest !== undefined) this.#proven.delete(oldest)
    }
    this.#proven.delete(name)
    this.#proven.set(name, caller)
    return caller
  }

  #stands(caller: Caller): boolean {
    const proof = this.#proofs.get(caller)
    if (proof === undefined) return false
    if (proof.key === null) return this.#legacyToken() !== null
    const record = this.#file.records.get(proof.key.id)
    if (record === undefined || record.revoked) return false
    return record.key_hash === proof.key.hash && canonical(record.agent_scope) === proof.key.scope
  }

  /** The legacy token while it is in force. Once this process saw a key, removing keys never brings the token back. */
  #legacyToken(): string | null {
    const { legacyToken, refuseLegacyToken } = this.#settings
    if (this.#hadKeys || refuseLegacyToken || legacyToken === null || legacyToken.trim() === '') return null
    return legacyToken
  }

  /**
   * Takes over a changed file. A look that has begun may have missed a change made just before this call, so callers share
   * only a look that has not begun.
   */
  #look(): Promise<void> {
    const path = this.#settings.keyFile
    if (path === null) return Promise.resolve()
    if (this.#nextLook !== null) return this.#nextLook
    const look = this.#looks.then(async () => {
      this.#nextLook = null
      await this.#takeOver(path)
    })
    this.#looks = look.catch(() => undefined) // a Bug reaches those who wait for this look, not everyone after them
    this.#nextLook = look
    return look
  }

  /** Whatever the disk says, the set in force is a set that was once whole and valid. */
  async #takeOver(path: string): Promise<void> {
    let mark = 'unreadable'
    try {
      const now = await keyFileMark(path, this.#world)
      mark = now.mark
      if ((mark === this.#file.mark || mark === this.#refusedMark) && this.#isSettled(now.changedNs)) return
      const file = await readKeyFile(path, this.#world)
      this.#refusedMark = null
      // Equal bytes under another mark change nothing: keep the set, and remember the newer mark.
      this.#file = file.bytes === this.#file.bytes ? { ...this.#file, mark: file.mark } : file
      this.#hadKeys ||= file.records.size > 0
    } catch (error) {
      if (!isFault(error)) throw error
      if (mark !== this.#refusedMark) this.#report(error)
      this.#refusedMark = mark
    }
  }

  #isSettled(changedNs: bigint): boolean {
    return instantOf(this.#world.clock.wall()) - changedNs > SETTLED_NS
  }
}

/** Compares digests, so neither the content nor the length of the expected text shows in the time taken. */
function sameText(given: string, expected: string): boolean {
  return timingSafeEqual(Buffer.from(hexHash(given), 'hex'), Buffer.from(hexHash(expected), 'hex'))
}
