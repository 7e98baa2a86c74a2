/** Real processes that run our code: the script is bundled once, so that each child starts in a moment. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { bundle } from '../../scripts/bundle.mjs'
import { BRIEF } from './brief.ts'

export { BRIEF } from './brief.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** Bundles a TypeScript file of `test/` below this clone, where its packages are found, and gives the path to run. */
export async function bundled(script: string): Promise<string> {
  const name = basename(script, '.ts')
  const outDir = join(ROOT, '.cache/children', `${name}-${process.pid}`)
  await bundle([join(ROOT, script)], outDir)
  process.once('exit', () => rmSync(outDir, { recursive: true, force: true }))
  return join(outDir, `${name}.mjs`)
}

export interface Child extends AsyncDisposable {
  readonly process: ChildProcess
  /** The next line that it prints. */
  line(): Promise<string>
  say(line: string): void
  /** Ends it without a chance to clean up, and waits until it is gone. */
  kill(): Promise<void>
}

/** `flags` are those of Node. */
export function startChild(path: string, given: readonly string[], flags = BRIEF): Child {
  const child = spawn(process.execPath, [...flags, path, ...given], { stdio: ['pipe', 'pipe', 'inherit'] })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const gone = once(child, 'exit')
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL')
    await gone
  }
  return {
    process: child,
    line: async () => {
      const { value, done } = await lines.next()
      if (done === true) throw new Error('The child ended before it printed a line')
      return value
    },
    say: (line) => void child.stdin.write(`${line}\n`),
    kill,
    [Symbol.asyncDispose]: kill,
  }
}
