/**
 * A parent and a child that are ended without a word at every write of a delegated turn: to the claim, to the journal of
 * either, before, in the middle of, and right after the bytes. Effects are counted by this process, which outlives all of
 * them and keeps what the journals held at that moment. Everything afterwards is judged with the public key alone.
 */
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { RunId } from '../../src/core/index.ts'
import { runsOf, treeHolds, verifyTree } from '../../src/journal/index.ts'
import { openSigningKey } from '../../src/journal/signing-key-file.ts'
import type { PublicKey } from '../../src/keys/index.ts'
import { openRuntime, type Provider } from '../../src/runtime/index.ts'
import { ensurePrivateDirectory } from '../../src/store/index.ts'
import { nodeWorld } from '../../src/world/index.ts'
import { bundled, type Child, startChild } from '../support/child-script.ts'
import { CONTENT, countedApi, delegatingModel, delegatingProject, HEALTHY } from '../support/delegated-turn.ts'
import {
  endOf,
  eventsOf,
  type FoundRun,
  journalsIn,
  neverContradict,
  type Pair,
  pairOf,
} from '../support/delegation-evidence.ts'
import type { KillPoint, Moment } from '../support/killing-world.ts'
import { scratch } from '../support/scratch.ts'
import type { Errand } from './children/delegated-turn.ts'

const world = nodeWorld()
const evidence = scratch()
const MOMENTS: [string, Moment][] = [
  ['before', 'before'],
  ['in the middle of', 'torn'],
  ['right after', 'after'],
]
/** Loaded processes that wait for their turn: most of a turn would be spent on loading. */
const LOADED = 3

let script: string
let counter: Server
/** What the journals held at the moment of each effect, copied by this process, by invocation. */
const effects = new Map<string, string[]>()
const governedOf = new Map<string, string>()
const loaded: Child[] = []

const url = (): string => `http://127.0.0.1:${(counter.address() as AddressInfo).port}/`
const effectsFor = (invocation: string): readonly string[] => effects.get(invocation) ?? []

beforeAll(async () => {
  counter = createServer(async (request, response) => {
    const pieces: Buffer[] = []
    for await (const piece of request) pieces.push(piece as Buffer)
    const invocation = String(Buffer.concat(pieces))
    const copy = evidence.folder()
    for (const [name, bytes] of filesIn(governedOf.get(invocation) ?? '')) writeFileSync(join(copy, name), bytes)
    effects.set(invocation, [...effectsFor(invocation), copy])
    response.end(HEALTHY)
  })
  counter.listen(0, '127.0.0.1')
  await once(counter, 'listening')
  script = await bundled('test/e2e/children/delegated-turn.ts')
  for (const mode of ['answer', 'cancel'] as const) counted[mode] = await count(mode)
}, 120_000)

afterAll(async () => {
  for (const child of loaded) await child.kill()
  counter.closeAllConnections()
  counter.close()
})

interface Counted {
  readonly outcome: string
  /** Whose file each write went to. */
  readonly owners: readonly ('claim' | 'parent' | 'child')[]
  /** The writes before the cancellation. */
  readonly before: number
  readonly reviewer: string
}
const counted = {} as Record<'answer' | 'cancel', Counted>

/** The same turn, left alone: it tells how many writes there are to visit. */
async function count(mode: 'answer' | 'cancel'): Promise<Counted> {
  await using place = await openPlace()
  const child = sent(place, { point: null, mode })
  const exit = once(child.process, 'exit')
  const { outcome, writes, before } = JSON.parse(await child.line())
  await exit
  const runs = await journalsIn(place.governed, place.key)
  const delegated = runs.flatMap((run) => eventsOf(run, 'DelegationStarted'))[0]
  const reviewer = delegated?.child_agent_id ?? ''
  const owners = (writes as string[]).map((name) => {
    const owner = runs.find(({ agentId, runId }) => name === `${agentId}.${runId}.jsonl`)
    return owner === undefined ? 'claim' : owner.agentId === reviewer ? 'child' : 'parent'
  })
  return { outcome, owners, before, reviewer }
}

interface Place extends AsyncDisposable {
  readonly project: string
  readonly governed: string
  readonly invocation: string
  readonly key: PublicKey
}

async function openPlace(): Promise<Place> {
  const project = delegatingProject()
  const invocation = randomUUID()
  const governed = join(project.path, '.symbiont', 'governed')
  await ensurePrivateDirectory(world, join(project.path, '.symbiont'), 'state folder')
  const { publicKey: key } = await openSigningKey(world, governed)
  governedOf.set(invocation, governed)
  const dispose = async (): Promise<void> => project[Symbol.dispose]()
  return { project: project.path, governed, invocation, key, [Symbol.asyncDispose]: dispose }
}

function sent({ project, invocation }: Place, { point, mode }: Pick<Errand, 'point' | 'mode'>): Child {
  const child = loaded.shift() ?? startChild(script, [])
  child.say(JSON.stringify({ project, invocation, url: url(), point, mode } satisfies Errand))
  return child
}

test('a delegated turn writes to its claim, to its journal and to that of the run it began', () => {
  const { outcome, owners, reviewer } = counted.answer
  expect(outcome).toContain(HEALTHY)
  expect(owners.filter((owner) => owner === 'claim')).toHaveLength(3)
  expect(owners.filter((owner) => owner === 'parent').length).toBeGreaterThanOrEqual(5)
  expect(owners.filter((owner) => owner === 'child').length).toBeGreaterThanOrEqual(4)
  expect(owners.at(-1)).toBe('claim')
  expect(reviewer).not.toBe('')
})

test.each(MOMENTS)(
  'killed %s any write of a delegated turn, parent and child leave evidence that agrees',
  { timeout: 300_000 },
  async (_, moment) => {
    const writes = counted.answer.owners.map((_, index) => ({ nth: index + 1, moment }))
    // right after one write is before the next one, on every disk: only before the first nothing else stands for
    const points = moment === 'before' ? writes.slice(0, 1) : writes
    await eachAtOnce(points, async (point) => {
      await using place = await openPlace()
      await killedAt(place, point, 'answer')
      const pair = await judged(place)
      const isWhole = point.nth === writes.length && moment === 'after'
      expect(pair.child !== null && endOf(pair.child) === 'Completed').toBe(isWhole || endedBefore(point))
      await neverAgain(place, isWhole)
    })
  },
)

/** The child's end is its last write. */
function endedBefore({ nth, moment }: KillPoint): boolean {
  const last = counted.answer.owners.lastIndexOf('child') + 1
  return nth > last || (nth === last && moment === 'after')
}

test.each(MOMENTS)(
  'killed %s any write behind a cancellation, a turn stays unresolved and had no effect',
  { timeout: 300_000 },
  async (_, moment) => {
    const { owners, before, outcome } = counted.cancel
    expect(outcome).toBe('INVOCATION_UNRESOLVED')
    expect(owners.slice(before)).toEqual(['child', 'parent']) // first the end of the child, then that of its parent
    const points = [1, 2].map((behind) => ({ nth: before + behind, moment }))
    await eachAtOnce(points, async (point) => {
      await using place = await openPlace()
      await killedAt(place, point, 'cancel')
      const { parent, child } = await judged(place)
      expect(effectsFor(place.invocation)).toEqual([])
      const ends = [child, parent].map((run) => run !== null && endOf(run) !== null)
      expect(ends.filter(Boolean)).toHaveLength(point.nth - before - (moment === 'after' ? 0 : 1))
      await neverAgain(place, false)
    })
  },
)

test('killed while the child waits for its model, both runs are open and the turn stays unresolved', async () => {
  await using place = await openPlace()
  const process = sent(place, { point: null, mode: 'stall' })
  expect(await process.line()).toBe('waiting')
  await process.kill()
  const { parent, child } = await judged(place)
  expect(parent?.entries.at(-1)?.event.kind).toBe('BudgetReservationStarted') // of the child's inference
  expect(child?.entries.map(({ event }) => event.kind)).toEqual(['Started', 'BudgetScopeLinked'])
  expect(effectsFor(place.invocation)).toEqual([])
  await neverAgain(place, false)
})

async function killedAt(place: Place, point: KillPoint, mode: 'answer' | 'cancel'): Promise<void> {
  const child = sent(place, { point, mode })
  const exit = once(child.process, 'exit')
  loaded.push(startChild(script, []))
  expect(await exit).toEqual([null, 'SIGKILL'])
}

/** Some at a time, for a machine of few cores. The first failure ends it, and says at which write it was. */
async function eachAtOnce(points: readonly KillPoint[], judge: (point: KillPoint) => Promise<void>): Promise<void> {
  const left = [...points]
  const work = async (): Promise<void> => {
    for (let point = left.shift(); point !== undefined; point = left.shift()) {
      try {
        await judge(point)
      } catch (cause) {
        left.length = 0
        throw new Error(`${point.moment} write ${point.nth} of ${counted.answer.owners.join(' ')}`, { cause })
      }
    }
  }
  while (loaded.length < LOADED) loaded.push(startChild(script, []))
  const ended = await Promise.allSettled(Array.from({ length: LOADED }, work))
  const failed = ended.find(({ status }) => status === 'rejected')
  if (failed?.status === 'rejected') throw failed.reason
}

/** What the crash left: it verifies, it agrees, and nothing took effect whose intents were not on disk before. */
async function judged({ governed, invocation, key }: Place): Promise<Pair> {
  const pair = pairOf(await journalsIn(governed, key), counted.answer.reviewer)
  await neverContradict(pair, key)
  await verifiedAsTree(pair, key)
  const happened = effectsFor(invocation)
  expect(happened.length).toBeLessThanOrEqual(1)
  const receipts = pair.child === null ? [] : eventsOf(pair.child, 'ToolDispatchFinished')
  expect(receipts.length).toBeLessThanOrEqual(happened.length)
  for (const copy of happened) {
    const then = pairOf(await journalsIn(copy, key), counted.answer.reviewer)
    const [delegated] = eventsOf(then.parent as FoundRun, 'DelegationStarted')
    expect(delegated).toMatchObject({ target: 'reviewer', audit: { run_id: then.child?.runId } })
    const [dispatched] = eventsOf(then.child as FoundRun, 'ToolDispatchStarted')
    expect(dispatched).toMatchObject({ tool_name: 'system_health', call_id: 'health-call' })
    const [judgement] = eventsOf(then.child as FoundRun, 'PolicyEvaluated')
    expect(judgement).toMatchObject({ action_count: 1, denied_count: 0 })
  }
  return pair
}

/** What an auditor is told, from whichever of the two journals it is asked: whole or cut short, and nothing worse. */
async function verifiedAsTree({ parent, child }: Pair, key: PublicKey): Promise<void> {
  const resultOf = (run: FoundRun): string => (endOf(run) === null || run.torn ? 'incomplete' : 'verified')
  for (const run of [parent, child].filter((found) => found !== null)) {
    const tree = await verifyTree(world, { path: run.path, runId: run.runId as RunId, key })
    const linked = run === parent && eventsOf(run, 'DelegationStarted').length > 0 ? [run, child as FoundRun] : [run]
    expect(runsOf(tree.root).map(({ node }) => [node.result, node.problems])).toEqual(
      linked.map((one) => [resultOf(one), []]),
    )
    expect(treeHolds(tree)).toBe(true)
  }
}

/** The id never runs again, whoever opens the project next; and what is asked under another id works as ever. */
async function neverAgain({ project, governed, invocation, key }: Place, isWhole: boolean): Promise<void> {
  const happened = effectsFor(invocation)
  const before = filesIn(governed)
  const next = randomUUID()
  governedOf.set(next, governed)
  const { provider, asked } = watched(delegatingModel())
  await using runtime = await openRuntime({ project, provider, api: countedApi(url(), next) })
  const again = runtime.ask(CONTENT, { id: invocation })
  if (isWhole) expect(await again).toMatchObject({ replayed: true, content: expect.stringContaining(HEALTHY) })
  else await expect(again).rejects.toMatchObject({ code: 'INVOCATION_UNRESOLVED' })
  expect(filesIn(governed)).toEqual(before) // to ask again changes no evidence
  expect([asked(), effectsFor(invocation), effectsFor(next)]).toEqual([0, happened, []])
  const fresh = await runtime.ask(CONTENT, { id: next })
  expect(fresh).toMatchObject({ replayed: false, content: expect.stringContaining(HEALTHY) })
  expect(effectsFor(next)).toHaveLength(1)
  const runs = (await journalsIn(governed, key)).filter(({ path }) => !before.has(path.slice(governed.length + 1)))
  const pair = pairOf(runs, counted.answer.reviewer)
  expect([pair.parent, pair.child].map((run) => run !== null && endOf(run))).toEqual(['Completed', 'Completed'])
  await neverContradict(pair, key)
  expect(new Map([...filesIn(governed)].filter(([name]) => before.has(name)))).toEqual(before)
}

function watched(inner: Provider): { readonly provider: Provider; asked(): number } {
  let count = 0
  const complete: Provider['complete'] = (...given) => {
    count += 1
    return inner.complete(...given)
  }
  return { provider: { ...inner, complete }, asked: () => count }
}

function filesIn(folder: string): ReadonlyMap<string, string> {
  const names = readdirSync(folder).filter((name) => name.endsWith('.jsonl'))
  return new Map(names.map((name) => [name, readFileSync(join(folder, name), 'utf8')]))
}
