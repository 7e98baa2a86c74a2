/**
 * A vitest reporter that counts and says nothing: it leaves the numbers in the file that SYMBI_TEST_COUNTS names, and
 * check.mjs prints them when everything else has been said.
 *
 * A test that never came to an end, a file that could not be loaded and an error outside every test each count as one
 * failure, so that "0 failed" is said only of a run in which nothing went wrong.
 */
import { writeFileSync } from 'node:fs'

/** @typedef {{ passed: number, failed: number, skipped: number }} Counts */

export class CountReporter {
  /**
   * @param {ReadonlyArray<import('vitest/node').TestModule>} modules
   * @param {ReadonlyArray<unknown>} strayErrors
   */
  onTestRunEnd(modules, strayErrors) {
    const file = process.env.SYMBI_TEST_COUNTS
    if (file !== undefined) writeFileSync(file, JSON.stringify(countsOf(modules, strayErrors)))
  }
}

/**
 * @param {ReadonlyArray<import('vitest/node').TestModule>} modules
 * @param {ReadonlyArray<unknown>} strayErrors
 * @returns {Counts}
 */
function countsOf(modules, strayErrors) {
  const counts = { passed: 0, failed: strayErrors.length, skipped: 0 }
  for (const module of modules) {
    counts.failed += module.errors().length
    for (const suite of module.children.allSuites()) counts.failed += suite.errors().length
    for (const test of module.children.allTests()) {
      const { state } = test.result()
      counts[state === 'pending' ? 'failed' : state] += 1
    }
  }
  return counts
}

// biome-ignore lint/style/noDefaultExport: vitest loads a reporter by its default export
export default CountReporter
