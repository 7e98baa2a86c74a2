/**
 * A thread of its own for checks that may not end. The caller waits, because what is judged must be prepared first, but not
 * longer than a deadline: then the thread is thrown away, and the schema is refused from then on, so that it can hold the
 * process once and no more. docs/decisions/2026-11-30-foreign-schemas.md says why.
 */
import { createRequire } from 'node:module'
import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from 'node:worker_threads'
import { digest, type Hash, type Json, type JsonObject } from '../core/index.ts'
import { Patience } from './schema-patience.ts'

export interface SchemaError {
  readonly instanceLocation: string
  readonly keyword: string
  readonly keywordLocation: string
  readonly error: string
}

export type ThreadAnswer =
  | { readonly kind: 'Checked'; readonly errors: readonly SchemaError[] }
  /** The schema itself cannot be used. */
  | { readonly kind: 'Failed'; readonly message: string }
  | { readonly kind: 'Late' }

const START_MS_MAX = 10_000
const ERRORS_MAX = 50
const LATE_MAX = 4096

/** Schemas whose check did not end in time. */
const late = new Set<Hash>()
let running: Thread | null = null
const patience = new Patience()

export function wasLate(schema: JsonObject): boolean {
  return late.has(digest(schema))
}

export function checkInThread(schema: JsonObject, value: Json): ThreadAnswer {
  const name = digest(schema)
  if (late.has(name)) return { kind: 'Late' }
  running ??= startThread()
  const answer = running === null ? null : ask(running, { schema, value }, patience.waitMs())
  if (answer === null) {
    running?.stop()
    running = null
    patience.gaveUp()
    refuse(name)
    return { kind: 'Late' }
  }
  const { tookMs, atMs, ...said } = answer
  if (patience.ended(tookMs, atMs)) refuse(name)
  return said
}

function refuse(name: Hash): void {
  if (late.size < LATE_MAX) late.add(name)
}

interface Thread {
  readonly state: Int32Array<SharedArrayBuffer>
  readonly port: MessagePort
  stop(): void
}

/** Text, because a thread must load as it lies there: from sources in tests, from what was built elsewhere. */
const PROGRAM = `
const { workerData: { library, state, port } } = require('node:worker_threads')
const { Validator, format } = require(library)
format.url = (text) => /^(?:https?|ftp):\\/\\//i.test(text) && URL.canParse(text)
const done = () => { Atomics.store(state, 0, 1); Atomics.notify(state, 0) }
port.on('message', ({ schema, value }) => {
  let answer
  const beginMs = performance.now()
  try {
    const { valid, errors } = new Validator(schema, '2020-12', true).validate(value)
    const last = errors.slice(-${ERRORS_MAX}).map(({ instanceLocation, keyword, keywordLocation, error }) =>
      ({ instanceLocation, keyword, keywordLocation, error: String(error).slice(0, 1000) }))
    answer = { kind: 'Checked', errors: valid ? [] : last }
  } catch (error) {
    answer = { kind: 'Failed', message: String(error?.message).slice(0, 1000) }
  }
  port.postMessage({ ...answer, tookMs: performance.now() - beginMs, atMs: Date.now() })
  done()
})
done()
`

/** Null when it does not come up in time. */
function startThread(): Thread | null {
  const state = new Int32Array(new SharedArrayBuffer(4))
  const { port1, port2 } = new MessageChannel()
  const worker = new Worker(PROGRAM, {
    eval: true,
    env: {},
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: 128, stackSizeMb: 4 },
    // By its full path: a bare name would be looked up from the current folder, which may be anybody's.
    workerData: { library: createRequire(import.meta.url).resolve('@cfworker/json-schema'), state, port: port2 },
    transferList: [port2],
  })
  worker.on('error', () => undefined) // its answer does not come, and that is noticed where it is awaited
  worker.unref()
  port1.unref()
  const thread = { state, port: port1, stop: () => void worker.terminate() }
  if (Atomics.wait(state, 0, 0, START_MS_MAX) !== 'timed-out') return thread
  thread.stop()
  return null
}

type Timed = Exclude<ThreadAnswer, { kind: 'Late' }> & { readonly tookMs: number; readonly atMs: number }

/** Null when the answer does not come in time. */
function ask({ state, port }: Thread, question: object, waitMs: number): Timed | null {
  Atomics.store(state, 0, 0)
  port.postMessage(question)
  if (Atomics.wait(state, 0, 0, waitMs) === 'timed-out') return null
  return (receiveMessageOnPort(port)?.message as Timed | undefined) ?? null
}
