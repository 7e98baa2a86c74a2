/** A thread as all of ours are: with bounds of its own, and without the environment of the process. */
import { type Transferable, Worker } from 'node:worker_threads'

/** `text` is the program. Null where the system has no thread left for this process. */
export function startedWorker(text: string, data: object, moved: readonly Transferable[] = []): Worker | null {
  try {
    return new Worker(text, {
      eval: true,
      env: {},
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: 128, stackSizeMb: 4 },
      workerData: data,
      transferList: [...moved],
    })
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_INIT_FAILED') return null
    throw error
  }
}
