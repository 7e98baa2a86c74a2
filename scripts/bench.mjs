/**
 * Measures: builds what is stale, compiles `bench/`, and runs it in a process of its own, so that the compiler leaves no
 * warm code and no garbage behind in what is measured. Arguments are handed on; see `bench/main.ts`.
 */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { requireNode } from '../bin/node-version.js'
import { buildWhenStale } from './build.mjs'
import { ROOT, runTool, Stop, whenProgram } from './steps.mjs'

await whenProgram(import.meta, () => {
  requireNode()
  buildWhenStale(ROOT, { stdout: 2 }) // what is started as a program is the one that people get
  if (runTool('tsc', ['-p', 'tsconfig.bench.json'], { stdout: 2 }) !== 0) {
    throw new Stop('Cannot compile the measurements: the compiler found errors', { hint: 'They are listed above' })
  }
  const program = join(ROOT, '.cache', 'bench', 'bench', 'main.js')
  // with the collector in reach, so that every round starts from the same heap
  const done = spawnSync(process.execPath, ['--expose-gc', program, ...process.argv.slice(2)], { stdio: 'inherit' })
  if (done.error !== undefined) throw done.error
  process.exitCode = done.status ?? 1
})
