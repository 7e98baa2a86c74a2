/**
 * The command line as a few files, `dist/symbi`, for `bin/symbi.js`: a process that starts reads a dozen of them where it read four
 * hundred modules. Each command is a file of its own, and what several share lies in others. Packages stay where they are installed,
 * so that a repaired dependency needs no release of ours. (`scripts/build.mjs` runs this behind the compiler.)
 */
import type { UserConfig } from 'vite'

export default {
  publicDir: false,
  envDir: false, // a file `.env` is somebody's, and no setting of a build
  logLevel: 'warn',
  ssr: { external: true },
  build: {
    ssr: true,
    target: 'node20',
    minify: false, // a stack trace is for people
    outDir: 'dist/symbi',
    emptyOutDir: true,
    sourcemap: true,
    reportCompressedSize: false,
    rolldownOptions: {
      input: { symbi: 'src/cli/main.ts' },
      output: { entryFileNames: '[name].js', chunkFileNames: '[name]-[hash].js', sourcemapExcludeSources: true },
    },
  },
} satisfies UserConfig
