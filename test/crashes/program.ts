/** Runs the campaign as a program, with the scripts that were bundled beside it. */
import { fileURLToPath } from 'node:url'
import { main } from './main.ts'

const beside = (name: string): string => fileURLToPath(new URL(name, import.meta.url))

process.exitCode = await main(
  process.argv.slice(2),
  { child: beside('child.mjs'), witness: beside('witness.mjs') },
  {
    result: (line) => void process.stdout.write(`${line}\n`),
    note: (line) => void process.stderr.write(`${line}\n`),
  },
)
