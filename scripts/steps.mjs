/** What the scripts share: where the clone is, how a tool is run, and how to stop with a sentence. */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'

export const ROOT = fileURLToPath(new URL('..', import.meta.url))

/** The programs we run are scripts of packages, started by this very Node: no shell, and no search on the PATH. */
const TOOLS = {
  biome: 'node_modules/@biomejs/biome/bin/biome',
  tsc: 'node_modules/typescript/bin/tsc',
  vite: 'node_modules/vite/bin/vite.js',
  vitest: 'node_modules/vitest/vitest.mjs',
}

/** The exit code for arguments that are not understood: neither "done" nor "found something". */
export const MISUSED = 64

/** A reason to stop that the reader can act on; anything else that is thrown is a mistake of ours and keeps its stack. */
export class Stop extends Error {
  /**
   * @param {string} message
   * @param {{ hint?: string, exit?: number }} [options]
   */
  constructor(message, { hint, exit = 1 } = {}) {
    super(message)
    this.hint = hint
    this.exit = exit
  }
}

/**
 * Runs a tool and returns its exit code.
 *
 * @param {keyof typeof TOOLS} tool
 * @param {readonly string[]} args
 * @param {{ root?: string, stdout?: 'inherit' | 2, env?: NodeJS.ProcessEnv }} [options] stdout 2 sends its words to stderr
 * @returns {number}
 */
export function runTool(tool, args, { root = ROOT, stdout = 'inherit', env = process.env } = {}) {
  const done = spawnSync(process.execPath, [join(ROOT, TOOLS[tool]), ...args], {
    cwd: root,
    env,
    stdio: ['ignore', stdout, 'inherit'],
  })
  if (done.error !== undefined) throw done.error
  return done.status ?? 1
}

/**
 * A fresh folder of this process in `parent`. What processes that are gone left there under the same name is removed: while a
 * tool runs, nobody here hears the signal that ends us.
 *
 * @param {string} name
 * @param {string} [parent]
 * @returns {string}
 */
export function folderOfRun(name, parent = join(ROOT, '.cache')) {
  mkdirSync(parent, { recursive: true })
  for (const entry of readdirSync(parent)) {
    const [, pid] = new RegExp(`^${name}-(\\d+)-\\w+$`).exec(entry) ?? []
    if (pid !== undefined && !isAlive(Number(pid))) rmSync(join(parent, entry), { recursive: true, force: true })
  }
  return mkdtempSync(join(parent, `${name}-${process.pid}-`))
}

/** @param {number} pid */
function isAlive(pid) {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    // somebody else's process is alive
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

/**
 * What the command line says. A flag that is not known is the caller's mistake, and ends with 64; no other failure does.
 *
 * @template {NonNullable<import('node:util').ParseArgsConfig['options']>} const T
 * @param {T} options
 * @param {readonly string[]} [argv]
 */
export function flagsIn(options, argv = process.argv.slice(2)) {
  try {
    return parseArgs({ args: [...argv], options }).values
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    if (!(error instanceof Error) || !code.startsWith('ERR_PARSE_ARGS')) throw error
    const flags = Object.keys(options).map((name) => `--${name}`)
    throw new Stop(`Cannot read the command line: ${error.message.replace(/\.$/, '')}`, {
      hint: flags.length === 0 ? 'It takes no flags' : `The flags are ${flags.join(', ')}`,
      exit: MISUSED,
    })
  }
}

/**
 * The whole number that a flag was given, or what stands for it when it was not.
 *
 * @template T
 * @param {string} flag
 * @param {string | undefined} given
 * @param {T} otherwise
 * @param {number} [least]
 */
export function wholeNumber(flag, given, otherwise, least = 0) {
  if (given === undefined) return otherwise
  if (/^\d{1,15}$/.test(given) && Number(given) >= least) return Number(given)
  throw new Stop(`Cannot use --${flag} ${JSON.stringify(given)}: it is no whole number from ${least} on`, {
    exit: MISUSED,
  })
}

/**
 * Runs `main` when this file is the program and not an import, and turns a Stop into its sentence and exit code. Asked for help, it
 * shows what stands at the head of the script instead.
 *
 * @param {ImportMeta} meta
 * @param {() => unknown} main
 * @param {{ helpsItself?: boolean }} [how]
 */
export async function whenProgram(meta, main, { helpsItself = false } = {}) {
  const program = process.argv[1]
  // a clone that is reached over a link is named with the link in argv, and without it in the URL
  if (program === undefined || !existsSync(program) || meta.url !== pathToFileURL(realpathSync(program)).href) return
  if (!helpsItself && process.argv.slice(2).includes('--help')) {
    process.stdout.write(headOf(readFileSync(program, 'utf8')))
    return
  }
  try {
    await main()
  } catch (error) {
    if (!(error instanceof Stop)) throw error
    process.stderr.write(`${error.message}\n${error.hint === undefined ? '' : `hint: ${error.hint}\n`}`)
    process.exitCode = error.exit
  }
}

/**
 * The comment that a script begins with, as plain text.
 *
 * @param {string} source
 */
function headOf(source) {
  const [, comment = ''] = /^\/\*\*(.*?)\*\//s.exec(source) ?? []
  const lines = comment.split('\n').map((line) => line.replace(/^ \* ?/, '').trimEnd())
  return `${lines.join('\n').trim()}\n`
}
