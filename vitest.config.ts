import { defineConfig } from 'vitest/config'

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
  },
})
