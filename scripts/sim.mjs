/**
 * Runs simulated lives of the whole runtime, one a seed, and says which laws were broken.
 *
 *   npm run sim                                     seeds 1 to 1,000
 *   npm run sim -- --from N --seeds COUNT           others; slices of them run in processes of their own, --jobs N at a time
 *   npm run sim -- --seed N [--only 3,7] [--trace]  one life, perhaps with some of its planned events, step by step
 *   npm run sim -- --seed N --journals              the journals that it leaves
 *
 * A seed that breaks a law is printed with the commit, the shortest plan that still breaks it, its last events, and the command
 * that shows it again. Exit code 1 then, and 64 when the arguments are not understood. `--json` prints one line for each broken law
 * and one for the sum. `--dist FOLDER` lives in another build, for a proof that faults in it are found.
 */
import { execFileSync, spawn } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { requireNode } from '../bin/node-version.js'
import { buildWhenStale } from './build.mjs'
import { flagsIn, MISUSED, ROOT, Stop, whenProgram } from './steps.mjs'

/** @typedef {import('../src/testing/simulation/simulate.ts').LivedLife} LivedLife */
/** @typedef {import('../src/testing/simulation/laws/law.ts').LawName} LawName */
/** @typedef {{ lives: number, steps: number, boots: number, effects: number, met: Record<string, number>, broken: { seed: number, law: LawName, what: string }[] }} Sum */

/** Lives in one process. Starting one costs as much as some 20 lives, and each life after the first hundred is cheaper. */
const SLICE = 500
/** As of a program that the system ends with SIGPIPE. */
const UNREAD = 141
const TRACE_LINES_MAX = 120
const EXPLAINED_MAX = 3
const SEED_HINT = 'A seed is 0 or more; of seeds and jobs there is at least one'
const ONLY_HINT = '--only takes the numbers of planned events, as a failing seed prints them: --only=16,19'
const NOT_LOOKED = 'not shown: next to nothing took effect in these lives, so the laws had nothing to look at\n'

await whenProgram(import.meta, async () => {
  requireNode()
  const values = flagsIn({
    from: { type: 'string', default: '1' },
    seeds: { type: 'string', default: '1000' },
    seed: { type: 'string' },
    only: { type: 'string' },
    jobs: { type: 'string', default: String(Math.min(2, availableParallelism())) },
    dist: { type: 'string' },
    trace: { type: 'boolean', default: false },
    journals: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    slice: { type: 'boolean', default: false },
    first: { type: 'boolean', default: false },
  })
  const seed = number(values.seed ?? values.from)
  const from = number(values.from)
  const count = number(values.seeds, 1)
  const jobs = number(values.jobs, 1)
  // a reader that goes away, such as "head", has seen what it wanted; the verdict was not reached, so this is no 0 and no 1
  process.stdout.on('error', () => process.exit(UNREAD))
  const only = values.only
    ?.split(',')
    .filter((part) => part !== '')
    .map((part) => number(part, 0, ONLY_HINT))
  if (values.dist === undefined) buildWhenStale(ROOT, { stdout: 2 })
  const dist = resolve(values.dist ?? join(ROOT, 'dist'))
  if (values.seed !== undefined) return await one(dist, seed, only, values)
  // what a process of our own says, for programs; the first broken law may be all that is asked
  if (values.slice)
    return void process.stdout.write(`${JSON.stringify(await livesOf(dist, from, count, values.first))}\n`)
  await many(dist, from, count, jobs, values.json)
})

/** @param {string} dist @returns {Promise<typeof import('../src/testing/simulation/simulate.ts')>} */
async function simulator(dist) {
  return await import(pathToFileURL(join(dist, 'testing', 'simulation', 'simulate.js')).href)
}

/**
 * @param {string} dist
 * @param {number} seed
 * @param {readonly number[] | undefined} only
 * @param {{ trace: boolean, journals: boolean, json: boolean }} how
 */
async function one(dist, seed, only, { trace, journals, json }) {
  const { simulate, shortestLife } = await simulator(dist)
  const life = await understood(() => watched(() => simulate({ seed, ...(only === undefined ? {} : { only }) })))
  if (json) printJson(life)
  else if (journals) printJournals(life)
  else if (trace) process.stdout.write(`${life.trace.join('\n')}\n`)
  else if (only === undefined && life.violations[0] !== undefined) await explain(seed, life.violations[0], shortestLife)
  if (!json) process.stdout.write(`${sentence(life)}\n`)
  if (life.violations.length > 0) process.exitCode = 1
}

/**
 * What the simulator cannot live, such as an event that a plan does not have, is the caller's mistake and no verdict.
 *
 * @template T
 * @param {() => Promise<T>} work
 */
async function understood(work) {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'CONFIG_INVALID')) throw error
    throw new Stop(error.message, { hint: 'hint' in error ? String(error.hint) : '', exit: MISUSED })
  }
}

/** @param {LivedLife} life */
function sentence({ seed, steps, processes, effects, violations }) {
  const broken = violations.map(({ law, what }) => `\n  ${law}: ${what}`).join('')
  return `seed ${seed}: ${steps} steps, ${processes} processes, ${effects} ${effects === 1 ? 'effect' : 'effects'}, ${violations.length} broken laws${broken}`
}

/** @param {LivedLife} life */
function printJournals({ journals }) {
  for (const [name, bytes] of journals) process.stdout.write(`== ${name}\n${Buffer.from(bytes).toString()}\n`)
}

/** @param {LivedLife} life */
function printJson({ seed, violations }) {
  for (const { law, what } of violations) process.stdout.write(`${JSON.stringify({ law, what, seed })}\n`)
}

/**
 * @param {string} dist
 * @param {number} from
 * @param {number} count
 * @param {boolean} first whether the first life that breaks a law is the last
 * @returns {Promise<Sum>}
 */
export async function livesOf(dist, from, count, first) {
  const { simulate } = await simulator(dist)
  /** @type {Sum} */
  const sum = { lives: 0, steps: 0, boots: 0, effects: 0, met: {}, broken: [] }
  for (let seed = from; seed < from + count; seed += 1) {
    const life = await watched(() => simulate({ seed }))
    sum.lives += 1
    sum.steps += life.steps
    sum.boots += life.processes
    sum.effects += life.effects
    addTo(sum.met, life.met)
    sum.broken.push(...life.violations.map(({ law, what }) => ({ seed, law, what })))
    if (first && sum.broken.length > 0) break
  }
  return sum
}

/** @param {Record<string, number>} sum @param {Readonly<Record<string, number>>} more */
function addTo(sum, more) {
  for (const [what, count] of Object.entries(more)) sum[what] = (sum[what] ?? 0) + count
}

/**
 * A rejection that nobody handles breaks a law too.
 *
 * @param {() => Promise<LivedLife>} work
 * @returns {Promise<LivedLife>}
 */
async function watched(work) {
  const { value: life, unhandled } = await withoutDying(work)
  const more = unhandled.map((reason) => ({
    law: /** @type {const} */ ('the runtime stays up'),
    what: `a rejection that nobody handled: ${reason instanceof Error ? reason.stack : String(reason)}`,
    at: 0,
  }))
  return { ...life, violations: [...life.violations, ...more] }
}

/**
 * Node ends a process for a rejection that nobody handles, and here it would take all verdicts with it.
 *
 * @template T
 * @param {() => Promise<T>} work
 */
async function withoutDying(work) {
  /** @type {unknown[]} */
  const unhandled = []
  const note = (/** @type {unknown} */ reason) => void unhandled.push(reason)
  process.on('unhandledRejection', note)
  try {
    return { value: await work(), unhandled }
  } finally {
    process.off('unhandledRejection', note)
  }
}

/**
 * @param {string} dist
 * @param {number} from
 * @param {number} count
 * @param {number} jobs processes at a time
 * @param {boolean} json
 */
async function many(dist, from, count, jobs, json) {
  const startMs = performance.now()
  /** @type {Sum} */
  const sum = { lives: 0, steps: 0, boots: 0, effects: 0, met: {}, broken: [] }
  let next = from
  const work = async () => {
    for (let first = next; first < from + count; first = next) {
      const seeds = Math.min(SLICE, from + count - first)
      next = first + seeds
      const slice = await inProcess(dist, first, seeds)
      sum.lives += slice.lives
      sum.steps += slice.steps
      sum.boots += slice.boots
      sum.effects += slice.effects
      addTo(sum.met, slice.met)
      sum.broken.push(...slice.broken)
      const perSecond = (sum.lives / ((performance.now() - startMs) / 1000)).toFixed(0)
      for (const { seed, law, what } of slice.broken)
        process.stderr.write(`sim: seed ${seed} breaks "${law}": ${what}\n`)
      process.stderr.write(
        `sim: ${sum.lives} of ${count} seeds, ${perSecond} a second, ${sum.broken.length} broken laws\n`,
      )
    }
  }
  await Promise.all(Array.from({ length: Math.min(jobs, Math.ceil(count / SLICE)) }, work))
  // slices end in any order
  sum.broken.sort((left, right) => left.seed - right.seed)
  if (json) {
    const { broken, ...counts } = sum
    for (const { law, what, seed } of broken) process.stdout.write(`${JSON.stringify({ law, what, seed })}\n`)
    process.stdout.write(`${JSON.stringify({ from, ...counts, broken: broken.length })}\n`)
  } else await report(dist, from, count, sum)
  if (sum.broken.length > 0 || sum.lives !== count || !isLooked(sum)) process.exitCode = 1
}

/**
 * Lives in which nothing takes effect break no law either. A life has one and a half effects, and twenty lives without one are none
 * of the runtime.
 *
 * @param {Pick<Sum, 'lives' | 'effects'>} sum
 */
function isLooked({ lives, effects }) {
  return lives < 20 || effects >= lives / 4
}

/** @param {string} dist @param {number} from @param {number} seeds @returns {Promise<Sum>} */
function inProcess(dist, from, seeds) {
  return new Promise((done, fail) => {
    const program = join(ROOT, 'scripts', 'sim.mjs')
    const args = ['--slice', '--from', String(from), '--seeds', String(seeds), '--dist', dist]
    const child = spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
    let said = ''
    child.stdout.on('data', (text) => {
      said += text
    })
    child.once('error', fail)
    child.once('close', (code) => {
      if (code === 0) return done(JSON.parse(said))
      fail(new Stop(`Cannot finish the seeds ${from} to ${from + seeds - 1}: their process ended with ${code}`))
    })
  })
}

/** @param {string} dist @param {number} from @param {number} count @param {Sum} sum */
async function report(dist, from, count, { lives, steps, boots, effects, met, broken }) {
  const { shortestLife } = await simulator(dist)
  process.stdout.write(
    `seeds ${from} to ${from + count - 1} at ${commit()}: ${lives} lives, ${boots} processes, ${effects} effects, ${steps} steps\n`,
  )
  process.stdout.write(
    `  met: ${Object.entries(met)
      .map(([what, times]) => `${what} ${times}`)
      .join(', ')}\n`,
  )
  if (broken.length === 0)
    return void process.stdout.write(isLooked({ lives, effects }) ? 'no law was broken\n' : NOT_LOOKED)
  const first = new Map(broken.toReversed().map((row) => [row.law, row]))
  for (const { law, seed, what } of first.values()) {
    const times = broken.filter((row) => row.law === law).length
    process.stdout.write(`  ${law}: broken ${times} times, first by seed ${seed}: ${what}\n`)
  }
  for (const row of [...first.values()].slice(0, EXPLAINED_MAX)) await explain(row.seed, row, shortestLife)
}

/**
 * @param {number} seed
 * @param {{ law: LawName, what: string }} broken
 * @param {typeof import('../src/testing/simulation/simulate.ts').shortestLife} shortestLife
 */
async function explain(seed, { law, what }, shortestLife) {
  const { value: shortest } = await withoutDying(() => shortestLife(seed, law))
  if (shortest === null) {
    // a rejection that nobody handled: only a process that lives the whole of it sees it
    const again = `again: npm run sim -- --seed ${seed} --trace`
    return void process.stdout.write(`\nseed ${seed} at ${commit()} breaks "${law}": ${what}\n${again}\n`)
  }
  const { only, plan, minimal, life } = shortest
  const trace = life.trace.slice(-TRACE_LINES_MAX)
  process.stdout.write(
    [
      `\nseed ${seed} at ${commit()} breaks "${law}": ${life.violations.find((one) => one.law === law)?.what ?? what}`,
      minimal ? 'the plan, of which nothing can be left out:' : 'the plan, as short as it was made in time:',
      ...(plan.length === 0 ? ['  nothing: the law is broken without any trouble'] : plan.map((line) => `  ${line}`)),
      `its last ${trace.length} events:`,
      ...trace.map((line) => `  ${line}`),
      `again: npm run sim -- --seed ${seed} --only=${only.join(',')} --trace\n`,
    ].join('\n'),
  )
}

function commit() {
  try {
    return `commit ${execFileSync('git', ['-C', ROOT, 'rev-parse', '--short', 'HEAD'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()}`
  } catch {
    return 'no commit'
  }
}

/** @param {string} text */
function number(text, least = 0, hint = SEED_HINT) {
  const value = Number(text)
  if (!Number.isSafeInteger(value) || value < least) {
    throw new Stop(`Cannot use "${text}": it is no whole number from ${least} on`, {
      hint,
      exit: MISUSED,
    })
  }
  return value
}
