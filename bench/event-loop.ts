/** The event loop while 64 runs write and sign: how long nothing else gets its turn. */
import { join } from 'node:path'
import { setImmediate as immediate } from 'node:timers/promises'
import { createJournal, type Journal } from '../src/journal/index.ts'
import { type Bench, type Context, freshFolder } from './bench.ts'
import { longestBlock } from './longest-block.ts'
import { type Result, resultOf } from './result.ts'
import { median } from './rounds.ts'
import { workload } from './workload.ts'

export const eventLoop: Bench = { name: 'event loop', measure }

async function measure(context: Context): Promise<readonly Result[]> {
  const directory = join(freshFolder(context, 'loop'), 'governed')
  const work = workload()
  const runs = context.quick ? 4 : 64
  const blocks: number[] = []
  const waits: number[] = []
  for (let round = -1; round < context.rounds; round += 1) {
    const journals = await Promise.all(
      Array.from({ length: runs }, () => createJournal(work.world, { directory, principal: work.principal })),
    )
    const { blockMs, waitingMs } = await longestBlock(() => startInTurn(journals, (journal) => work.run(journal, 20)))
    await Promise.all(journals.map((journal) => journal.close()))
    if (round < 0) continue
    blocks.push(blockMs)
    waits.push(waitingMs)
  }
  return [
    resultOf({
      name: `event loop, longest block while ${runs} runs sign`,
      value: median(blocks),
      floor: median(waits),
      unit: 'ms',
      target: { of: 'value', bound: 'at most', limit: 20 },
    }),
  ]
}

/** Runs come one after the other, as messages do: started in one breath, their first records would be one long block. */
async function startInTurn(journals: readonly Journal[], run: (journal: Journal) => Promise<unknown>): Promise<void> {
  const running: Promise<unknown>[] = []
  for (const journal of journals) {
    running.push(run(journal))
    await immediate()
  }
  await Promise.all(running)
}
