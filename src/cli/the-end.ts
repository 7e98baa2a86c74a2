/**
 * How a server learns that it has to end: a request, a second one, or a failure that nobody caught. From the first moment
 * on: a request that comes while it still starts is kept until it has started.
 */
import type { Log } from '../server/index.ts'
import type { Cli } from './cli.ts'

/** Why the server has to end: somebody asked, or a failure that nobody caught. */
export type End = 'asked' | 'broken'

export interface Stopping {
  readonly first: Promise<End>
  /** Settles at the second request. */
  readonly second: Promise<void>
  forget(): void
}

/** Ctrl-C under a script runner comes twice at once, from the terminal and from the runner: that is one request. */
const SAME_CTRL_C_MS = 300

export function watchForTheEnd({ console, world }: Cli, log: Log): Stopping {
  let end = (_why: End): void => undefined
  let hurry = (): void => undefined
  const first = new Promise<End>((resolve) => {
    end = resolve
  })
  const second = new Promise<void>((resolve) => {
    hurry = resolve
  })
  let asked: { readonly signal: string; readonly atMs: number } | null = null
  const stopListening = console.onInterrupt((signal) => {
    const atMs = world.clock.monotonicMs()
    const isEcho = signal === 'SIGINT' && asked?.signal === 'SIGINT' && atMs - asked.atMs < SAME_CTRL_C_MS
    if (asked !== null && !isEcho) hurry()
    asked ??= { signal, atMs }
    end('asked')
  })
  const broken = (error: unknown): void => {
    log.write('error', 'failure that nobody caught', { error })
    end('broken')
    hurry() // it may come while the server drains
  }
  process.on('uncaughtException', broken)
  process.on('unhandledRejection', broken)
  return {
    first,
    second,
    forget: () => {
      stopListening()
      process.off('uncaughtException', broken)
      process.off('unhandledRejection', broken)
    },
  }
}
