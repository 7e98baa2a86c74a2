/**
 * Processes from their start, to the listening line of `symbi up` and to the end of `symbi --version`, each in turns with an
 * empty Node program, which says how fast the machine is today; and an import.
 */
import { spawn, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Bench, type Context, freshFolder } from './bench.ts'
import { chatProject, MODEL } from './project.ts'
import { notAvailable, type Result, resultOf, type Target } from './result.ts'
import { compare, repeat } from './rounds.ts'

export const startUp: Bench = { name: 'start-up', measure }

const ROOT = process.cwd()
const SYMBI = join(ROOT, 'bin', 'symbi.js')
const WAIT_MS = 30_000

async function measure(context: Context): Promise<readonly Result[]> {
  return [
    await listening(context),
    await version(context),
    resultOf({
      name: 'import symbi-runtime/journal',
      value: await repeat(context, importJournal),
      unit: 'ms',
      target: atMost(60),
    }),
    resultOf({ name: 'node alone, an empty program', value: await repeat(context, emptyProgram), unit: 'ms' }),
  ]
}

function atMost(limit: number): Target {
  return { of: 'value', bound: 'at most', limit }
}

async function version(context: Context): Promise<Result> {
  const compared = await compare(context, () => run([SYMBI, '--version']), emptyProgram)
  return resultOf({ name: 'symbi --version', ...compared, unit: 'ms', target: atMost(100) })
}

function emptyProgram(): number {
  return run(['-e', ''])
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
  const compared = await compare(context, async () => (await startOnce(project)) ?? Number.NaN, emptyProgram)
  return resultOf({ name, ...compared, unit: 'ms', target })
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
