/**
 * Kills real processes and judges what they leave: bundles the campaign of `test/crashes` with the processes that it starts,
 * so that each of them is loaded in a moment, and runs it. Arguments are handed on; see `test/crashes/main.ts`.
 */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { requireNode } from '../bin/node-version.js'
import { bundle } from './bundle.mjs'
import { ROOT, whenProgram } from './steps.mjs'

await whenProgram(import.meta, async () => {
  requireNode()
  const folder = join(ROOT, '.cache', 'children', `crashes-${process.pid}`)
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  // or what was made for the campaign would be left behind
  process.once('SIGINT', () => process.exit(130)).once('SIGTERM', () => process.exit(143))
  const placeOf = (/** @type {string} */ name) => join(folder, `${name}.mjs`)
  await bundle(
    ['main', 'child', 'witness'].map((name) => join(ROOT, 'test', 'crashes', `${name}.ts`)),
    folder,
  )
  /** @type {typeof import('../test/crashes/main.ts')} */
  const { main } = await import(pathToFileURL(placeOf('main')).href)
  process.exitCode = await main(
    process.argv.slice(2),
    { child: placeOf('child'), witness: placeOf('witness') },
    {
      result: (line) => void process.stdout.write(`${line}\n`),
      note: (line) => void process.stderr.write(`${line}\n`),
    },
  )
})
