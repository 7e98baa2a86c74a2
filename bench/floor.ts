/**
 * The floor program: performs a script with nothing but what cannot be avoided. Build each record, make it canonical, hash
 * and sign it, write the group, sync it where the law wants a sync, ask Cedar once a call what the gate asks. It has no loop, no checks, no
 * ports: system calls and cryptography are Node's own, straight.
 */
import { createHash, type KeyObject, randomUUID, sign } from 'node:crypto'
import { constants, fdatasync, openSync, write } from 'node:fs'
import { createRequire } from 'node:module'
import v8 from 'node:v8'
import type * as CedarModule from '@cedar-policy/cedar-wasm/nodejs'
import { canonical, GENESIS } from '../src/core/index.ts'
import { type NewEntry, toWire } from '../src/events/index.ts'
import type { Script, Step } from './script.ts'

export interface Floor {
  /** Performs the script once, into an empty file. */
  perform(fd: number): Promise<void>
}

export function floorOf(script: Script, key: KeyObject): Floor {
  const cedar = preparedCedar(script)
  return {
    async perform(fd) {
      const chain = { previous: GENESIS as string, sequence: 0 }
      for (const step of script.steps) {
        prepare(step, cedar)
        await writeAll(fd, Buffer.concat(step.entries.map((entry) => recordOf(entry, chain, key))))
        if (!WRITES_SYNC) await syncData(fd)
      }
    },
  }
}

/** On Linux one call of the system writes and syncs, as the journal has it. */
export const WRITES_SYNC = process.platform === 'linux'

/** A new file whose writes the floor program makes durable. */
export function openFloorFile(path: string): number {
  const { O_WRONLY, O_CREAT, O_EXCL, O_APPEND, O_DSYNC } = constants
  return openSync(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | (WRITES_SYNC ? O_DSYNC : 0), 0o600)
}

export function preparedCedar({ policies }: Script): typeof CedarModule {
  v8.setFlagsFromString('--no-turbo-inline-js-wasm-calls') // as the engine does: without it the module can end the process
  const cedar = createRequire(import.meta.url)('@cedar-policy/cedar-wasm/nodejs') as typeof CedarModule
  cedar.preparsePolicySet('floor', { staticPolicies: Object.fromEntries(policies) })
  return cedar
}

function prepare({ digested, kept, questions }: Step, cedar: typeof CedarModule): void {
  for (const text of kept) hash(text)
  for (const value of digested) hash(canonical(value))
  for (const question of questions) {
    cedar.statefulIsAuthorized({ ...question, preparsedPolicySetId: 'floor' })
    randomUUID() // the id of the dispatch
  }
}

interface Chain {
  previous: string
  sequence: number
}

function recordOf({ agent_id, event, iteration }: NewEntry, chain: Chain, key: KeyObject): Buffer {
  const payload =
    `{"entry":{"agent_id":"${agent_id}","event":${canonical(toWire(event))},"iteration":${iteration},` +
    `"sequence":${chain.sequence},"timestamp":"${new Date().toISOString()}"},` +
    `"previous_hash":"${chain.previous}","run_id":"${agent_id}","version":2}`
  const signature = sign(null, Buffer.from(payload), key).toString('base64')
  const line = Buffer.from(`{"payload":${payload},"signature":"${signature}"}\n`)
  chain.previous = hash(line)
  chain.sequence += 1
  return line
}

export function hash(bytes: string | Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

export function writeAll(fd: number, bytes: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    write(fd, bytes, 0, bytes.length, null, (error) => (error === null ? resolve() : reject(error)))
  })
}

export function syncData(fd: number): Promise<void> {
  return new Promise((resolve, reject) => {
    fdatasync(fd, (error) => (error === null ? resolve() : reject(error)))
  })
}
