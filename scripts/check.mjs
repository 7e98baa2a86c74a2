/**
 * Everything that must hold before a change is finished: format, lint, build, types, tests (the floors are among them).
 *
 * Stops at the first step that fails, and its last line is the count of the tests. There are no numbers when the tests did
 * not run to their end: a count that nobody made would be read as one.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { requireNode } from '../bin/node-version.js'
import { buildWhenStale } from './build.mjs'
import { installMissing } from './install.mjs'
import { ROOT, runTool, Stop, whenProgram } from './steps.mjs'

/** @typedef {import('./count-reporter.mjs').Counts} Counts */

/** @returns {number} the exit code */
export function check() {
  const code =
    step('format', () => runTool('biome', ['format', '.'])) ||
    step('lint', () => runTool('biome', ['check', '--formatter-enabled=false', '--error-on-warnings', '.'])) ||
    step('build', build) || // before the types: the examples import the package by its name, as it was built
    step('types', () => runTool('tsc', ['-p', '.']))
  if (code !== 0) return finish(code, 'tests: not run')
  const folder = mkdtempSync(join(tmpdir(), 'symbi-check-'))
  try {
    const file = join(folder, 'counts.json')
    return finish(
      step('tests', () => runTests(file)),
      summaryOf(countsIn(file)),
    )
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/**
 * @param {string} name
 * @param {() => number} run
 * @returns {number} the exit code
 */
function step(name, run) {
  process.stdout.write(`check: ${name} …\n`)
  const start = performance.now()
  const code = run()
  const seconds = ((performance.now() - start) / 1000).toFixed(1)
  process.stdout.write(`check: ${name} ${code === 0 ? 'ok' : 'FAILED'} after ${seconds} s\n`)
  return code
}

function build() {
  try {
    buildWhenStale(ROOT)
    return 0
  } catch (error) {
    if (error instanceof Stop) return error.exit
    throw error
  }
}

/** @param {string} file where the counts are left */
function runTests(file) {
  const env = { ...process.env, SYMBI_TEST_COUNTS: file }
  const reporters = ['--reporter=default', `--reporter=${join(ROOT, 'scripts', 'count-reporter.mjs')}`]
  return verdictOf(runTool('vitest', ['run', ...reporters], { env }), countsIn(file))
}

/**
 * @param {number} code
 * @param {string} lastLine
 */
function finish(code, lastLine) {
  process.stdout.write(`${lastLine}\n`)
  return code
}

/**
 * The exit code of the tests. A runner that stopped without a count, that ran nothing, or that calls a run with failures a
 * success is not believed.
 *
 * @param {number} code
 * @param {Counts | null} counts
 */
export function verdictOf(code, counts) {
  if (code !== 0) return code
  return counts !== null && counts.failed === 0 && counts.passed > 0 ? 0 : 1
}

/** @param {Counts | null} counts */
export function summaryOf(counts) {
  if (counts === null) return 'tests: no result, the runner stopped before it could count'
  return `tests: ${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`
}

/**
 * @param {string} file
 * @returns {Counts | null}
 */
function countsIn(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    return null
  }
}

await whenProgram(import.meta, () => {
  requireNode()
  installMissing(ROOT) // or the first test that starts the project would, under all the others
  process.exitCode = check()
})
