/**
 * `npm run bench -- [--json] [--quick] [--only NAME]…`: measures on the disk that holds the clone, and prints one result a
 * line. Progress and explanations go to stderr. A missed target is a finding, not a failure: the exit code stays 0. A quick
 * look is not judged.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { BENCHES } from './all.ts'
import type { Context } from './bench.ts'
import { asJson, asText, heading, unjudged } from './result.ts'

export interface Output {
  readonly result: (line: string) => void
  readonly note: (line: string) => void
}

/** Resolves with the exit code: 64 when the arguments are not understood. */
export async function main(argv: readonly string[], output: Output): Promise<number> {
  const asked = options(argv)
  if (typeof asked === 'string') {
    output.note(asked)
    output.note('hint: The flags are --json, --quick, --only NAME')
    return 64
  }
  const { json, quick, only } = asked
  const chosen = BENCHES.filter(({ name }) => only.length === 0 || only.includes(name))
  const strangers = only.filter((name) => !BENCHES.some((bench) => bench.name === name))
  if (strangers.length > 0) {
    output.note(`Cannot measure ${strangers.map((name) => `"${name}"`).join(', ')}: no such measurement`)
    output.note(`hint: Choose of ${BENCHES.map(({ name }) => `"${name}"`).join(', ')}`)
    return 64
  }
  const base = join(process.cwd(), '.cache')
  mkdirSync(base, { recursive: true })
  const place = mkdtempSync(join(base, 'bench-place-')) // not the system's folder for temporary files: it may be memory
  const remove = (): void => rmSync(place, { recursive: true, force: true })
  process.once('exit', remove) // also when it is interrupted
  const context: Context = { rounds: quick ? 1 : 5, quick, place, say: output.note }
  try {
    if (!json) output.result(heading())
    for (const { name, measure } of chosen) {
      output.note(`measuring: ${name}`)
      for (const measured of await measure(context)) {
        const result = quick ? unjudged(measured) : measured
        output.result(json ? asJson(result) : asText(result))
      }
    }
    if (quick) output.note('a quick look: one small round of each, and nothing is judged')
    return 0
  } finally {
    process.off('exit', remove)
    remove()
  }
}

function options(argv: readonly string[]): { json: boolean; quick: boolean; only: readonly string[] } | string {
  try {
    const { values } = parseArgs({
      args: [...argv],
      options: { json: { type: 'boolean' }, quick: { type: 'boolean' }, only: { type: 'string', multiple: true } },
    })
    return { json: values.json ?? false, quick: values.quick ?? false, only: values.only ?? [] }
  } catch (error) {
    return `Cannot read the command line: ${error instanceof Error ? error.message : String(error)}`
  }
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  // or what was written to be measured would be left behind
  process.once('SIGINT', () => process.exit(130)).once('SIGTERM', () => process.exit(143))
  process.exitCode = await main(process.argv.slice(2), {
    result: (line) => void process.stdout.write(`${line}\n`),
    note: (line) => void process.stderr.write(`${line}\n`),
  })
}
