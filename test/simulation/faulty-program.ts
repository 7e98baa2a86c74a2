/**
 * The built program with a deliberate fault in it: a copy of dist below this clone, where its packages are found, with a few
 * texts replaced. Its own simulator lives one seed after the other until a law objects.
 */
import { spawn } from 'node:child_process'
import { existsSync, linkSync, mkdirSync, readdirSync, readFileSync, rmSync, unlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { BRIEF, type Child, startChild } from '../support/child-script.ts'
import { ROOT } from '../support/sources.ts'
import type { Edit } from './deliberate-faults.ts'

const DIST = join(ROOT, 'dist')
const COPIES = join(ROOT, '.cache', 'faulty-programs')
const SIMULATOR = join(ROOT, 'scripts', 'sim.mjs')
const FIRST_OBJECTIONS = join(ROOT, 'test', 'simulation', 'first-objections.mjs')

export interface Objection {
  readonly law: string
  readonly what: string
  readonly seed: number
}

/** How often the text of an edit stands in the file as it was built. */
export function occurrences({ file, find }: Edit): number {
  return readFileSync(join(DIST, file), 'utf8').split(find).length - 1
}

/** The first objection to the program with these edits; null when all of these lives keep the laws. */
export async function objectionTo(edits: readonly Edit[], from: number, seeds: number): Promise<Objection | null> {
  return await withEdits(edits, (dist) => firstObjection(dist, from, seeds))
}

/** Shows the folder of the built program with these edits, for as long as the work goes on. */
export async function withEdits<T>(edits: readonly Edit[], work: (dist: string) => Promise<T>): Promise<T> {
  const folder = copied(edits)
  try {
    return await work(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

export interface Said {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** What the simulator of this built program says. */
export async function simulator(dist: string, args: readonly string[]): Promise<Said> {
  const child = spawn(process.execPath, [...BRIEF, SIMULATOR, ...args, '--dist', dist], {
    env: { PATH: process.env.PATH ?? '' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [stdout, stderr, code] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise<number | null>((resolve) => child.once('close', resolve)),
  ])
  return { code, stdout, stderr }
}

let copies = 0

/** Only edited files are written anew; the others are second names of what was built. */
function copied(edits: readonly Edit[]): string {
  if (!existsSync(DIST)) throw new Error('the program is not built: run "npm run build"')
  copies += 1
  const folder = join(COPIES, `${process.pid}-${copies}`)
  for (const file of modules()) {
    const path = join(folder, file)
    mkdirSync(dirname(path), { recursive: true })
    linkSync(join(DIST, file), path)
  }
  for (const { file, find, replace } of edits) {
    const path = join(folder, file)
    const text = readFileSync(path, 'utf8')
    unlinkSync(path) // or what was built would change with it
    writeFileSync(
      path,
      text.replace(find, () => replace),
    )
  }
  return folder
}

let known: readonly string[] | null = null

function modules(): readonly string[] {
  known ??= readdirSync(DIST, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.js'))
  return known
}

/**
 * Programs that one process lives in. What an earlier one loaded stays in its memory, and what it left undone would be
 * counted against a later one: so not all, and none behind one that failed.
 */
const PROGRAMS = 8
const idle: { readonly child: Child; used: number }[] = []

async function firstObjection(dist: string, from: number, seeds: number): Promise<Objection | null> {
  const worker = idle.pop() ?? { child: startChild(FIRST_OBJECTIONS, []), used: 0 }
  try {
    worker.child.say(JSON.stringify({ dist, from, seeds }))
    const objection = JSON.parse(await worker.child.line()) as Objection | null
    worker.used += 1
    if (worker.used < PROGRAMS) idle.push(worker)
    else await worker.child.kill()
    return objection
  } catch (error) {
    await worker.child.kill()
    throw new Error(`the simulator could not live the seeds from ${from}; what it said is above`, { cause: error })
  }
}

/** Ends the processes that wait for another program. */
export async function endAll(): Promise<void> {
  for (const { child } of idle.splice(0)) await child.kill()
}

/** At most so many at a time: each is busy with a processor of its own. */
export function limited(count: number): <T>(work: () => Promise<T>) => Promise<T> {
  let free = count
  const waiting: (() => void)[] = []
  return async (work) => {
    if (free === 0) await new Promise<void>((resolve) => waiting.push(resolve))
    else free -= 1
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next === undefined) free += 1
      else next()
    }
  }
}
