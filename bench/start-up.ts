/** Processes from their start: to the listening line of `symbi up`, to the end of `symbi --version`, and an import. */
import { spawn, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Bench, type Context, freshFolder } from './bench.ts'
import { chatProject, MODEL } from './project.ts'
import { notAvailable, type Result, resultOf, type Target } from './result.ts'
import { repeat } from './rounds.ts'

export const startUp: Bench = { name: 'start-up', measure }

const ROOT = process.cwd()
const SYMBI = join(ROOT, 'bin', 'symbi.js')
const WAIT_MS = 30_000

async function measure(context: Context): Promise<readonly Result[]> {
  return [
    await listening(context),
    await row(context, 'symbi --version', 100, () => run([SYMBI, '--version'])),
    await row(context, 'import symbi-runtime/journal', 60, importJournal),
    resultOf({ name: 'node alone, an empty program', value: await repeat(context, () => run(['-e', ''])), unit: 'ms' }),
  ]
}

function atMost(limit: number): Target {
  return { of: 'value', bound: 'at most', limit }
}

async function row(context: Context, name: string, limit: number, sample: () => number): Promise<Result> {
  return resultOf({ name, value: await repeat(context, sample), unit: 'ms', target: atMost(limit) })
}

function run(args: readonly string[]): number {
  const start = performance.now()
  const { status } = spawnSync(process.execPath, args, { stdio: 'ignore', cwd: ROOT })
  if (status !== 0) throw new Error(`a measured process ended with ${status}`)
  return performance.now() - start
}

/** The import alone, as the process that asks for it sees it. */
function importJournal(): number {
  const url = pathToFileURL(join(ROOT, 'dist', 'journal', 'index.js')).href
  const program = `const start = performance.now(); await import(${JSON.stringify(url)}); console.log(performance.now() - start)`
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
    cwd: ROOT,
    encoding: 'utf8',
  })
  return Number(stdout)
}

async function listening(context: Context): Promise<Result> {
  const name = 'symbi up, to listening'
  const target = atMost(400)
  const project = chatProject(freshFolder(context, 'up'))
  const first = await startOnce(project)
  if (first === null) {
    context.say('"symbi up" did not come to listening here, so its start is not measured')
    return notAvailable(name, 'ms', target)
  }
  const value = await repeat(context, async () => (await startOnce(project)) ?? Number.NaN)
  return resultOf({ name, value, unit: 'ms', target })
}

/** Milliseconds to the listening line, or null when the process ended without one. */
function startOnce(project: string): Promise<number | null> {
  const start = performance.now()
  const child = spawn(
    process.execPath,
    [
      SYMBI,
      'up',
      '--project',
      project,
      '--provider',
      `scripted:${join(project, MODEL)}`,
      '--port',
      '0',
      '--json',
      '--log-level',
      'error',
    ],
    {
      cwd: ROOT,
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  )
  return new Promise((resolve) => {
    let reached: number | null = null
    const late = setTimeout(() => child.kill('SIGKILL'), WAIT_MS)
    child.stdout.once('data', () => {
      reached = performance.now() - start
      child.kill('SIGTERM')
    })
    child.once('exit', () => {
      clearTimeout(late)
      resolve(reached)
    })
  })
}
