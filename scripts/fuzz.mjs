/**
 * Fuzzes: compiles `src/` so that it counts where it goes, and the fuzzer beside it, and runs that.
 *
 *   npm run fuzz                                      every target for 30 seconds
 *   npm run fuzz -- [--target NAME]… [--seed N]       some of them
 *     [--seconds N | --runs N] [--grow]               for another time, or as many inputs; and what was learned joins the corpus
 *   npm run fuzz -- --target NAME --replay FILE       one input again
 *
 * The exit code is 1 with findings, 64 when the arguments are not understood.
 */
import { createHash } from 'node:crypto'
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { requireNode } from '../bin/node-version.js'
import { flagsIn, MISUSED, ROOT, Stop, whenProgram, wholeNumber } from './steps.mjs'

const OUT = join(ROOT, '.cache', 'fuzz')

await whenProgram(import.meta, async () => {
  requireNode()
  const options = optionsIn(process.argv.slice(2))
  await compile()
  const { main } = await import(pathToFileURL(join(OUT, 'test', 'fuzz', 'main.js')).href)
  process.exitCode = await main(options, ROOT, {
    result: (/** @type {string} */ line) => process.stdout.write(`${line}\n`),
    note: (/** @type {string} */ line) => process.stderr.write(`${line}\n`),
  })
})

/**
 * What is asked, or a Stop that says what is wrong with it.
 *
 * @param {readonly string[]} argv
 * @returns {import('../test/fuzz/main.ts').Options}
 */
export function optionsIn(argv) {
  const text = /** @type {const} */ ({ type: 'string' })
  const values = flagsIn(
    {
      target: { type: 'string', multiple: true },
      seconds: text,
      runs: text,
      seed: text,
      replay: text,
      grow: { type: 'boolean' },
    },
    argv,
  )
  const known = targetNames()
  const targets = [...new Set(values.target ?? known)]
  const stranger = targets.find((name) => !known.includes(name))
  if (stranger !== undefined) {
    throw new Stop(`Cannot fuzz ${JSON.stringify(stranger)}: there is no such target`, {
      hint: `The targets are ${known.join(', ')}`,
      exit: MISUSED,
    })
  }
  if (values.seconds !== undefined && values.runs !== undefined) {
    throw new Stop('Cannot fuzz by --seconds and by --runs: one of them says when it is over', { exit: MISUSED })
  }
  const runs = wholeNumber('runs', values.runs, null, 1)
  const [first] = targets
  if (values.replay !== undefined && (targets.length !== 1 || first === undefined)) {
    throw new Stop('Cannot run a file again: --replay needs the one --target that reads it', {
      hint: `The targets are ${known.join(', ')}`,
      exit: MISUSED,
    })
  }
  return {
    targets,
    seconds: wholeNumber('seconds', values.seconds, runs === null ? 30 : null, 1),
    runs: runs ?? Number.MAX_SAFE_INTEGER,
    seed: wholeNumber('seed', values.seed, Date.now() % 1_000_000),
    replay: values.replay === undefined ? null : inputIn(values.replay),
    grow: values.grow ?? false,
  }
}

/** By the text of their files, because nothing is compiled yet; a test compares them with the list. */
export function targetNames() {
  const folder = join('test', 'fuzz', 'targets')
  return filesIn(folder).flatMap((path) =>
    [...read(path).matchAll(/: Target = \{\s+name: '([^']+)'/g)].map(([, name = '']) => name),
  )
}

/** @param {string} file */
function inputIn(file) {
  try {
    return readFileSync(file)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : null
    if (code === null) throw error
    throw new Stop(`Cannot run ${JSON.stringify(file)} again: it cannot be read (${code})`, {
      hint: 'Findings are below .cache/fuzz-findings',
      exit: MISUSED,
    })
  }
}

/** Nothing is compiled again while no file changed: a replay should take a moment, and a campaign begin at once. */
async function compile() {
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
  // the compiler of TypeScript takes a second to load, and most of the time there is nothing to compile
  const { Counters, head, transpile } = await import('./instrument.mjs')
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
