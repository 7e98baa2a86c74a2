/**
 * Installs what is missing, and nothing when nothing is.
 *
 * "Missing" is judged by a marker inside node_modules that names the lockfile, the Node major and the platform of the
 * last complete installation. npm speaks on stderr, because stdout belongs to whatever is started afterwards.
 */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Stop } from './steps.mjs'

const MARKER = join('node_modules', '.symbi-installed')

/**
 * @param {string} root the clone
 * @returns {boolean} whether anything was installed
 */
export function installMissing(root) {
  const wanted = stateOf(root)
  if (readOrNull(join(root, MARKER)) === wanted) return false
  process.stderr.write('Installing what is missing (npm ci) …\n')
  rmSync(join(root, MARKER), { force: true }) // an interrupted installation must not look complete
  const { command, args } = npm(process.env.npm_execpath)
  const options = ['ci', '--include=dev', '--ignore-scripts', '--no-audit', '--no-fund']
  const done = spawnSync(command, [...args, ...options], {
    cwd: root,
    stdio: ['ignore', 2, 2],
    shell: process.platform === 'win32' && args.length === 0,
  })
  if (done.error !== undefined) {
    throw new Stop(`Cannot install the dependencies: npm does not start (${done.error.message})`, {
      hint: 'Install npm, which comes with Node, and see that it is on the PATH',
    })
  }
  if (done.status !== 0) {
    throw new Stop(`Cannot install the dependencies: npm ended with ${done.status ?? done.signal}`, {
      hint: 'Its words are above. The first installation needs the package registry: check the network or the proxy, then try again',
    })
  }
  mkdirSync(join(root, 'node_modules'), { recursive: true }) // npm makes none when there is nothing to put in it
  writeFileSync(join(root, MARKER), wanted)
  return true
}

/**
 * What must be true of an installation that still fits.
 *
 * @param {string} root
 */
function stateOf(root) {
  const lock = createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .digest('hex')
  const major = process.versions.node.split('.')[0]
  return `${lock} node-${major} ${process.platform}-${process.arch}\n`
}

/**
 * The npm that runs us, where there is one, so that no second one is looked for on the PATH. Other package managers set
 * the same variable, and do not understand `ci`.
 *
 * @param {string | undefined} execpath
 */
export function npm(execpath) {
  return execpath !== undefined && /npm-cli\.c?js$/.test(execpath)
    ? { command: process.execPath, args: [execpath] }
    : { command: 'npm', args: [] }
}

/** @param {string} path */
function readOrNull(path) {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return null
  }
}
