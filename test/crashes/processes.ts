/** The processes that are killed, as their parent has them: a channel beside stdin and stdout, which belong to a protocol. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable, Writable } from 'node:stream'
import { BRIEF } from '../support/brief.ts'
import type { FromChild, ToChild } from './messages.ts'

export interface Worker {
  readonly process: ChildProcess & { readonly stdin: Writable; readonly stdout: Readable }
  /** Everything it said, in order. */
  readonly said: readonly FromChild[]
  say(message: ToChild): void
  /** The first such message from now on, or the first that it had said before; null when it is gone without one. */
  heard(fits: (message: FromChild) => boolean): Promise<FromChild | null>
  /** Resolves when it is gone, with the signal that ended it. */
  readonly gone: Promise<NodeJS.Signals | null>
  readonly isGone: boolean
  forget(): void
  kill(): Promise<void>
}

export function startWorker(script: string, env: Readonly<Record<string, string>> = {}): Worker {
  const child = spawn(process.execPath, [...BRIEF, script], {
    stdio: ['pipe', 'pipe', 'inherit', 'ipc'],
    env: { ...process.env, ...env },
  }) as Worker['process']
  let said: FromChild[] = []
  const watchers = new Set<() => void>()
  const tell = (): void => {
    for (const watcher of [...watchers]) watcher()
  }
  let isGone = false
  child.on('message', (message: FromChild) => {
    said.push(message)
    tell()
  })
  child.stdin.on('error', () => undefined)
  child.on('error', () => undefined)
  // both: what it said last is read before the channel is closed
  const gone = Promise.all([once(child, 'close'), once(child, 'disconnect')]).then(([[, signal]]) => {
    isGone = true
    tell()
    return signal as NodeJS.Signals | null
  })
  return {
    process: child,
    get said() {
      return said
    },
    get isGone() {
      return isGone
    },
    gone,
    say: (message) => {
      if (child.connected) child.send(message, () => undefined)
    },
    heard: (fits) =>
      new Promise((resolve) => {
        const look = (): void => {
          const found = said.find(fits)
          if (found === undefined && !isGone) return
          watchers.delete(look)
          resolve(found ?? null)
        }
        watchers.add(look)
        look()
      }),
    forget: () => {
      said = []
    },
    kill: async () => {
      child.kill('SIGKILL')
      await gone
    },
  }
}
