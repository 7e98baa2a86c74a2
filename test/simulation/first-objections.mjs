/**
 * Lives in one built program after the other, as each line of standard input says, and prints for each what was objected to first.
 * To start a process and to load the packages takes longer than most of these lives.
 */
import { createInterface } from 'node:readline'
import { livesOf } from '../../scripts/sim.mjs'

for await (const line of createInterface({ input: process.stdin })) {
  const { dist, from, seeds } = JSON.parse(line)
  const { broken } = await livesOf(dist, from, seeds, true)
  process.stdout.write(`${JSON.stringify(broken[0] ?? null)}\n`)
}
