#!/usr/bin/env node
/** The door of the command line: checks Node, then hands over to the built program. Everything else lives in src/cli. */
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { requireNode } from './node-version.js'

requireNode()

const program = new URL('../dist/cli/main.js', import.meta.url)
if (existsSync(program)) {
  await import(program.href)
} else {
  const folder = fileURLToPath(new URL('..', import.meta.url))
  process.stderr.write(
    'Cannot start symbi: the program is not built yet\n' +
      `hint: Run "npm start" or "npm run build" in ${folder} first\n`,
  )
  process.exitCode = 70
}
