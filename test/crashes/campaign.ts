/**
 * The campaign: first each scenario is left alone, which tells how many writes it has; then it is ended at each of them, before,
 * in the middle and right after; then at random ones, until as many processes are dead as were asked for. After them come disks
 * that fail. The seed decides the order, the ids and the random moments; how processes run side by side it cannot decide.
 */

import { join } from 'node:path'
import type { KillPoint, Moment, Write } from '../support/killing-world.ts'
import { type SyncCall, syncCallsIn, syncInterposer, watchedSyncs } from '../support/sync-interposer.ts'
import { type DiskFault, diskFaults, FULL, unkeptPromise, withoutFailure } from './disks.ts'
import { isBroken } from './judge.ts'
import { Chain, type Death, type Ended, type Lab, liveAndDie } from './life.ts'
import { SCENARIOS, type Scenario } from './scenarios.ts'
import { type Dice, shuffled } from './seed.ts'
import type { Tally } from './tally.ts'

export interface Campaign {
  readonly kills: number
  /** Whether the kills are to visit every moment of every write, and not as many as they are. */
  readonly everyMoment: boolean
  /** How many of the failing disks are tried, in an order of chance. */
  readonly faults: number
  readonly scenarios: readonly Scenario[]
  /** No life begins after this. */
  readonly minutes: number
  /** Lives at a time. */
  readonly abreast: number
}

export interface Counted extends Pick<Ended, 'writes' | 'syncs' | 'pages'> {
  /** Calls that make bytes durable, as the system saw them; 0 where nobody could look. */
  readonly systemSyncs: number
}

export interface Result {
  /** How many writes and syncs each scenario has. */
  readonly counted: ReadonlyMap<Scenario, Counted>
  readonly kills: number
  readonly faults: number
  /** How many disks could be made to fail, of as many as were asked for. */
  readonly disks: number
  /** Moments of all writes, and those that no process was sent to, for lack of kills or of time. */
  readonly moments: number
  readonly unvisited: number
  /** Processes that had come to their end before they came to their point. */
  readonly missed: number
  /** Unresolved ids behind which nothing had begun. */
  readonly unbegun: number
  /** Different writes that found the small disk full. */
  readonly foundFull: number
  /** Lives in which the system answered EIO, and lives that ended before it could. */
  readonly systemFailed: number
  readonly systemMissed: number
  /** Kills after which a person had to remove a file, as a hint said. */
  readonly byHand: number
  readonly broken: boolean
  /** Why some disks were not tried. */
  readonly skipped: readonly string[]
}

export interface Watcher {
  note(line: string): void
  readonly tally: Tally
}

export async function campaign(lab: Lab, dice: Dice, wanted: Campaign, { note, tally }: Watcher): Promise<Result> {
  const started = performance.now()
  const endMs = started + wanted.minutes * 60_000
  const isTimeUp = (): boolean => performance.now() >= endMs
  const totals = { kills: 0, faults: 0, missed: 0, byHand: 0, unbegun: 0, lives: 0 }
  const foundFull = new Set<string>()
  let broken = false
  const take = (death: Death, moment: string, ended: Ended): void => {
    totals.lives += 1
    totals.byHand += ended.byHand
    totals.unbegun += ended.verdict.unbegun
    const ends = { kills: ended.killed ? 1 : 0, faults: death.point === null && moment !== ALONE ? 1 : 0 }
    totals.kills += ends.kills
    totals.faults += ends.faults
    if (death.point !== null && !ended.killed) totals.missed += 1
    if (moment === FULL) for (const nth of failedIn(ended.writes)) foundFull.add(`${death.scenario} ${nth}`)
    tally.add(death.scenario, moment, ends, ended)
    if (!isBroken(ended.verdict)) return
    broken = true
    const point = death.point === null ? moment : `${moment} write ${death.point.nth}`
    for (const objection of ended.verdict.objections) note(`BROKEN, ${death.scenario}, ${point}: ${objection}`)
  }

  const breakWith = (where: string, objection: string | null): void => {
    if (objection === null) return
    broken = true
    note(`BROKEN, ${where}: ${objection}`)
  }

  const library = wanted.faults === 0 ? null : syncInterposer()
  const counted = new Map<Scenario, Counted>()
  {
    await using chain = new Chain(lab.script)
    for (const scenario of wanted.scenarios) {
      const log = join(lab.base, `${scenario.replace(' ', '-')}.syncs`)
      const watch = library === null ? {} : { env: watchedSyncs(library, log) }
      const death: Death = { scenario, point: null, ...watch }
      const ended = await liveAndDie(lab, chain, death)
      take(death, ALONE, ended)
      const calls = syncCallsIn(log)
      const systemSyncs = calls.length
      if (library !== null) breakWith(scenario, unkeptPromise(ended.promised, calls))
      counted.set(scenario, { ...ended, systemSyncs })
      const seen = library === null ? '' : `, ${systemSyncs} syncs by the system`
      note(`${scenario}: ${ended.writes.length} writes, ${ended.syncs} syncs of data${seen}`)
    }
  }
  const points = firstPass(counted, dice)
  const moments = points.length
  const { faults, skipped } = diskFaults(
    counted,
    dice,
    wanted.faults,
    library === null ? null : { library, folder: lab.base },
  )
  note(`${moments} moments to visit, ${wanted.kills} kills and ${faults.length} failing disks in all`)
  const secondsEach = (performance.now() - started) / 1000 / Math.max(1, counted.size)
  const secondsAtMost = Math.ceil((wanted.kills + faults.length) * secondsEach) // one after the other, as those were
  note(`at most about ${secondsAtMost} s, and no life begins after ${wanted.minutes} minutes`)

  let inFlight = 0
  const killing = async (chain: Chain): Promise<void> => {
    while (totals.kills + inFlight < wanted.kills && !isTimeUp()) {
      const death = points.shift() ?? randomDeath(counted, dice)
      inFlight += 1
      try {
        take(death, death.point.moment, await liveAndDie(lab, chain, death))
      } finally {
        inFlight -= 1
      }
      if (totals.lives % 50 === 0) note(progress(totals, wanted, started))
    }
  }
  await abreast(wanted.abreast, lab, killing)
  const left: DiskFault[] = [...faults]
  const failing: { readonly nth: number; readonly calls: readonly SyncCall[] }[] = []
  await abreast(wanted.abreast, lab, async (chain) => {
    for (let fault = left.shift(); fault !== undefined && !isTimeUp(); fault = left.shift()) {
      take(fault.death, fault.moment, await liveAndDie(lab, chain, fault.death))
      if (fault.system !== undefined) failing.push({ nth: fault.system.nth, calls: syncCallsIn(fault.system.log) })
      if (left.length % 50 === 0) note(`${totals.faults} of ${faults.length} failing disks`)
    }
  })
  breakWith('EIO, system', withoutFailure(failing))
  const systemFailed = failing.filter(({ calls }) => calls.some(({ failed }) => failed)).length
  return {
    counted,
    ...totals,
    systemFailed,
    systemMissed: failing.length - systemFailed,
    disks: faults.length,
    moments,
    unvisited: points.length,
    foundFull: foundFull.size,
    broken,
    skipped,
  }
}

/** A life that nothing happens to. */
export const ALONE = 'left alone'

async function abreast(count: number, lab: Lab, work: (chain: Chain) => Promise<void>): Promise<void> {
  const workers = Array.from({ length: count }, async () => {
    await using chain = new Chain(lab.script)
    await work(chain)
  })
  await Promise.all(workers)
}

const failedIn = (writes: readonly Write[]): readonly number[] =>
  writes.flatMap(({ failed }, index) => (failed === true ? [index + 1] : []))

type Kill = Death & { readonly point: KillPoint }

/** Each moment of each write, in an order of chance, the scenarios in turn. A name that is made has no middle and no before. */
function firstPass(counted: Result['counted'], dice: Dice): Kill[] {
  const perScenario = [...counted].map(([scenario, { writes }]) => {
    const all = writes.flatMap(({ kind }, index) => momentsOf(kind).map((moment) => ({ nth: index + 1, moment })))
    return shuffled(dice, all).map((point) => ({ scenario, point }))
  })
  const longest = Math.max(0, ...perScenario.map(({ length }) => length))
  return Array.from({ length: longest }, (_, row) => perScenario.flatMap((points) => points.slice(row, row + 1))).flat()
}

const MOMENTS = ['before', 'torn', 'after'] as const satisfies readonly Moment[]

function momentsOf(kind: Write['kind']): readonly Moment[] {
  return kind === 'bytes' ? MOMENTS : ['after'] // before it is right after what came before it
}

function randomDeath(counted: Result['counted'], dice: Dice): Kill {
  const scenarios = [...counted.keys()]
  const scenario = scenarios[dice.below(scenarios.length)] ?? SCENARIOS[0]
  const writes = counted.get(scenario)?.writes ?? []
  const index = dice.below(Math.max(1, writes.length))
  const moments = momentsOf(writes[index]?.kind ?? 'bytes')
  return { scenario, point: { nth: index + 1, moment: moments[dice.below(moments.length)] ?? 'after' } }
}

function progress({ kills, lives }: { kills: number; lives: number }, wanted: Campaign, started: number): string {
  const seconds = (performance.now() - started) / 1000
  const left = Math.ceil(((wanted.kills - kills) * seconds) / Math.max(1, lives))
  return `${kills} of ${wanted.kills} kills after ${Math.round(seconds)} s, about ${left} s to go`
}
