/** Writes docs/errors.md from the one table of codes; with `--check` only says whether it is as it should be. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { requireNode } from '../bin/node-version.js'
import { buildWhenStale } from './build.mjs'
import { ROOT, Stop, whenProgram } from './steps.mjs'

/** @typedef {{ readonly http: number, readonly exit: number, readonly says: string }} CodeRow */

const HEAD = `# Codes

Every failure has a code. A door shows the code and the public sentence below; the command line shows the message of the
moment, a hint that says what to do next, and leaves with the exit code. A denial by policy is no failure: it is an ordinary
observation, and has no row here.

This page is generated from \`src/core/codes.ts\` by \`npm run docs\`. Do not edit it.

| code | HTTP | exit | what it says |
| --- | --- | --- | --- |
`

/**
 * The page, with one row a code in the order of the alphabet.
 *
 * @param {Readonly<Record<string, CodeRow>>} codes
 */
export function errorsPage(codes) {
  const rows = Object.entries(codes).sort(([left], [right]) => (left < right ? -1 : 1))
  return HEAD + rows.map(([code, { http, exit, says }]) => `| \`${code}\` | ${http} | ${exit} | ${says} |\n`).join('')
}

await whenProgram(import.meta, async () => {
  requireNode()
  buildWhenStale(ROOT, { stdout: 2 })
  const { CODES } = await import(pathToFileURL(join(ROOT, 'dist', 'core', 'index.js')).href)
  const path = join(ROOT, 'docs', 'errors.md')
  const page = errorsPage(CODES)
  if (!process.argv.includes('--check')) return writeFileSync(path, page)
  if (readFileSync(path, 'utf8') !== page) {
    throw new Stop('Cannot accept docs/errors.md: it differs from the table of codes', { hint: 'Run "npm run docs"' })
  }
})
