/**
 * Bundles programs out of TypeScript, in files that they share, for processes that live for a moment. The command line has
 * `vite.config.ts`.
 */
import { basename } from 'node:path'
import { build } from 'vite'
import { ROOT } from './steps.mjs'

/**
 * Writes `NAME.mjs` for each script. The folder lies below this clone, where its packages are found.
 *
 * @param {readonly string[]} scripts paths of TypeScript files
 * @param {string} outDir
 */
export async function bundle(scripts, outDir) {
  await build({
    root: ROOT,
    configFile: false,
    logLevel: 'silent',
    build: {
      ssr: true,
      outDir,
      target: 'node20',
      minify: false,
      rolldownOptions: {
        input: Object.fromEntries(scripts.map((script) => [basename(script, '.ts'), script])),
        output: { entryFileNames: '[name].mjs', chunkFileNames: '[name]-[hash].mjs' },
      },
    },
  })
}
