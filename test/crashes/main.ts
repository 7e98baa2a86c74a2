/**
 * `npm run crashes`: kills real processes and says what came of it, one row for each scenario and moment. Progress goes to stderr,
 * with a sentence for each law that was broken. The exit code is 1 when there was one, and when not all was done that was
 * asked. The flags are those of `scripts/crashes.mjs`, which reads them before it bundles this.
 */
import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { effectCounter } from '../support/effect-counter.ts'
import { type Campaign, campaign } from './campaign.ts'
import { diceOf } from './seed.ts'
import { asTable, tally } from './tally.ts'
import { verdictOf } from './verdict.ts'

export interface Output {
  readonly result: (line: string) => void
  readonly note: (line: string) => void
}

/** The bundled scripts of the processes that are killed, and of the one that counts. */
export interface Scripts {
  readonly child: string
  readonly witness: string
}

export interface Options {
  readonly seed: number
  readonly json: boolean
  readonly wanted: Campaign
}

export async function main({ seed, json, wanted }: Options, scripts: Scripts, output: Output): Promise<number> {
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
    const verdict = verdictOf(wanted, { ...result, broken: result.broken || !agrees })
    output[json ? 'note' : 'result'](`verdict: ${verdict.line}, seed ${seed}`)
    return verdict.code
  } finally {
    process.off('exit', remove)
    remove()
  }
}
