#!/usr/bin/env node
/**
 * The door of the command line: checks Node, then hands over to the built program. Everything else lives in src/cli, but for the
 * version: whoever installs or scripts asks for it before anything else, and it stands in the file that is read here anyway.
 */
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { requireNode } from './node-version.js'

const { version } = requireNode()

const program = new URL('../dist/symbi/symbi.js', import.meta.url)
const [asked, ...more] = process.argv.slice(2)
if (more.length === 0 && (asked === '--version' || asked === '-V')) {
  process.stdout.on('error', () => undefined) // a reader that goes away has its answer
  process.stdout.write(`${version}\n`)
} else if (existsSync(program)) {
  await import(program.href)
} else {
  const folder = fileURLToPath(new URL('..', import.meta.url))
  process.stderr.write(
    'Cannot start symbi: the program is not built yet\n' +
      `hint: Run "npm start" or "npm run build" in ${folder} first\n`,
  )
  process.exitCode = 70
}
