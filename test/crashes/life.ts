/**
 * One life: a project of its own, a process that works on it and dies, a witness of what it did, the next process that is asked
 * about it, and the verdict over all of that.
 */
import { mkdirSync, readdirSync, realpathSync, rmSync, statSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { EffectCounter } from '../support/effect-counter.ts'
import type { KillPoint, PromisedSyncs, Write } from '../support/killing-world.ts'
import { askChatsAgain, chatClients, type Hearing, hearing, toolClient } from './clients.ts'
import { digestsOf, governedIn, journalsOf, NEEDS_APPROVAL, publicKeyOf, tornClaimsIn } from './evidence.ts'
import { type Effect, judge, type Verdict } from './judge.ts'
import type { Answer, Errand, SyncFailure } from './messages.ts'
import { startWorker, type Worker } from './processes.ts'
import { AGENT, DOORS, idsNeeded, type Scenario, type Work, workOf } from './scenarios.ts'

/** Nothing here takes this long; what does is stuck, and that is said. */
const STUCK_MS = 60_000

export interface Lab {
  /** The folder of all projects. */
  readonly base: string
  readonly witness: EffectCounter
  /** The child, bundled. */
  readonly script: string
  /** Random, and the same for the same seed. */
  uuid(): string
}

export interface Death {
  readonly scenario: Scenario
  /** Where it ends itself; null lets it come to its end. */
  readonly point: KillPoint | null
  readonly failure?: SyncFailure | null
  /** For a disk that really fails: variables of a process of its own, and what is done to the project before and after. */
  readonly env?: Readonly<Record<string, string>>
  readonly around?: (project: string) => { readonly mended: () => void; readonly removed: () => void }
}

export interface Ended {
  readonly verdict: Verdict
  /** By itself, at its point. */
  readonly killed: boolean
  /** When it came to its end. */
  readonly writes: readonly Write[]
  readonly syncs: number
  readonly promised: PromisedSyncs
  readonly pages: PagesUsed
  /** How often a person had to remove a file before the project could be opened. */
  readonly byHand: number
}

/** Of 4 KiB, as a disk in memory gives them to the files of the project: before the life, and after it. */
export interface PagesUsed {
  readonly before: number
  readonly after: number
}

/** A process that is loaded and waits: it answers for the dead, and lives and dies next. */
export class Chain implements AsyncDisposable {
  readonly #script: string
  #waiting: Worker | null = null

  constructor(script: string) {
    this.#script = script
  }

  take(): Worker {
    const worker = this.#waiting ?? startWorker(this.#script)
    this.#waiting = null
    worker.forget()
    return worker.isGone ? startWorker(this.#script) : worker
  }

  keep(worker: Worker): void {
    this.#waiting = worker
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#waiting?.kill()
  }
}

export async function liveAndDie(lab: Lab, chain: Chain, death: Death): Promise<Ended> {
  const { scenario, point, failure = null, env } = death
  const tag = lab.uuid()
  const project = makeProject(lab.base, tag)
  const around = death.around?.(project)
  try {
    furnish(project, scenario)
    const pagesBefore = pagesIn(project)
    const ids = Array.from({ length: idsNeeded(scenario) }, () => lab.uuid())
    const work = workOf(scenario, tag, ids)
    const { origin } = lab.witness
    const errand: Errand = { scenario, role: 'live', project, tag, ids, origin, point, failure, handles: [] }
    const troubles: string[] = []
    const told = hearing()
    const child = env === undefined ? chain.take() : startWorker(lab.script, env)
    const killed = await live(child, errand, work, told, troubles)
    const end = child.said.find((message) => 'ended' in message)
    await child.kill()
    const effects = await effectsOf(lab, tag)
    const pages = { before: pagesBefore, after: pagesIn(project) }
    around?.mended()
    const byHand = await asTheHintSays(project)
    const before = digestsOf(project)
    const again: Errand = { ...errand, role: 'again', point: null, failure: null, handles: told.handles }
    const { later, presented } = await askAgain(chain, again, work, troubles)
    const all = await effectsOf(lab, tag)
    const key = await publicKeyOf(project)
    const after = digestsOf(project)
    const verdict = await judge({
      scenario,
      work,
      told,
      effects,
      effectsLater: all.slice(effects.length),
      later,
      torn: tornClaimsIn(project),
      presented,
      journals: await journalsOf(project, key),
      key,
      changed: [...before].flatMap(([name, digest]) => (after.get(name) === digest ? [] : [name])),
      troubles,
    })
    return {
      verdict,
      killed,
      byHand,
      pages,
      ...(end !== undefined && 'ended' in end ? end.ended : { writes: [], syncs: 0, promised: { data: 0, whole: 0 } }),
    }
  } finally {
    around?.removed()
    rmSync(project, { recursive: true, force: true })
  }
}

function makeProject(base: string, tag: string): string {
  mkdirSync(join(base, tag), { mode: 0o700 })
  return realpathSync(join(base, tag))
}

const PAGE_BYTES = 4096

function pagesIn(project: string): number {
  const names = readdirSync(project, { recursive: true, encoding: 'utf8' })
  return names
    .map((name) => statSync(join(project, name)))
    .reduce((pages, facts) => pages + (facts.isFile() ? Math.ceil(facts.size / PAGE_BYTES) : 0), 0)
}

function furnish(project: string, scenario: Scenario): void {
  for (const folder of ['policies', 'agents']) mkdirSync(join(project, folder))
  writeFileSync(join(project, 'policies', 'default.cedar'), 'permit(principal, action, resource);\n')
  for (const name of [AGENT, 'reviewer', 'auditor']) {
    writeFileSync(join(project, 'agents', `${name}.symbi`), `agent ${name} {}\n`)
  }
  if (scenario === 'approval') writeFileSync(join(project, NEEDS_APPROVAL), '')
}

/** Resolves when it is dead or has nothing more to do; says whether it was its point that ended it. */
async function live(
  child: Worker,
  errand: Errand,
  work: readonly Work[],
  told: Hearing,
  troubles: string[],
): Promise<boolean> {
  child.say({ errand })
  const clients = attend(child, errand, work, told).catch((error: unknown) => {
    const isOver = child.isGone || child.said.some((message) => 'ended' in message)
    if (!isOver) troubles.push(`a client failed: ${String(error)}`) // of one that was cut off nothing is expected
  })
  const over = child.heard((message) => 'ended' in message)
  const stuck = await withinTime(Promise.all([clients, over]))
  if (stuck) {
    troubles.push('the process and its clients got stuck')
    await child.kill()
    await clients
    return false
  }
  hearRun(child, told)
  return errand.point !== null && child.isGone && (await child.gone) === 'SIGKILL'
}

async function attend(child: Worker, errand: Errand, work: readonly Work[], told: Hearing): Promise<void> {
  const { scenario, tag, origin } = errand
  if (DOORS[scenario] === 'run') return
  const serving = await child.heard((message) => 'serving' in message || 'ended' in message)
  if (serving === null || !('serving' in serving)) return
  if (DOORS[scenario] === 'tools') await toolClient(child, { scenario, tag, origin, work }, told)
  else await chatClients(serving.serving, work, told)
  child.say({ end: true })
}

/** What somebody who runs an agent by hand was told stands on the channel. */
function hearRun(child: Worker, told: Hearing): void {
  for (const message of child.said) {
    if ('opened' in message) told.opened.set(message.opened.id, message.opened.run)
    if ('answered' in message) {
      const { id, answer } = message.answered
      told.answered.set(id, answer.kind === 'NotFound' ? { ...answer, kind: 'Recorded' } : answer)
    }
  }
}

interface Asked {
  readonly later: ReadonlyMap<string, readonly Answer[]>
  readonly presented: readonly string[]
}

/** The next process on the project is asked for everything. */
async function askAgain(chain: Chain, errand: Errand, work: readonly Work[], troubles: string[]): Promise<Asked> {
  let later: ReadonlyMap<string, readonly Answer[]> = new Map()
  const child = chain.take()
  child.say({ errand })
  const asking = (async () => {
    if (DOORS[errand.scenario] === 'chat') {
      const serving = await child.heard((message) => 'serving' in message || 'ended' in message)
      if (serving !== null && 'serving' in serving) later = await askChatsAgain(serving.serving, work)
      child.say({ end: true })
    }
    await child.heard((message) => 'ended' in message)
  })()
  if (await withinTime(asking)) {
    troubles.push('the next process got stuck')
    await child.kill()
    return { later, presented: [] }
  }
  if (DOORS[errand.scenario] !== 'chat') later = answersIn(child)
  for (const message of child.said) {
    if ('failed' in message) troubles.push(`the next process failed: ${message.failed}`)
  }
  const presented = child.said.flatMap((message) => ('presented' in message ? [message.presented] : []))
  if (child.isGone) troubles.push('the next process died')
  else chain.keep(child)
  return { later, presented }
}

/**
 * A process that dies between the two names of a new signing key leaves both, and whoever reads the key refuses it and says
 * which name a person has to remove. Here the person does. Gives how often.
 */
async function asTheHintSays(project: string): Promise<number> {
  try {
    await publicKeyOf(project)
    return 0
  } catch (error) {
    const { facts } = error as { readonly facts?: { readonly leftover?: unknown } }
    if (typeof facts?.leftover !== 'string') throw error
    unlinkSync(join(governedIn(project), facts.leftover))
    return 1
  }
}

function answersIn(child: Worker): ReadonlyMap<string, readonly Answer[]> {
  const answers = new Map<string, Answer[]>()
  for (const message of child.said) {
    if (!('answered' in message)) continue
    const { id, answer } = message.answered
    answers.set(id, [...(answers.get(id) ?? []), answer])
  }
  return answers
}

/** The effects of a project until now. What its process had sent before it died has reached the witness, and its word reached us. */
async function effectsOf({ witness }: Lab, tag: string): Promise<readonly Effect[]> {
  const counted = Number(await (await fetch(`${witness.origin}/settled/${tag}`)).text())
  for (;;) {
    const effects = witness.counted.filter((line) => line.includes(tag)).map((line) => JSON.parse(line) as Effect)
    if (effects.length >= counted) return effects
    await new Promise(setImmediate)
  }
}

/** True when it took too long. */
async function withinTime(work: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<true>((resolve) => {
    timer = setTimeout(() => resolve(true), STUCK_MS)
  })
  const isLate = await Promise.race([work.then(() => false), late])
  clearTimeout(timer)
  return isLate
}
