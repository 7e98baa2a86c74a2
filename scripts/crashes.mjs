/**
 * Kills real processes and judges what they leave: bundles the campaign of `test/crashes` with the processes that it starts,
 * so that each of them is loaded in a moment, and runs it. Arguments are handed on; see `test/crashes/main.ts`.
 */
import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { requireNode } from '../bin/node-version.js'
import { bundle } from './bundle.mjs'
import { ROOT, whenProgram } from './steps.mjs'

await whenProgram(import.meta, async () => {
  requireNode()
  const folder = join(ROOT, '.cache', 'children', `crashes-${process.pid}`) // below the clone, where its packages are found
  try {
    await bundle(
      ['program', 'child', 'witness'].map((name) => join(ROOT, 'test', 'crashes', `${name}.ts`)),
      folder,
    )
    const done = spawnSync(process.execPath, [join(folder, 'program.mjs'), ...process.argv.slice(2)], {
      stdio: 'inherit',
    })
    if (done.error !== undefined) throw done.error
    process.exitCode = done.status ?? 1
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
