/**
 * Kills real processes and judges what they leave: bundles the campaign of `test/crashes` with the processes that it starts,
 * so that each of them is loaded in a moment, and runs it.
 *
 *   npm run crashes                                  1,000 kills, every moment of every write among them, and 200 failing disks
 *   npm run crashes -- [--kills N] [--faults N]      fewer of them; not 0 of both
 *     [--scenario NAME]… [--seed N]                  some scenarios; the moments in the order of a seed
 *     [--minutes N] [--abreast N] [--json]           no life begins after 20 minutes, three live side by side
 *
 * The exit code is 1 when a law was broken and when not all was done that was asked, 64 when the arguments are not understood.
 */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { requireNode } from '../bin/node-version.js'
import { SCENARIOS } from '../test/crashes/scenario-names.mjs'
import { bundle } from './bundle.mjs'
import { flagsIn, MISUSED, ROOT, Stop, whenProgram, wholeNumber } from './steps.mjs'

await whenProgram(import.meta, async () => {
  requireNode()
  const options = optionsIn(process.argv.slice(2))
  const folder = join(ROOT, '.cache', 'children', `crashes-${process.pid}`)
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  // or what was made for the campaign would be left behind
  process.once('SIGINT', () => process.exit(130)).once('SIGTERM', () => process.exit(143))
  const placeOf = (/** @type {string} */ name) => join(folder, `${name}.mjs`)
  await bundle(
    ['main', 'child', 'witness'].map((name) => join(ROOT, 'test', 'crashes', `${name}.ts`)),
    folder,
  )
  /** @type {typeof import('../test/crashes/main.ts')} */
  const { main } = await import(pathToFileURL(placeOf('main')).href)
  process.exitCode = await main(
    options,
    { child: placeOf('child'), witness: placeOf('witness') },
    {
      result: (line) => void process.stdout.write(`${line}\n`),
      note: (line) => void process.stderr.write(`${line}\n`),
    },
  )
})

/**
 * What is asked, or a Stop that says what is wrong with it.
 *
 * @param {readonly string[]} argv
 * @returns {import('../test/crashes/main.ts').Options}
 */
export function optionsIn(argv) {
  const text = /** @type {const} */ ({ type: 'string' })
  const values = flagsIn(
    {
      kills: text,
      faults: text,
      scenario: { type: 'string', multiple: true },
      seed: text,
      minutes: text,
      abreast: text,
      json: { type: 'boolean' },
    },
    argv,
  )
  const scenarios = (values.scenario ?? SCENARIOS).map((name) => {
    const known = SCENARIOS.find((scenario) => scenario === name)
    if (known !== undefined) return known
    throw new Stop(`Cannot kill ${JSON.stringify(name)}: there is no such scenario`, {
      hint: `The scenarios are ${SCENARIOS.map((scenario) => `"${scenario}"`).join(', ')}`,
      exit: MISUSED,
    })
  })
  const kills = wholeNumber('kills', values.kills, null)
  const faults = wholeNumber('faults', values.faults, 200)
  if (kills === 0 && faults === 0) {
    throw new Stop('Cannot look for broken laws: with --kills 0 and --faults 0 nothing happens', {
      hint: 'One of the two is 1 or more',
      exit: MISUSED,
    })
  }
  return {
    seed: wholeNumber('seed', values.seed, Date.now() % 1_000_000),
    json: values.json ?? false,
    wanted: {
      kills: kills ?? 1000,
      everyMoment: kills === null,
      faults,
      minutes: wholeNumber('minutes', values.minutes, 20),
      abreast: wholeNumber('abreast', values.abreast, 3, 1),
      scenarios: [...new Set(scenarios)],
    },
  }
}
