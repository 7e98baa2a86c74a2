/**
 * The command line as a few files, for `scripts/build.mjs`, which puts them into `dist/symbi`: a process that starts reads
 * 14 to 41 of them where it read some four hundred modules. Each command is a file of its own, and what several share lies in
 * others.
 *
 * Tests have `vitest.config.ts`, and the processes that they start are bundled by `scripts/bundle.mjs`; neither reads this.
 */
import type { UserConfig } from 'vite'

// biome-ignore lint/style/noDefaultExport: vite takes its settings so
export default {
  publicDir: false,
  envDir: false, // a file `.env` is somebody's, and no setting of a build
  logLevel: 'warn',
  ssr: { external: true }, // packages stay where they are installed: a repaired one needs no release of ours
  build: {
    ssr: true,
    target: 'node20',
    minify: false, // a stack trace is for people
    emptyOutDir: true,
    sourcemap: true,
    reportCompressedSize: false,
    rolldownOptions: {
      input: { symbi: 'src/cli/main.ts' },
      // a file of another build has another name: no two builds are ever mixed in one process
      output: { entryFileNames: '[name].js', chunkFileNames: '[name]-[hash].js', sourcemapExcludeSources: true },
    },
  },
} satisfies UserConfig
