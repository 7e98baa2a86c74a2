/**
 * npm run bench [-- --json] [--quick] [--only NAME]…   everything or some of it, as a table or one object a line
 *
 * Measures: builds what is stale, compiles `bench/`, and runs it in a process of its own, so that the compiler leaves no
 * warm code and no garbage behind in what is measured. Arguments are handed on; see `bench/main.ts`.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { requireNode } from '../bin/node-version.js'
import { buildWhenStale } from './build.mjs'
import { ROOT, runTool, Stop, whenProgram } from './steps.mjs'

await whenProgram(import.meta, async () => {
  requireNode()
  buildWhenStale(ROOT, { stdout: 2 }) // what is started as a program is the one that people get
  if (runTool('tsc', ['-p', 'tsconfig.bench.json'], { stdout: 2 }) !== 0) {
    throw new Stop('Cannot compile the measurements: the compiler found errors', { hint: 'They are listed above' })
  }
  const program = join(ROOT, '.cache', 'bench', 'bench', 'main.js')
  // with the collector in reach, so that every round starts from the same heap
  const child = spawn(process.execPath, ['--expose-gc', program, ...process.argv.slice(2)], { stdio: 'inherit' })
  // it removes what it wrote, and is waited for
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM'])) process.on(signal, () => child.kill(signal))
  const [code] = await once(child, 'close')
  process.exitCode = code ?? 1
})
