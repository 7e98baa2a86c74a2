/** Syncs, counted: no clock, so no noise. The difference of a long and a short run is what one iteration costs. */
import { join } from 'node:path'
import { assert } from '../src/core/index.ts'
import { createJournal } from '../src/journal/index.ts'
import { nodeWorld } from '../src/world/index.ts'
import { type Bench, type Context, freshFolder } from './bench.ts'
import { countingWorld } from './counting-world.ts'
import { type Result, resultOf } from './result.ts'
import { workload } from './workload.ts'

export const syncs: Bench = { name: 'syncs', measure }

type Kind = 'run' | 'session'
const SHORT = 2
const LONG = 12

async function measure(context: Context): Promise<readonly Result[]> {
  const folder = freshFolder(context, 'syncs')
  const perCall = async (kind: Kind, runs: number): Promise<number> => {
    const difference = (await syncsOf(folder, kind, runs, LONG)) - (await syncsOf(folder, kind, runs, SHORT))
    return difference / (LONG - SHORT) / runs
  }
  const many = context.quick ? 4 : 64
  const row = async (name: string, kind: Kind, runs: number): Promise<Result> => {
    const value = await perCall(kind, runs)
    assert(value >= 2, 'a call has a sync before its effect and one behind it: with fewer, something is not durable')
    return resultOf({
      name,
      value,
      unit: 'syncs',
      floor: 2,
      ratio: value / 2,
      target: { of: 'value', bound: 'at most', limit: 2 },
    })
  }
  return [
    await row('syncs of an iteration', 'run', 1),
    await row('syncs of a broker call', 'session', 1),
    await row(`syncs of an iteration, ${many} at a time`, 'run', many),
    await row(`syncs of a broker call, ${many} at a time`, 'session', many),
  ]
}

async function syncsOf(folder: string, kind: Kind, runs: number, calls: number): Promise<number> {
  const world = countingWorld(nodeWorld())
  const work = workload({ world })
  const journals = await Promise.all(
    Array.from({ length: runs }, () =>
      createJournal(world, { directory: join(folder, 'governed'), principal: work.principal }),
    ),
  )
  const before = world.syncs()
  await Promise.all(journals.map((journal) => work[kind](journal, calls)))
  const counted = world.syncs() - before
  await Promise.all(journals.map((journal) => journal.close()))
  return counted
}
