/**
 * Mutation testing: changes the code of a folder in one place at a time, runs the tests that reach that place, and lists the
 * changes that no test noticed. Takes many minutes, so it is no part of `npm test`; docs/mutation-testing.md says what was
 * found and why Stryker is installed here, on its own, instead of standing in package.json.
 *
 *     npm run mutants -- --folder dispatch                    all files of src/dispatch
 *     npm run mutants -- --folder journal --file recovery     one file
 *     npm run mutants -- --folder journal --file verify:80-120   some of its lines
 *     npm run mutants -- --folder journal --file verify:80       one of them
 *
 * One change is tried at a time. What is asked for and holds nothing to change is refused, like any other flag that is wrong, with 64.
 * What is known from the last run is used again where neither the code nor its tests changed.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { requireNode } from '../bin/node-version.js'
import { npm } from './install.mjs'
import { listingOf } from './mutants/listing.mjs'
import { flagsIn, MISUSED, ROOT, Stop, whenProgram } from './steps.mjs'

/** The last line of Stryker that runs on Node 20. */
const VERSION = '9.6.1'

/** Stryker, what it finds, and what it knows from the last time. */
const HOME = join(ROOT, '.cache', 'mutants')

/**
 * The folders that can be asked about, in parts: files, and the tests that judge them. A change that is noticed costs one
 * failing test, but one that survives costs all of them, so each part names the tests that are about it, the quick ones first.
 *
 * Where a change can make a test wait for ever, and honest tests are over at once, `testMs` says how long one may take.
 *
 * @typedef {{ readonly name: string, readonly files: readonly string[], readonly tests: readonly string[], readonly testMs?: number }} Part
 * @type {Readonly<Record<string, readonly Part[]>>}
 */
export const PARTS = {
  dispatch: [{ name: 'dispatch', files: ['**/*'], tests: ['test/dispatch/*'] }],
  journal: [
    {
      name: 'recovery',
      files: ['evidence', 'recovery', 'recovered-budget', 'recovered-effects', 'untracked-approvals'],
      tests: ['recovery', 'recovered-budget'].map((name) => `test/journal/${name}`),
    },
    {
      name: 'links',
      files: ['link-checks', 'budget-links', 'run-facts'],
      tests: ['run-facts', 'budget-links', 'link-checks'].map((name) => `test/journal/${name}`),
    },
    {
      name: 'trees',
      files: ['run-tree', 'run-node', 'tree-walk', 'tree-verdict', 'read-linked'],
      tests: ['link-checks', 'run-tree', 'tree-walk'].map((name) => `test/journal/${name}`),
    },
    {
      name: 'single',
      files: ['answer', 'first-entry', 'other-logs', 'signing-key-file'],
      tests: ['answer', 'visit', 'other-logs', 'signing-key-file'].map((name) => `test/journal/${name}`),
    },
    {
      name: 'record',
      files: ['record', 'signatures'],
      tests: ['record', 'signatures', 'verify-forms', 'visit'].map((name) => `test/journal/${name}`),
    },
    {
      name: 'verify',
      files: ['verify'],
      tests: ['verify-forms', 'visit', 'verify-steps', 'verify'].map((name) => `test/journal/${name}`),
    },
    {
      name: 'pace',
      files: ['pace'],
      tests: ['test/journal/pace'],
      testMs: 3_000,
    },
    { name: 'writer', files: ['writer'], tests: ['closing', 'writer'].map((name) => `test/journal/${name}`) },
  ],
}

await whenProgram(import.meta, () => {
  requireNode()
  const { folder, parts } = askedIn(process.argv.slice(2))
  installStryker()
  /** @type {import('./mutants/listing.mjs').Report['files']} */
  const files = {}
  for (const part of parts) Object.assign(files, runPart(folder, part).files)
  process.stdout.write(answerOf(files))
})

/**
 * The parts that are asked about, each with the files that are; or a Stop that says what is wrong with the question.
 *
 * @param {readonly string[]} argv
 * @returns {{ folder: string, parts: readonly Part[] }}
 */
export function askedIn(argv) {
  const text = /** @type {const} */ ({ type: 'string', multiple: true })
  const values = flagsIn({ folder: text, file: text }, argv)
  const [folder, ...more] = values.folder ?? []
  const parts = PARTS[folder ?? '']
  if (folder === undefined || parts === undefined || more.length > 0) {
    const what = more.length > 0 ? 'one folder is changed at a time' : 'no folder is named that this knows'
    throw new Stop(`Cannot change the code: ${what}`, {
      hint: `Name one with --folder: ${Object.keys(PARTS).join(', ')}`,
      exit: MISUSED,
    })
  }
  if (values.file === undefined) return { folder, parts }
  const wanted = values.file.map((asked) => rangeIn(folder, asked))
  const judged = parts.map((part) => {
    const own = wanted.filter(({ file }) => part.files.includes('**/*') || part.files.includes(file))
    return { ...part, files: own.map(({ file, lines }) => `${file}${lines}`) }
  })
  const all = judged.flatMap(({ files }) => files)
  const unjudged = wanted.find(({ file, lines }) => !all.includes(`${file}${lines}`))
  if (unjudged !== undefined) {
    throw new Stop(`Cannot change "${unjudged.file}": no tests are named that judge it`, {
      hint: `Of src/${folder}, these are judged: ${parts.flatMap(({ files }) => files).join(', ')}`,
      exit: MISUSED,
    })
  }
  return { folder, parts: judged.filter(({ files }) => files.length > 0) }
}

/**
 * A file and its lines, as Stryker takes them: from one to another, though they may be the same.
 *
 * @param {string} folder
 * @param {string} asked
 */
function rangeIn(folder, asked) {
  const [, file = '', lines, from, to = from] = /^([^:]*)(:(?:(\d+)(?:-(\d+))?)?.*)?$/s.exec(asked) ?? []
  const path = join(ROOT, 'src', folder, `${file}.ts`)
  if (!/^[\w-]+$/.test(file) || !existsSync(path)) {
    throw new Stop(`Cannot change "${file}": src/${folder} has no such file`, {
      hint: 'Name it without its ending, with lines if need be: --file verify:80-120',
      exit: MISUSED,
    })
  }
  if (lines === undefined) return { file, lines: '' }
  const last = readFileSync(path, 'utf8').trimEnd().split('\n').length
  const isRange = /^:\d+(-\d+)?$/.test(lines) && Number(from) >= 1 && Number(from) <= Number(to) && Number(to) <= last
  if (isRange) return { file, lines: `:${Number(from)}-${Number(to)}` }
  throw new Stop(`Cannot change "${asked}": "${lines.slice(1)}" names no lines of src/${folder}/${file}.ts`, {
    hint: `It has the lines 1 to ${last}: --file ${file}:1 is the first, --file ${file}:1-${last} is all`,
    exit: MISUSED,
  })
}

/**
 * The listing; or a Stop where there was nothing to list, for an empty table would look as if all was noticed.
 *
 * @param {import('./mutants/listing.mjs').Report['files']} files
 */
export function answerOf(files) {
  if (Object.values(files).some(({ mutants }) => mutants.length > 0)) return listingOf({ files })
  throw new Stop('Cannot change the code: what is named holds nothing that could be changed', {
    hint: 'Comments, imports, types and texts of several words are left alone; name more lines',
    exit: MISUSED,
  })
}

/**
 * @param {string} folder
 * @param {Part} part
 * @returns {import('./mutants/listing.mjs').Report}
 */
function runPart(folder, { name, files, tests, testMs = 20_000 }) {
  const report = join(HOME, `${name}.json`)
  rmSync(report, { force: true })
  const settings = join(HOME, `${name}.settings.json`)
  const mutate = files.map((file) => `src/${folder}/${file.replace(/(?=:)|$/, '.ts')}`)
  writeFileSync(settings, JSON.stringify(settingsFor(name, mutate)))
  const done = spawnSync(
    process.execPath,
    [join(HOME, 'node_modules', '@stryker-mutator', 'core', 'bin', 'stryker.js'), 'run', settings],
    {
      cwd: ROOT,
      env: {
        ...process.env,
        SYMBI_MUTANTS_HOME: HOME,
        SYMBI_MUTANTS_TEST_MS: String(testMs),
        SYMBI_MUTANTS_TESTS: tests.map((test) => `${test}.test.ts`).join(' '),
      },
      stdio: ['ignore', 2, 2],
    },
  )
  if (done.error !== undefined) throw done.error
  if (!existsSync(report))
    throw new Stop('Cannot list the mutants: Stryker ended early', { hint: 'Its words are above' })
  return JSON.parse(readFileSync(report, 'utf8'))
}

function installStryker() {
  const marker = join(HOME, 'node_modules', '.installed')
  if (existsSync(marker) && readFileSync(marker, 'utf8') === VERSION) return
  process.stderr.write(`Installing Stryker ${VERSION} under .cache/mutants …\n`)
  mkdirSync(HOME, { recursive: true })
  writeFileSync(join(HOME, 'package.json'), JSON.stringify({ private: true }))
  const { command, args } = npm(process.env.npm_execpath)
  const packages = ['core', 'vitest-runner'].map((name) => `@stryker-mutator/${name}@${VERSION}`)
  // without its peers: the vitest that it drives is the one of this clone
  const options = ['install', '--no-save', '--legacy-peer-deps', '--ignore-scripts', '--no-audit', '--no-fund']
  const done = spawnSync(command, [...args, ...options, ...packages], {
    cwd: HOME,
    stdio: ['ignore', 2, 2],
    shell: process.platform === 'win32' && args.length === 0,
  })
  if (done.error !== undefined) throw done.error
  if (done.status !== 0) {
    throw new Stop(`Cannot install Stryker: npm ended with ${done.status ?? done.signal}`, {
      hint: 'Its words are above. This needs the package registry',
    })
  }
  writeFileSync(marker, VERSION)
}

/**
 * @param {string} name of the part
 * @param {readonly string[]} mutate
 */
function settingsFor(name, mutate) {
  return {
    testRunner: 'vitest',
    vitest: { configFile: 'scripts/mutants/vitest.config.mjs', related: false },
    plugins: ['@stryker-mutator/vitest-runner', join(ROOT, 'scripts', 'mutants', 'operators.mjs')],
    mutate,
    ignorePatterns: ['.cache', 'coverage', '.symbi-*'],
    tempDirName: join('.cache', 'mutants', `${name}.sandbox`),
    concurrency: 1,
    incremental: true,
    incrementalFile: join(HOME, `${name}.known.json`),
    reporters: ['json', 'progress-append-only'],
    jsonReporter: { fileName: join(HOME, `${name}.json`) },
    // an endless loop is found by what it repeats; what only takes longer on a busy machine has this much more
    timeoutMS: 20_000,
    allowConsoleColors: false,
  }
}
