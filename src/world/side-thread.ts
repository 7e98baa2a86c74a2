/**
 * A thread beside this one, for work that is worth a message to and fro. Nobody waits for it but who asked; it holds the
 * process open only while a question is out. A thread that died, or never began, answers null to everybody, and whoever
 * asked does the work here.
 */
import type { Transferable } from 'node:worker_threads'
import { startedWorker } from './started-worker.ts'
import type { SideThread } from './world.ts'

/** `work` is the text of an expression, for the reason that `waiting-thread.ts` gives; `require` is in its reach. */
export function startSideThread(work: string, data: object): SideThread {
  const worker = startedWorker(program(work), data)
  if (worker === null) return DEAD
  const waiting: ((answer: unknown) => void)[] = []
  let gone = false
  const answered = (answer: unknown): void => {
    waiting.shift()?.(answer)
    if (waiting.length === 0) worker.unref()
  }
  const end = (): void => {
    gone = true
    while (waiting.length > 0) answered(null)
  }
  worker.on('message', answered)
  worker.on('error', end)
  worker.on('exit', end)
  worker.unref()
  const ready = new Promise<boolean>((resolve) => {
    waiting.push((hello) => resolve(hello !== null)) // the first message says that it is up
  })
  return {
    ready,
    ask: (question, moved = []) =>
      new Promise((resolve) => {
        if (gone) return resolve(null)
        worker.postMessage(question, moved as readonly Transferable[])
        waiting.push(resolve as (answer: unknown) => void)
        worker.ref()
      }),
    stop: async () => {
      await worker.terminate()
    },
  }
}

const DEAD: SideThread = {
  ready: Promise.resolve(false),
  ask: () => Promise.resolve(null),
  stop: () => Promise.resolve(),
}

function program(work: string): string {
  return `
const { parentPort, workerData } = require('node:worker_threads')
const answer = (${work})(workerData)
parentPort.on('message', (question) => {
  const { value, moved } = answer(question)
  parentPort.postMessage(value, moved)
})
parentPort.postMessage(true)
`
}
