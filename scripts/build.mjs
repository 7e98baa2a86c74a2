/**
 * Builds dist from src, when src changed: the modules that the package exports, and the command line as a few files of its own
 * (`vite.config.ts`), because a process that starts reads few files sooner than many.
 *
 * A fingerprint of the sources lies in dist. It is removed before a build and written after a complete one, so a build
 * that was interrupted or failed is never taken for a program. What tsc leaves behind for a source that is gone, goes too.
 */
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { ROOT, runTool, Stop, whenProgram } from './steps.mjs'

const FINGERPRINT = join('dist', '.fingerprint')
const SETTINGS = ['tsconfig.json', 'tsconfig.build.json', 'vite.config.ts', 'package-lock.json']
/** Where the command line lies, below dist: made by the bundler, which keeps nothing of last time. */
const COMMAND_LINE = 'symbi'

/**
 * @param {string} root the clone
 * @param {{ stdout?: 'inherit' | 2 }} [options] where the compiler speaks
 * @returns {boolean} whether anything was built
 */
export function buildWhenStale(root, { stdout = 'inherit' } = {}) {
  const wanted = fingerprintOf(root)
  const stamp = join(root, FINGERPRINT)
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return false
  rmSync(stamp, { force: true })
  if (runTool('tsc', ['-p', 'tsconfig.build.json'], { root, stdout }) !== 0) {
    throw new Stop('Cannot build the program: the compiler found errors', { hint: 'They are listed above' })
  }
  removeOrphans(root)
  if (runTool('vite', ['build'], { root, stdout }) !== 0) {
    throw new Stop('Cannot build the program: the bundler failed', { hint: 'Its words are above' })
  }
  writeFileSync(stamp, wanted)
  return true
}

/** @param {string} root */
function fingerprintOf(root) {
  const hash = createHash('sha256')
  for (const path of [...SETTINGS, ...filesUnder(root, 'src')]) {
    const bytes = readFileSync(join(root, path))
    hash.update(`${path}\0${bytes.length}\0`).update(bytes)
  }
  return `${hash.digest('hex')}\n`
}

/** @param {string} root */
function removeOrphans(root) {
  for (const path of filesUnder(root, 'dist')) {
    if (path.startsWith(`dist/${COMMAND_LINE}/`)) continue
    const made = /^dist\/(.+?)(?:\.d\.ts|\.js|\.js\.map)$/.exec(path)
    if (made !== null && !existsSync(join(root, 'src', `${made[1]}.ts`))) rmSync(join(root, path))
  }
}

/**
 * Paths of the files below a folder, in one order on every machine.
 *
 * @param {string} root
 * @param {string} folder
 * @returns {string[]}
 */
function filesUnder(root, folder) {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)).split(sep).join('/'))
    .sort()
}

await whenProgram(import.meta, () => {
  process.stderr.write(buildWhenStale(ROOT) ? 'Built dist from src\n' : 'dist is up to date\n')
})
