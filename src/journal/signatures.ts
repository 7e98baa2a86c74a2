/**
 * The signature checks of one verification: nine tenths of its cost. They run here, or on Node's own pool of threads with
 * a bounded number in flight, so that the pool still serves the disk. Either way the first bad record is the one told.
 */
import type { PublicKey } from '../keys/index.ts'
import { invalidRecord, type SignedPayload } from './record.ts'

export class Signatures {
  readonly #key: PublicKey
  readonly #inFlightMax: number
  #inFlight: Promise<void>[] = []

  /** With `inFlightMax` 0 every check is made at once, on this thread. */
  constructor(key: PublicKey, inFlightMax: number) {
    this.#key = key
    this.#inFlightMax = inFlightMax
  }

  /** Checks one record, or an older one while this one waits for its answer. Throws `EVIDENCE_INVALID`. */
  async check(sequence: number, { payload, signature }: SignedPayload): Promise<void> {
    if (this.#inFlightMax === 0) return judge(sequence, this.#key.verifies(payload, signature))
    if (this.#inFlight.length >= this.#inFlightMax) await this.#oldest()
    const answer = this.#key.verifiesElsewhere(payload, signature).then((fits) => judge(sequence, fits))
    answer.catch(() => undefined) // told in order, when its turn comes
    this.#inFlight.push(answer)
  }

  /** Waits for every answer that is due. Throws for the first record that does not verify. */
  async settle(): Promise<void> {
    while (this.#inFlight.length > 0) await this.#oldest()
  }

  async #oldest(): Promise<void> {
    try {
      await this.#inFlight.shift()
    } catch (error) {
      this.#inFlight = [] // what comes behind the first bad record matters to nobody
      throw error
    }
  }
}

function judge(sequence: number, fits: boolean): void {
  if (!fits) throw invalidRecord(sequence, 'its signature does not fit the payload and the given key')
}
