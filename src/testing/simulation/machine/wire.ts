/**
 * A connection of the simulated network: two ends, bytes in order, in pieces that the seed chooses. What one end sent is on
 * its way even when that end is gone; an end that is dead receives nothing.
 */
import { Duplex } from 'node:stream'
import type { Chance } from '../chance.ts'
import type { Owner, Turns } from './turns.ts'

type Parcel = { readonly kind: 'bytes'; readonly bytes: Buffer } | { readonly kind: 'end' } | { readonly kind: 'reset' }

export class Wire extends Duplex {
  /** As a server sees its client. */
  readonly remoteAddress = '127.0.0.1'
  readonly remotePort = 40_000
  readonly encrypted = false
  readonly #turns: Turns
  readonly #chance: Chance
  readonly #owner: Owner | null
  readonly #latencyMs: number
  #peer: Wire | null = null
  /** What travels to this end. */
  readonly #coming: Parcel[] = []
  #underWay = false
  #cutOff = false
  /** Of one end for both: what may still travel before the connection breaks. */
  #left = { parcels: Number.POSITIVE_INFINITY, broke: (): void => undefined }

  private constructor(turns: Turns, chance: Chance, owner: Owner | null, latencyMs: number) {
    super({ allowHalfOpen: true, emitClose: true })
    this.#turns = turns
    this.#chance = chance
    this.#owner = owner
    this.#latencyMs = latencyMs
  }

  /** Both ends: of a client in the world outside, and of a process. */
  static pair(turns: Turns, chance: Chance, server: Owner): { readonly client: Wire; readonly server: Wire } {
    const latencyMs = chance.happens(0.1) ? chance.between(5, 400) : chance.fraction() * 2
    const ends = {
      client: new Wire(turns, chance, null, latencyMs),
      server: new Wire(turns, chance, server, latencyMs),
    }
    ends.client.#peer = ends.server
    ends.server.#peer = ends.client
    ends.server.#left = ends.client.#left
    ends.client.on('error', () => undefined)
    ends.server.on('error', () => undefined)
    return ends
  }

  /** The client is gone and nobody is told; what it sent before still travels. */
  vanish(): void {
    this.#cutOff = true
    this.destroy()
  }

  /** Both ends learn of it, and of nothing that had not arrived by then. `broke` is told when it happens. */
  breakAfter(parcels: number, broke: () => void): void {
    Object.assign(this.#left, { parcels, broke })
  }

  override _read(): void {
    // what comes is pushed when it comes
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.#peer?.deliver({ kind: 'bytes', bytes: Buffer.from(chunk) })
    done()
  }

  override _final(done: () => void): void {
    this.#peer?.deliver({ kind: 'end' })
    done()
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    if (!this.#cutOff) this.#peer?.deliver({ kind: 'reset' })
    done(error)
  }

  deliver(parcel: Parcel): void {
    this.#coming.push(parcel)
    if (!this.#underWay) this.#carry()
  }

  #carry(): void {
    this.#underWay = true
    this.#turns.after(this.#latencyMs * (0.5 + this.#chance.fraction()), this.#owner, 'network', () => {
      this.#underWay = false
      this.#left.parcels -= 1
      if (this.#left.parcels === 0) this.#break()
      const parcel = this.#coming.shift()
      if (parcel !== undefined) this.#receive(parcel)
      if (this.#coming.length > 0) this.#carry()
    })
  }

  #break(): void {
    if (this.destroyed || this.#peer?.destroyed !== false) return // it was over already
    this.#left.broke()
    for (const end of [this, this.#peer]) {
      end.#cutOff = true
      end.#coming.length = 0
      end.destroy(connectionReset())
    }
  }

  #receive(parcel: Parcel): void {
    if (this.destroyed) return
    if (parcel.kind === 'end') {
      this.push(null)
      return
    }
    if (parcel.kind === 'reset') {
      this.destroy(connectionReset())
      return
    }
    const { bytes } = parcel
    const cut = bytes.length > 1 && this.#chance.happens(0.1) ? this.#chance.between(1, bytes.length - 1) : bytes.length
    this.push(bytes.subarray(0, cut))
    if (cut < bytes.length) this.#coming.unshift({ kind: 'bytes', bytes: bytes.subarray(cut) })
  }

  // What servers and clients of HTTP say to their sockets, and what means nothing here.
  setTimeout(): this {
    return this
  }
  setNoDelay(): this {
    return this
  }
  setKeepAlive(): this {
    return this
  }
  ref(): this {
    return this
  }
  unref(): this {
    return this
  }
  destroySoon(): void {
    if (this.writable) this.end()
    if (this.writableFinished) this.destroy()
    else this.once('finish', () => this.destroy())
  }
}

function connectionReset(): Error {
  return Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })
}
