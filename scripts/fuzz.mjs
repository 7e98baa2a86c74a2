/**
 * Fuzzes: compiles `src/` so that it counts where it goes, and the fuzzer beside it, and runs that. Arguments are handed on;
 * see `test/fuzz/main.ts`.
 */
import { createHash } from 'node:crypto'
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { requireNode } from '../bin/node-version.js'
import { Counters, head, transpile } from './instrument.mjs'
import { ROOT, whenProgram } from './steps.mjs'

const OUT = join(ROOT, '.cache', 'fuzz')

await whenProgram(import.meta, async () => {
  requireNode()
  compile()
  const { main } = await import(pathToFileURL(join(OUT, 'test', 'fuzz', 'main.js')).href)
  process.exitCode = await main(process.argv.slice(2), ROOT, {
    result: (/** @type {string} */ line) => process.stdout.write(`${line}\n`),
    note: (/** @type {string} */ line) => process.stderr.write(`${line}\n`),
  })
})

/** Nothing is compiled again while no file changed: a replay should take a moment, and a campaign begin at once. */
function compile() {
  const counted = filesIn('src')
  const plain = ['test/fuzz', 'test/support', 'test/dsl']
    .flatMap(filesIn)
    .filter((path) => !path.includes('/corpus/') && !path.endsWith('.test.ts'))
  const scripts = ['scripts/instrument.mjs']
  const hash = createHash('sha256')
  for (const path of [...counted, ...plain, ...scripts, 'scripts/fuzz.mjs'])
    hash.update(path).update(readFileSync(join(ROOT, path)))
  const digest = hash.digest('hex')
  const stamp = join(OUT, 'stamp')
  try {
    if (readFileSync(stamp, 'utf8') === digest) return
  } catch {
    // nothing was compiled yet
  }
  process.stderr.write('fuzz: compiling …\n')
  rmSync(OUT, { recursive: true, force: true })
  const counters = new Counters()
  const compiled = counted.map((path) => transpile(read(path), path, counters))
  for (const [index, path] of counted.entries()) write(path, `${head(counters)}${compiled[index]}`)
  for (const path of plain) {
    if (path.endsWith('.ts')) write(path, transpile(read(path), path, null))
    else copy(path)
  }
  for (const path of scripts) copy(path)
  writeFileSync(stamp, digest)
}

/** @param {string} folder */
function filesIn(folder) {
  return readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(ROOT.length))
    .sort()
}

/** @param {string} path */
function read(path) {
  return readFileSync(join(ROOT, path), 'utf8')
}

/**
 * @param {string} path
 * @param {string} text
 */
function write(path, text) {
  const file = join(OUT, path.replace(/\.ts$/, '.js'))
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
}

/** @param {string} path */
function copy(path) {
  mkdirSync(dirname(join(OUT, path)), { recursive: true })
  cpSync(join(ROOT, path), join(OUT, path))
}
