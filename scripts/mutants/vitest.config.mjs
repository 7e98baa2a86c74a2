/** The tests that judge the mutants of one part, one file after the other; `scripts/mutants.mjs` names them in their order. */
import { defineConfig } from 'vitest/config'
import { BaseSequencer } from 'vitest/node'

const tests = (process.env.SYMBI_MUTANTS_TESTS ?? '').split(' ')
const testTimeout = Number(process.env.SYMBI_MUTANTS_TEST_MS)

/** In the order of the list: the first failure ends the run of a mutant, so quick files go first. */
class AsListed extends BaseSequencer {
  /**
   * @override
   * @param {import('vitest/node').TestSpecification[]} files
   */
  async sort(files) {
    /** @param {{ moduleId: string }} file */
    const rank = ({ moduleId }) => tests.findIndex((test) => moduleId.endsWith(test))
    return files.toSorted((left, right) => rank(left) - rank(right))
  }
}

// biome-ignore lint/style/noDefaultExport: vitest loads its settings by the default export
export default defineConfig({
  test: {
    testTimeout,
    hookTimeout: 20_000,
    maxWorkers: 1,
    include: tests,
    isolate: false,
    sequence: { sequencer: AsListed },
  },
})
