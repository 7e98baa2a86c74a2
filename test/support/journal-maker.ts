/**
 * Makes journal lines from the written format alone, with Node's crypto and nothing of ours, so that the verifier is
 * judged by a second maker. It makes both format versions, and lies on request.
 */
import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign } from 'node:crypto'

export const AGENT = '6f0e2a0e-8a54-4d1c-9f5b-0a8d9c2b7e10'
export const OTHER_AGENT = '7f0e2a0e-8a54-4d1c-9f5b-0a8d9c2b7e11'
export const RUN = '0d0a3f0e-3a3f-4b1a-9d1e-2f1c5a7b9e11'
export const OTHER_RUN = '1d0a3f0e-3a3f-4b1a-9d1e-2f1c5a7b9e12'
export const ZEROS = '0'.repeat(64)

export interface MadeKey {
  readonly private: KeyObject
  readonly publicHex: string
}

export function madeKey(seedByte: number): MadeKey {
  return madeKeyOf(Buffer.alloc(32, seedByte))
}

export function madeKeyOf(seed: Buffer): MadeKey {
  const der = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), seed])
  const key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
  const jwk = createPublicKey(key).export({ format: 'jwk' })
  return { private: key, publicHex: Buffer.from(String(jwk.x), 'base64url').toString('hex') }
}

/** Members in the order of the format's canonical JSON; undefined ones are left out. */
export interface Payload {
  readonly entry: Record<string, unknown>
  readonly previous_hash: string
  readonly run_id?: string | undefined
  readonly version: number
}

const USAGE = { completion_tokens: 0, prompt_tokens: 0, total_tokens: 0 }
export const OUTPUT = (text: string): unknown => ({ ImprovementOutput: { output: text } })
export const TERMINATED = {
  Terminated: { duration: { nanos: 0, secs: 1 }, iterations: 1, reason: 'Completed', total_usage: USAGE },
}

export interface JournalPlan {
  readonly key: MadeKey
  readonly version?: 1 | 2
  readonly runId?: string
  readonly agentId?: string
  /** Wire events, one a record. */
  readonly events: readonly unknown[]
  /** Changes a payload just before it is signed; a string is signed as it stands. */
  readonly twist?: (payload: Payload, index: number) => unknown
}

/** The lines of a journal, each with its newline. */
export function makeLines(plan: JournalPlan): Buffer[] {
  const lines: Buffer[] = []
  let previous = ZEROS
  for (const [index, event] of plan.events.entries()) {
    const honest: Payload = {
      entry: {
        agent_id: plan.agentId ?? AGENT,
        event,
        iteration: 1,
        sequence: index,
        timestamp: new Date(Date.UTC(2026, 2, 4, 10, 11, 12, 131) + index * 1000).toISOString(),
      },
      previous_hash: previous,
      ...(plan.version === 1 ? {} : { run_id: plan.runId ?? RUN }),
      version: plan.version ?? 2,
    }
    const payload = plan.twist?.(honest, index) ?? honest
    const line = signedLine(typeof payload === 'string' ? payload : JSON.stringify(payload), plan.key)
    previous = sha256(line)
    lines.push(line)
  }
  return lines
}

export function signedLine(payload: string, key: MadeKey): Buffer {
  const signature = sign(null, Buffer.from(payload), key.private).toString('base64')
  return Buffer.from(`{"payload":${payload},"signature":"${signature}"}\n`)
}

export function sha256(bytes: Uint8Array | string): string {
  return createHash('sha256').update(bytes).digest('hex')
}
