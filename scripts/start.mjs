/**
 * `npm start`: installs what is missing, builds what changed, creates a project where there is none, and becomes
 * `symbi up`. Arguments after `--` go to it. Without `--project` it uses a git-ignored folder of the clone.
 *
 * It becomes the server instead of starting one beside itself: signals, stdin, stdout and the exit code are then the
 * server's own, and killing this process kills the server. Until that moment nothing is written to stdout.
 */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { requireNode } from '../bin/node-version.js'
import { buildWhenStale } from './build.mjs'
import { installMissing } from './install.mjs'
import { ROOT, Stop, whenProgram } from './steps.mjs'

/**
 * The arguments of `symbi up`, and the project they name.
 *
 * @param {readonly string[]} args
 * @param {string} root
 * @returns {{ up: string[], project: string }}
 */
export function argumentsOf(args, root) {
  const named = projectIn(args)
  if (named !== null) return { up: ['up', ...args], project: named }
  const project = join(root, '.symbi-demo')
  return { up: ['up', '--project', project, ...args], project }
}

/**
 * @param {readonly string[]} args
 * @returns {string | null}
 */
function projectIn(args) {
  const last = args.findLastIndex((arg) => arg === '--project' || arg.startsWith('--project='))
  if (last === -1) return null
  return args[last] === '--project' ? (args[last + 1] ?? '') : String(args[last]).slice('--project='.length)
}

/**
 * Whether the project must be created first, or its creation finished: `symbi init` writes its settings last. A request for
 * help creates nothing, and a project without a name is left to the command line, which explains itself better.
 *
 * @param {readonly string[]} args
 * @param {string} project
 */
export function needsProject(args, project) {
  if (project === '' || args.includes('--help') || args.includes('-h')) return false
  return !existsSync(join(resolve(project), 'symbiont.toml'))
}

/**
 * Creates the project, with agents that the coordinator can hand tasks to. What it prints is for people, and goes to stderr.
 *
 * @param {string} program the file behind the command `symbi`
 * @param {string} project
 */
export function createProject(program, project) {
  const init = ['init', '--project', project, '--profile', 'multi-agent', '--no-interact']
  const done = spawnSync(process.execPath, [program, ...init], { stdio: ['ignore', 2, 2] })
  if (done.error !== undefined) throw done.error
  if (done.status === 0) return
  throw new Stop(`Cannot create the project in "${project}": symbi init ended with ${done.status ?? done.signal}`, {
    hint: 'Its words are above',
    exit: done.status ?? 1,
  })
}

/**
 * Becomes the program, with these arguments.
 *
 * @param {string} program
 * @param {readonly string[]} args
 */
export async function become(program, args) {
  process.argv.splice(1, process.argv.length, program, ...args)
  await import(pathToFileURL(program).href)
}

await whenProgram(
  import.meta,
  async () => {
    requireNode()
    installMissing(ROOT)
    if (buildWhenStale(ROOT, { stdout: 2 })) process.stderr.write('Built the program\n')
    const program = join(ROOT, 'bin', 'symbi.js')
    const args = process.argv.slice(2)
    const { up, project } = argumentsOf(args, ROOT)
    if (needsProject(args, project)) createProject(program, project)
    await become(program, up)
  },
  { helpsItself: true },
)
