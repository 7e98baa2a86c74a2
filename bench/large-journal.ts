/**
 * A large journal: appending to one of 60 MiB against an empty one; and verifying one, on one thread against the bare rate of
 * checking signatures, and on two against one.
 */
import { createPublicKey, generateKeyPairSync, type KeyObject, sign, verify as verifySignature } from 'node:crypto'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { newId } from '../src/core/index.ts'
import type { NewEntry } from '../src/events/index.ts'
import { createJournal, type Journal, parsePublicKey, verify } from '../src/journal/index.ts'
import { nodeWorld } from '../src/world/index.ts'
import { type Bench, type Context, freshFolder, withRounds } from './bench.ts'
import { longestBlock } from './longest-block.ts'
import { type Result, resultOf } from './result.ts'
import { compare, median, timed } from './rounds.ts'
import { record } from './script.ts'

export const largeJournals: readonly Bench[] = [
  { name: 'append', measure: measureAppend },
  { name: 'verify', measure: measureVerify },
]

const MIB = 1024 * 1024
/** A round is over in a moment, and the disk is at its slowest or fastest in some of them. */
const ROUNDS_OF_APPENDS = 51
/** Whoever shares the processors takes one of two threads away in some of the rounds. */
const ROUNDS_OF_VERIFYING = 11
const world = nodeWorld()

async function measureAppend(context: Context): Promise<readonly Result[]> {
  const folder = join(freshFolder(context, 'append'), 'governed')
  const principal = newId('agent', world.random)
  await using large = await createJournal(world, { directory: folder, principal })
  await using empty = await createJournal(world, { directory: folder, principal })
  const sizeMib = context.quick ? 1 : 60
  const filling = fillerOf(principal, 500 * 1024)
  while (statSync(large.audit.path).size < sizeMib * MIB) await large.append([filling])
  const entry = fillerOf(principal, 300)
  const appends = context.quick ? 5 : 100
  const perAppend = (journal: Journal) => async (): Promise<number> => {
    const spent: number[] = []
    for (let append = 0; append < appends; append += 1) spent.push((await timed(() => journal.append([entry]))).wallMs)
    return median(spent)
  }
  const compared = await compare(withRounds(context, ROUNDS_OF_APPENDS), perAppend(large), perAppend(empty))
  return [
    resultOf({
      name: `append to a journal of ${sizeMib} MiB`,
      ...compared,
      unit: 'ms',
      target: { of: 'ratio', bound: 'at most', limit: 1.1 },
    }),
  ]
}

function fillerOf(principal: Journal['principal'], bytes: number): NewEntry {
  return {
    timestamp: world.clock.wall(),
    agent_id: principal,
    iteration: 1,
    event: { kind: 'ImprovementOutput', output: 'x'.repeat(bytes) },
  }
}

async function measureVerify(context: Context): Promise<readonly Result[]> {
  const folder = join(freshFolder(context, 'verify'), 'governed')
  const runs = context.quick ? 1 : 40
  const { journal, count } = await longJournal(folder, runs)
  const { path, public_key } = journal.audit
  const key = parsePublicKey(public_key)
  const sizeMib = statSync(path).size / MIB
  const bare = bareCheck(Math.round(statSync(path).size / count), Math.min(count, 4000))
  const rate = (threads: number) => async (): Promise<number> => {
    const { wallMs } = await timed(() => verify(world, path, key, { threads }))
    return (count * 1000) / wallMs
  }
  const steady = withRounds(context, ROUNDS_OF_VERIFYING)
  const one = await compare(steady, rate(1), bare)
  const two = await compare(steady, rate(2), rate(1))
  const blocks: Awaited<ReturnType<typeof longestBlock>>[] = []
  for (let round = 0; round < context.rounds; round += 1) {
    blocks.push(await longestBlock(() => verify(world, path, key)))
  }
  return [
    resultOf({
      name: 'verify, one thread',
      ...one,
      unit: 'records/s',
      target: { of: 'ratio', bound: 'at least', limit: 0.85 },
    }),
    resultOf({ name: 'verify, one thread, by size', value: (one.value / count) * sizeMib, unit: 'MiB/s' }),
    resultOf({
      name: 'verify, two threads against one',
      ...two,
      unit: 'records/s',
      target: { of: 'ratio', bound: 'at least', limit: 1.7 },
    }),
    resultOf({
      name: 'event loop, longest block while verifying',
      value: median(blocks.map(({ blockMs }) => blockMs)),
      floor: median(blocks.map(({ waitingMs }) => waitingMs)),
      unit: 'ms',
      target: { of: 'value', bound: 'at most', limit: 20 },
    }),
  ]
}

/** Not one run but the records of many: what is verified does not have to make sense, only to be signed and chained. */
async function longJournal(folder: string, runs: number): Promise<{ journal: Journal; count: number }> {
  const script = await record((work, log) => work.run(log, 20))
  const entries = script.steps.flatMap((step) => step.entries)
  const principal = entries[0]?.agent_id ?? newId('agent', world.random)
  const journal = await createJournal(world, { directory: folder, principal })
  for (let run = 0; run < runs; run += 1) await journal.append(entries)
  await journal.close()
  return { journal, count: entries.length * runs }
}

function bareCheck(bytes: number, count: number): () => number {
  const { privateKey } = generateKeyPairSync('ed25519')
  const publicKey: KeyObject = createPublicKey(privateKey)
  const message = Buffer.alloc(bytes, 'm')
  const signature = sign(null, message, privateKey)
  return () => {
    const start = performance.now()
    for (let check = 0; check < count; check += 1) verifySignature(null, message, publicKey, signature)
    return (count * 1000) / (performance.now() - start)
  }
}
