import { expect, test, vi } from 'vitest'
import { startSideThread } from '../../src/world/side-thread.ts'
import { WaitingThread } from '../../src/world/waiting-thread.ts'

/** As where the system lets a process have so many threads and no more. */
vi.mock('node:worker_threads', async (original) => ({
  ...(await original<typeof import('node:worker_threads')>()),
  Worker: class {
    constructor() {
      throw Object.assign(new Error('EAGAIN'), { code: 'ERR_WORKER_INIT_FAILED' })
    }
  },
}))

test('a side thread that the system does not give is one that is never ready and answers null', async () => {
  const thread = startSideThread('() => () => ({ value: 1, moved: [] })', {})
  expect(await thread.ready).toBe(false)
  expect(await thread.ask({})).toBeNull()
  await thread.stop()
})

test('a thread to wait for that the system does not give is none', () => {
  expect(WaitingThread.start('() => () => 1', {})).toBeNull()
})
