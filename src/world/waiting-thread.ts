/**
 * A thread for work that may never end, for a caller who cannot go on without the answer: it waits, everybody waits with it,
 * and not longer than it says. Whoever got no answer stops the thread; nothing else ends what it is doing.
 */
import { performance } from 'node:perf_hooks'
import { MessageChannel, type MessagePort, receiveMessageOnPort, type Worker } from 'node:worker_threads'
import { startedWorker } from './started-worker.ts'

const START_MS_MAX = 10_000

export interface Waited<T> {
  readonly value: T
  /** How long the caller waited, in milliseconds. */
  readonly tookMs: number
  /** When the wait ended, on a clock that only grows. */
  readonly endedMs: number
}

export class WaitingThread {
  readonly #worker: Worker
  readonly #state: Int32Array<SharedArrayBuffer>
  readonly #port: MessagePort

  private constructor(worker: Worker, state: Int32Array<SharedArrayBuffer>, port: MessagePort) {
    this.#worker = worker
    this.#state = state
    this.#port = port
  }

  /**
   * `work` is the text of an expression: a function of the data that gives a function of each question. It is text, because a
   * thread must load as it lies there, from sources in tests and from what was built elsewhere; `require` is in its reach.
   * Null when it does not come up in time, or not at all.
   */
  static start(work: string, data: object): WaitingThread | null {
    const state = new Int32Array(new SharedArrayBuffer(4))
    const { port1, port2 } = new MessageChannel()
    const worker = startedWorker(program(work), { data, state, port: port2 }, [port2])
    if (worker === null) return null
    worker.on('error', () => undefined) // its answer does not come, and that is noticed where it is awaited
    worker.unref()
    port1.unref()
    const thread = new WaitingThread(worker, state, port1)
    if (Atomics.wait(state, 0, 0, START_MS_MAX) !== 'timed-out') return thread
    thread.stop()
    return null
  }

  /** Null when the answer does not come in time. */
  ask<T>(question: object, waitMs: number): Waited<T> | null {
    const beginMs = performance.now()
    Atomics.store(this.#state, 0, 0)
    this.#port.postMessage(question)
    if (Atomics.wait(this.#state, 0, 0, waitMs) === 'timed-out') return null
    const received = receiveMessageOnPort(this.#port)
    const endedMs = performance.now()
    return received === undefined ? null : { value: received.message as T, tookMs: endedMs - beginMs, endedMs }
  }

  stop(): void {
    void this.#worker.terminate()
  }
}

function program(work: string): string {
  return `
const { workerData: { data, state, port } } = require('node:worker_threads')
const answer = (${work})(data)
const done = () => { Atomics.store(state, 0, 1); Atomics.notify(state, 0) }
port.on('message', (question) => {
  port.postMessage(answer(question))
  done()
})
done()
`
}
