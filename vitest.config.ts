import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Files that start processes take longest. They go first, or one worker would be alone with the last of them. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number =>
      ['/test/e2e/', '/test/cli/', '/test/'].findIndex((folder) => moduleId.includes(folder))
    const sorted = await super.sort(files)
    return sorted.toSorted((left, right) => rank(left) - rank(right))
  }
}

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // `npm run check` sets this; a focused test is for the moment of work and never counts as a run of all
    allowOnly: process.env.SYMBI_TEST_COUNTS === undefined,
    testTimeout: 20_000,
    hookTimeout: 20_000,
    // a process a file: tests open real files, sockets and locks, and some set flags of the engine
    pool: 'forks',
    maxWorkers: 2,
    sequence: { sequencer: LongestFirst },
  },
})
