import { configDefaults, defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * Files that change what other files would see, so that each has a process of its own: they replace modules, where one that
 * is loaded already cannot be replaced, or change the process itself. `test/tidy/alone.test.ts` holds this list against the files.
 */
export const ALONE = [
  'test/access/api-keys.test.ts',
  'test/keys/signing.test.ts',
  'test/providers/loading.test.ts',
  'test/testing/simulation/disk.test.ts',
  'test/world/no-threads.test.ts',
]

/**
 * Files that start processes take longest. They go first, or one worker would be alone with the last of them. Files with a
 * process of their own go last: a shared process ends where one of them comes next.
 */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId, project }: TestSpecification): number =>
      project.config.isolate
        ? 3
        : ['/test/e2e/', '/test/cli/', '/test/'].findIndex((folder) => moduleId.includes(folder))
    const sorted = await super.sort(files)
    return sorted.toSorted((left, right) => rank(left) - rank(right))
  }
}

export default defineConfig({
  test: {
    // `npm run check` sets this; a focused test is for the moment of work and never counts as a run of all
    allowOnly: process.env.SYMBI_TEST_COUNTS === undefined,
    testTimeout: 20_000,
    hookTimeout: 20_000,
    // processes and no threads: tests open real files, sockets and locks
    pool: 'forks',
    maxWorkers: 3, // on two processors: the tests of processes wait a tenth of their time
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        extends: true,
        // the modules of src, and Cedar, are loaded once a process: to load them for each file took half of the time
        test: {
          name: 'shared',
          include: ['test/**/*.test.ts'],
          exclude: [...configDefaults.exclude, ...ALONE],
          isolate: false,
        },
      },
      { extends: true, test: { name: 'alone', include: ALONE, isolate: true } },
    ],
  },
})
