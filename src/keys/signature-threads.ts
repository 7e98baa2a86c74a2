/**
 * The signature checks of one key in threads beside this one, for whoever has thousands. A thread is only asked whether the
 * curve agrees: what is refused before Node is asked is refused here, by the rule that holds on this thread.
 *
 * A run of signatures goes over in one message. Node's own pool takes them one by one, and wakes this thread for each.
 */
import type { SideThread, Threads } from '../world/index.ts'
import { isSoundSignature, type PublicKey, spkiOf } from './ed25519.ts'

export interface Signed {
  readonly payload: Uint8Array
  readonly signature: Uint8Array
}

/** Runs that a thread has at once: the next is there when it is done with one. */
const RUNS_MAX = 2

interface Helper {
  readonly thread: SideThread
  isUp: boolean
  runs: number
}

export class SignatureThreads {
  readonly #key: PublicKey
  readonly #helpers: readonly Helper[]

  /** None where the World starts no threads. Whoever made it stops it. */
  constructor(threads: Threads, key: PublicKey, count: number) {
    this.#key = key
    const { start } = threads
    this.#helpers = start === undefined ? [] : Array.from({ length: count }, () => helperOf(start, key))
  }

  /** Runs that can be out at once, when every thread is up. */
  get room(): number {
    return this.#helpers.length * RUNS_MAX
  }

  /** Whether each signature fits, in order; never rejects. Null when no thread has room, or a signature is refused before the curve is asked: then the caller checks. */
  take(run: readonly Signed[]): Promise<readonly boolean[]> | null {
    let idlest: Helper | null = null
    for (const helper of this.#helpers) {
      if (helper.isUp && helper.runs < RUNS_MAX && (idlest === null || helper.runs < idlest.runs)) idlest = helper
    }
    if (idlest === null || !run.every(({ signature }) => isSoundSignature(signature))) return null
    return this.#askFrom(idlest, run)
  }

  /** What is out is answered all the same. */
  stop(): void {
    for (const { thread } of this.#helpers) void thread.stop()
  }

  async #askFrom(helper: Helper, run: readonly Signed[]): Promise<readonly boolean[]> {
    helper.runs += 1
    const { question, moved } = packed(run)
    const answer = await helper.thread.ask<readonly boolean[]>(question, moved)
    helper.runs -= 1
    if (answer !== null) return answer
    helper.isUp = false // it died: nobody but the curve itself can answer for it
    return run.map(({ payload, signature }) => this.#key.verifies(payload, signature))
  }
}

function helperOf(start: NonNullable<Threads['start']>, { hex }: PublicKey): Helper {
  const helper: Helper = { thread: start(WORK, { spki: spkiOf(hex) }), isUp: false, runs: 0 }
  void helper.thread.ready.then((isUp) => {
    helper.isUp = isUp
  })
  return helper
}

function packed(run: readonly Signed[]): { readonly question: object; readonly moved: readonly ArrayBuffer[] } {
  const signatures = new Uint8Array(64 * run.length)
  const payloads = new Uint8Array(run.reduce((bytes, { payload }) => bytes + payload.length, 0))
  const ends: number[] = []
  let at = 0
  for (const [index, { payload, signature }] of run.entries()) {
    signatures.set(signature, 64 * index)
    payloads.set(payload, at)
    at += payload.length
    ends.push(at)
  }
  return { question: { payloads, ends, signatures }, moved: [payloads.buffer, signatures.buffer] }
}

const WORK = `({ spki }) => {
  const { createPublicKey, verify } = require('node:crypto')
  const key = createPublicKey({ key: Buffer.from(spki), format: 'der', type: 'spki' })
  return ({ payloads, ends, signatures }) => {
    const fits = (end, index) =>
      verify(null, payloads.subarray(ends[index - 1] ?? 0, end), key, signatures.subarray(64 * index, 64 * index + 64))
    return { value: ends.map(fits), moved: [] }
  }
}`
