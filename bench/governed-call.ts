/**
 * The governed call: an iteration of the loop with one tool call, and a call of a tool session, each beside its floor program,
 * alone and 64 at a time, a journal file each. Creating and closing the files is left out on both sides; start and end of
 * run and session are shared among their calls.
 */
import { generateKeyPairSync } from 'node:crypto'
import { closeSync } from 'node:fs'
import { join } from 'node:path'
import { newId } from '../src/core/index.ts'
import type { EventLog } from '../src/events/index.ts'
import { createJournal, type Journal } from '../src/journal/index.ts'
import { type Bench, type Context, freshFolder, withRounds } from './bench.ts'
import { type Floor, floorOf, openFloorFile } from './floor.ts'
import { type Result, resultOf } from './result.ts'
import { compare, median, timed } from './rounds.ts'
import { record } from './script.ts'
import { type Workload, workload } from './workload.ts'

type Job = (work: Workload, log: EventLog, calls: number) => Promise<unknown>

export const governedCalls: readonly Bench[] = [
  {
    name: 'iteration',
    measure: (context) => measure(context, 'iteration', (work, log, calls) => work.run(log, calls)),
  },
  {
    name: 'broker call',
    measure: async (context) => [
      ...(await measure(context, 'broker call', (work, log, calls) => work.session(log, calls))),
      ...(await againstDirect(context)),
    ],
  },
]

const CALLS = 20
const AT_ONCE = 64
/** One run waits for the disk most of its time, and what the disk takes differs by half from one round to the next. */
const ROUNDS_ALONE = 25
/** Rounds of 64 runs, 20 calls each. A server runs for days; the engine goes on compiling for some ten thousand calls. */
const WARMING = 10

async function measure(context: Context, name: string, job: Job): Promise<readonly Result[]> {
  const calls = context.quick ? 2 : CALLS
  const { privateKey } = generateKeyPairSync('ed25519')
  const floor = floorOf(await record((work, log) => job(work, log, calls)), privateKey)
  const work = workload()
  const folder = freshFolder(context, 'calls')
  const parts = { name, job, calls, floor, work, folder }
  const many = context.quick ? 1 : AT_ONCE
  await warm(context, [() => ours(parts, many), () => bare(parts, many)])
  const alone = await oneAtATime(context, parts)
  return [...alone.results, ...(await manyAtOnce(context, parts, alone.rate))]
}

async function warm({ quick, say }: Context, sides: readonly (() => Promise<unknown>)[]): Promise<void> {
  say('  until the code is warm')
  for (let round = 0; round < (quick ? 1 : WARMING); round += 1) {
    for (const side of sides) await side()
  }
}

interface Parts {
  readonly name: string
  readonly job: Job
  readonly calls: number
  readonly floor: Floor
  readonly work: Workload
  readonly folder: string
}

type Cost = { wallMs: number; cpuMs: number }

/** Runs at once, each into a journal of its own; what is returned is the cost of one call. */
async function ours({ work, job, calls, folder }: Omit<Parts, 'name' | 'floor'>, runs: number): Promise<Cost> {
  const journals: Journal[] = []
  for (let run = 0; run < runs; run += 1) {
    journals.push(await createJournal(work.world, { directory: join(folder, 'governed'), principal: work.principal }))
  }
  const cost = await timed(() => Promise.all(journals.map((journal) => job(work, journal, calls))))
  for (const journal of journals) await journal.close()
  return each(cost, runs * calls)
}

async function bare({ work, floor, calls, folder }: Parts, runs: number): Promise<Cost> {
  const files = Array.from({ length: runs }, () =>
    openFloorFile(join(folder, `${newId('run', work.world.random)}.floor`)),
  )
  const cost = await timed(() => Promise.all(files.map((file) => floor.perform(file))))
  for (const file of files) closeSync(file)
  return each(cost, runs * calls)
}

function each({ wallMs, cpuMs }: Cost, calls: number): Cost {
  return { wallMs: wallMs / calls, cpuMs: cpuMs / calls }
}

async function oneAtATime(
  context: Context,
  parts: Parts,
): Promise<{ readonly results: readonly Result[]; readonly rate: number }> {
  const runs = context.quick ? 1 : 8
  const cpu = { ours: [] as number[], bare: [] as number[] }
  const averaged = async (sample: () => Promise<Cost>, kept: number[]): Promise<number> => {
    const costs: Cost[] = []
    for (let run = 0; run < runs; run += 1) costs.push(await sample())
    kept.push(median(costs.map(({ cpuMs }) => cpuMs)))
    return median(costs.map(({ wallMs }) => wallMs))
  }
  const wall = await compare(
    withRounds(context, ROUNDS_ALONE),
    () => averaged(() => ours(parts, 1), cpu.ours),
    () => averaged(() => bare(parts, 1), cpu.bare),
  )
  return {
    rate: 1000 / wall.value,
    results: [
      resultOf({
        name: `${parts.name}, 1 at a time`,
        ...wall,
        unit: 'ms',
        target: { of: 'ratio', bound: 'at most', limit: 1.2 },
      }),
      cpuResult(`${parts.name}, 1 at a time, processor`, cpu),
    ],
  }
}

async function manyAtOnce(context: Context, parts: Parts, rateAlone: number): Promise<readonly Result[]> {
  const runs = context.quick ? 4 : AT_ONCE
  const cpu = { ours: [] as number[], bare: [] as number[] }
  const rate = async (sample: Promise<Cost>, kept: number[]): Promise<number> => {
    const { wallMs, cpuMs } = await sample
    kept.push(cpuMs)
    return 1000 / wallMs
  }
  const rates = await compare(
    context,
    () => rate(ours(parts, runs), cpu.ours),
    () => rate(bare(parts, runs), cpu.bare),
  )
  return [
    resultOf({
      name: `${parts.name}, ${runs} at a time`,
      ...rates,
      unit: 'calls/s',
      target: { of: 'ratio', bound: 'at least', limit: 0.8 },
    }),
    resultOf({
      name: `${parts.name}, ${runs} at a time against 1`,
      value: rates.value,
      unit: 'calls/s',
      floor: rateAlone,
      ratio: rates.value / rateAlone,
      ...(parts.name === 'iteration' ? { target: { of: 'ratio', bound: 'at least', limit: 2.2 } as const } : {}),
    }),
    cpuResult(`${parts.name}, ${runs} at a time, processor`, cpu),
  ]
}

/** What governance adds to a tool that does nothing: the price of decision, evidence and durability by themselves. */
async function againstDirect(context: Context): Promise<readonly Result[]> {
  const work = workload()
  const folder = freshFolder(context, 'direct')
  const calls = context.quick ? 2 : CALLS
  const many = context.quick ? 4 : AT_ONCE
  const job: Job = (_, log, count) => work.session(log, count)
  const parts = { job, calls, work, folder }
  const direct = async (sessions: number): Promise<number> => {
    const spent = await timed(() => Promise.all(Array.from({ length: sessions }, () => work.direct(calls))))
    return spent.wallMs / sessions / calls
  }
  const governed = async (sessions: number): Promise<number> => (await ours(parts, sessions)).wallMs
  await warm(context, [() => governed(many)])
  const row = async (sessions: number): Promise<readonly Result[]> => {
    const { value, floor } = await compare(
      context,
      () => governed(sessions),
      () => direct(sessions),
    )
    const where = sessions === 1 ? 'one session' : `${sessions} sessions`
    return [
      resultOf({ name: `calls through ${where}`, value: 1000 / value, unit: 'calls/s' }),
      resultOf({ name: `over a direct call, ${where}`, value: value - floor, unit: 'ms', floor }),
    ]
  }
  return [...(await row(1)), ...(await row(many))]
}

/** Reported beside the wall: processor time hardly feels a busy neighbour, so it shows a change that the wall hides. */
function cpuResult(name: string, cpu: { readonly ours: number[]; readonly bare: number[] }): Result {
  const value = median(cpu.ours)
  const floor = median(cpu.bare)
  return resultOf({ name, value: value * 1000, unit: 'us of cpu', floor: floor * 1000, ratio: value / floor })
}
