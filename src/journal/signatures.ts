/**
 * The signature checks of one verification: nine tenths of its cost. They run here, or on Node's own pool of threads.
 * Answers are taken in the order of the records, so the first bad record is the one that is told.
 */
import type { PublicKey } from '../keys/index.ts'
import { invalidRecord, type SignedPayload } from './record.ts'

export class Signatures {
  readonly #key: PublicKey
  readonly #elsewhere: boolean
  #asked: { readonly sequence: number; readonly answer: boolean | Promise<boolean> }[] = []

  constructor(key: PublicKey, where: 'here' | 'elsewhere') {
    this.#key = key
    this.#elsewhere = where === 'elsewhere'
  }

  /** Asks about a run of records. Many in a row, because each change between parsing and curve arithmetic costs. */
  ask(records: readonly SignedPayload[], firstSequence: number): void {
    for (const [index, { payload, signature }] of records.entries()) {
      const answer = this.#elsewhere
        ? this.#key.verifiesElsewhere(payload, signature)
        : this.#key.verifies(payload, signature)
      this.#asked.push({ sequence: firstSequence + index, answer })
    }
  }

  /** Waits for the answers about all records before this one. Throws `EVIDENCE_INVALID` for the first that is bad. */
  async settle(end: number): Promise<void> {
    const count = this.#asked.findIndex(({ sequence }) => sequence >= end)
    const due = this.#asked.splice(0, count === -1 ? this.#asked.length : count)
    for (const { sequence, answer } of due) {
      const fits = typeof answer === 'boolean' ? answer : await answer
      if (!fits) throw invalidRecord(sequence, 'its signature does not fit the payload and the given key')
    }
  }
}
