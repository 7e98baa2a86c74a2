/** A process that counts effects, and what it has counted so far: `e2e/children/effect-counter.mjs` says how to ask it. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

export interface EffectCounter extends AsyncDisposable {
  readonly origin: string
  /** What it printed of every request, in the order in which they came: method and path, unless its script says more. */
  readonly counted: readonly string[]
  /** Resolves when a request for the path was counted. */
  seen(path: string): Promise<void>
  /** Resolves when a line that holds this text was printed. */
  printed(text: string): Promise<void>
  /** Answers all requests that are held. */
  release(): void
  /** Ends the process. Gives how many requests it counted, as it says itself. */
  end(): Promise<number>
}

/** Another script counts in its own way, as long as it prints its port, a line an effect, and at the end "counted" and how many. */
export async function effectCounter(script = countingScript(), given: readonly string[] = []): Promise<EffectCounter> {
  const child = spawn(process.execPath, [script, ...given], { stdio: ['pipe', 'pipe', 'inherit'] })
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
  const lineThat = (fits: (line: string) => boolean): Promise<void> =>
    new Promise((resolve) => {
      const look = (): void => {
        if (!counted.some(fits)) return
        watchers.delete(look)
        resolve()
      }
      watchers.add(look)
      look()
    })
  return {
    origin: `http://127.0.0.1:${port}`,
    counted,
    seen: (path) => lineThat((line) => line.endsWith(` ${path}`)),
    printed: (text) => lineThat((line) => line.includes(text)),
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

const countingScript = (): string => fileURLToPath(new URL('../e2e/children/effect-counter.mjs', import.meta.url))
