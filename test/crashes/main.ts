/**
 * `npm run crashes -- [--kills N] [--faults N] [--scenario NAME]… [--seed N] [--minutes N] [--abreast N] [--json]`: kills real
 * processes and says what came of it, one row for each scenario and moment. Progress goes to stderr, with a sentence for each
 * law that was broken. The exit code is 1 when there was one, 64 when the arguments are not understood.
 */
import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { effectCounter } from '../support/effect-counter.ts'
import { type Campaign, campaign, type Result } from './campaign.ts'
import { SCENARIOS, type Scenario } from './scenarios.ts'
import { diceOf } from './seed.ts'
import { asTable, tally } from './tally.ts'

export interface Output {
  readonly result: (line: string) => void
  readonly note: (line: string) => void
}

/** The bundled scripts of the processes that are killed, and of the one that counts. */
export interface Scripts {
  readonly child: string
  readonly witness: string
}

export async function main(argv: readonly string[], scripts: Scripts, output: Output): Promise<number> {
  const options = optionsIn(argv)
  if (typeof options === 'string') {
    output.note(options)
    output.note(
      `hint: The scenarios are ${SCENARIOS.map((name) => `"${name}"`).join(', ')}; every number is a whole one`,
    )
    return 64
  }
  const { seed, json, wanted } = options
  output.note(`seed ${seed}`)
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'symbi-crashes-')))
  const remove = (): void => rmSync(base, { recursive: true, force: true })
  process.once('exit', remove) // also when it is interrupted
  const dice = diceOf(seed)
  const rows = tally()
  try {
    await using witness = await effectCounter(scripts.witness, [base])
    const lab = { base, witness, script: scripts.child, uuid: dice.uuid }
    const result = await campaign(lab, dice, wanted, { note: output.note, tally: rows })
    const counted = await witness.end()
    const agrees = counted === rows.total().effects
    if (!agrees) output.note(`BROKEN: the witness counted ${counted} effects, and ${rows.total().effects} were judged`)
    if (json) for (const row of [...rows.rows(), rows.total()]) output.result(JSON.stringify(row))
    else for (const line of asTable([...rows.rows(), rows.total()])) output.result(line)
    for (const reason of result.skipped) output.note(`skipped, ${reason}`)
    const broken = result.broken || !agrees
    output[json ? 'note' : 'result'](verdictLine(broken, result, seed))
    return broken ? 1 : 0
  } finally {
    process.off('exit', remove)
    remove()
  }
}

function verdictLine(broken: boolean, result: Result, seed: number): string {
  const { kills, faults, unvisited, missed, byHand, unbegun, timeUp, foundFull, systemFailed, systemMissed } = result
  const left = unvisited === 0 ? 'every moment of every write visited' : `${unvisited} moments of writes not visited`
  return [
    `verdict: ${broken ? 'BROKEN' : 'no law was broken'}`,
    `${kills} kills`,
    `${faults} failing disks`,
    `${foundFull} different writes found a full one`,
    `the system answered EIO to ${systemFailed} and came too late for ${systemMissed}`,
    left,
    `${missed} came to their end before their moment`,
    `${byHand} starts needed a person`,
    `nothing had begun behind ${unbegun} of the unresolved ids`,
    ...(timeUp ? ['the time was up'] : []),
    `seed ${seed}`,
  ].join(', ')
}

interface Options {
  readonly seed: number
  readonly json: boolean
  readonly wanted: Campaign
}

function optionsIn(argv: readonly string[]): Options | string {
  const text = { type: 'string' } as const
  try {
    const { values } = parseArgs({
      args: [...argv],
      options: {
        kills: text,
        faults: text,
        seed: text,
        minutes: text,
        abreast: text,
        scenario: { type: 'string', multiple: true },
        json: { type: 'boolean' },
      },
    })
    const whole = (name: 'kills' | 'faults' | 'seed' | 'minutes' | 'abreast', otherwise: number): number => {
      const given = values[name]
      if (given === undefined) return otherwise
      if (/^\d{1,9}$/.test(given)) return Number(given)
      throw new Error(`Cannot use --${name} ${JSON.stringify(given)}: it is no whole number`)
    }
    const scenarios = values.scenario ?? SCENARIOS
    const stranger = scenarios.find((name) => !(SCENARIOS as readonly string[]).includes(name))
    if (stranger !== undefined) return `Cannot kill ${JSON.stringify(stranger)}: there is no such scenario`
    return {
      seed: whole('seed', Date.now() % 1_000_000),
      json: values.json ?? false,
      wanted: {
        kills: whole('kills', 1000),
        faults: whole('faults', 200),
        minutes: whole('minutes', 20),
        abreast: Math.max(1, whole('abreast', 3)),
        scenarios: scenarios as readonly Scenario[],
      },
    }
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}
