/**
 * `npm run example 03`: runs an example. They are TypeScript, which Node 20 does not read, so it is brought into plain
 * JavaScript first, inside the clone, where the package finds itself by its name. Without a name it lists them.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { requireNode } from '../bin/node-version.js'
import { buildWhenStale } from './build.mjs'
import { installMissing } from './install.mjs'
import { ROOT, Stop, whenProgram } from './steps.mjs'

const names = () =>
  readdirSync(join(ROOT, 'examples'))
    .filter((file) => file.endsWith('.ts'))
    .map((file) => file.slice(0, -'.ts'.length))
    .sort()

/**
 * @param {string} wanted a name, or how it begins
 * @returns {number} the exit code
 */
export function runExample(wanted) {
  const [name, ...others] = names().filter((each) => each.startsWith(wanted))
  if (name === undefined || others.length > 0) {
    throw new Stop(`Cannot run the example "${wanted}": there are ${names().join(', ')}`, {
      hint: 'Give one of the names, or its two digits',
      exit: 64,
    })
  }
  const source = readFileSync(join(ROOT, 'examples', `${name}.ts`), 'utf8')
  const options = { target: ts.ScriptTarget.ES2023, module: ts.ModuleKind.ESNext }
  const folder = join(ROOT, '.cache', `example-${process.pid}`)
  mkdirSync(folder, { recursive: true })
  try {
    const script = join(folder, `${name}.mjs`)
    writeFileSync(script, ts.transpileModule(source, { compilerOptions: options }).outputText)
    return spawnSync(process.execPath, [script], { stdio: 'inherit' }).status ?? 1
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

await whenProgram(import.meta, () => {
  requireNode()
  installMissing(ROOT)
  buildWhenStale(ROOT, { stdout: 2 })
  const wanted = process.argv[2]
  if (wanted === undefined) process.stdout.write(`${names().join('\n')}\n`)
  else process.exitCode = runExample(wanted)
})
