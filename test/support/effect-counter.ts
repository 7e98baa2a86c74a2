/** The process that counts effects, and what it has counted so far: `e2e/children/effect-counter.mjs` says how to ask it. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { ROOT } from './sources.ts'

export interface EffectCounter extends AsyncDisposable {
  readonly origin: string
  /** Method and path of every request, in the order in which they came. */
  readonly counted: readonly string[]
  /** Resolves when a request for the path was counted. */
  seen(path: string): Promise<void>
  /** Answers all requests that are held. */
  release(): void
  /** Ends the process. Gives how many requests it counted, as it says itself. */
  end(): Promise<number>
}

export async function effectCounter(): Promise<EffectCounter> {
  const script = join(ROOT, 'test/e2e/children/effect-counter.mjs')
  const child = spawn(process.execPath, [script], { stdio: ['pipe', 'pipe', 'inherit'] })
  const gone = once(child, 'exit')
  const counted: string[] = []
  const watchers = new Set<() => void>()
  let total: number | null = null
  const lines = createInterface({ input: child.stdout })
  const [port] = await once(lines, 'line')
  lines.on('line', (line: string) => {
    if (line.startsWith('counted ')) total = Number(line.slice('counted '.length))
    else counted.push(line)
    for (const watcher of [...watchers]) watcher()
  })
  return {
    origin: `http://127.0.0.1:${port}`,
    counted,
    seen: (path) =>
      new Promise((resolve) => {
        const look = (): void => {
          if (!counted.some((line) => line.endsWith(` ${path}`))) return
          watchers.delete(look)
          resolve()
        }
        watchers.add(look)
        look()
      }),
    release: () => void child.stdin.write('release\n'),
    end: async () => {
      const closed = once(lines, 'close')
      child.stdin.end()
      await Promise.all([gone, closed])
      if (total === null) throw new Error('the counter ended without its total')
      return total
    },
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGKILL')
      await gone
    },
  }
}
