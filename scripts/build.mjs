/**
 * Builds dist from src, when src changed: the modules that the package exports, and the command line as a few files of its
 * own (`vite.config.ts`), because a process that starts reads few files sooner than many. `--fresh` removes dist first.
 *
 * A fingerprint of the sources lies in dist. It is removed before a build and written after a complete one, so a build
 * that was interrupted or failed is never taken for a new one. What tsc leaves behind for a source that is gone, goes too.
 */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { flagsIn, folderOfRun, ROOT, runTool, Stop, whenProgram } from './steps.mjs'

const FINGERPRINT = join('dist', '.fingerprint')
const SETTINGS = ['tsconfig.json', 'tsconfig.build.json', 'vite.config.ts', 'package-lock.json']
/** Where the command line lies, below dist, and where it starts. `bin/symbi.js` names it too; no folder of src may. */
const COMMAND_LINE = 'symbi'
const ENTRY = 'symbi.js'
/** A server that runs loads some of its files only when a client needs them. */
const KEPT_MS = 24 * 60 * 60 * 1000

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
  buildCommandLine(root, stdout)
  writeFileSync(stamp, wanted)
  return true
}

/**
 * The bundler writes beside what there is, and the entry is moved last: until then a process that starts gets the command
 * line of before, whole.
 *
 * @param {string} root
 * @param {'inherit' | 2} stdout
 */
function buildCommandLine(root, stdout) {
  const made = folderOfRun('.symbi', join(root, 'dist'))
  try {
    // the settings as they lie there, and no copy of them among the packages
    const settings = ['--config', 'vite.config.ts', '--configLoader', 'runner']
    if (runTool('vite', ['build', ...settings, '--outDir', made], { root, stdout }) !== 0) {
      throw new Stop('Cannot build the program: the bundler failed', { hint: 'Its words are above' })
    }
    const place = join(root, 'dist', COMMAND_LINE)
    mkdirSync(place, { recursive: true })
    const names = readdirSync(made)
    for (const name of [...names.filter((each) => each !== ENTRY), ENTRY]) {
      renameSync(join(made, name), join(place, name))
    }
    for (const name of readdirSync(place)) {
      if (!names.includes(name) && Date.now() - statSync(join(place, name)).mtimeMs > KEPT_MS) rmSync(join(place, name))
    }
  } finally {
    rmSync(made, { recursive: true, force: true })
  }
}

/** @param {string} root */
function fingerprintOf(root) {
  const hash = createHash('sha256').update(readFileSync(fileURLToPath(import.meta.url)))
  for (const path of [...SETTINGS, ...filesUnder(root, 'src')]) {
    const bytes = readFileSync(join(root, path))
    hash.update(`${path}\0${bytes.length}\0`).update(bytes)
  }
  return `${hash.digest('hex')}\n`
}

/** @param {string} root */
function removeOrphans(root) {
  for (const path of filesUnder(root, 'dist')) {
    if (path.startsWith(`dist/${COMMAND_LINE}/`) || path.startsWith('dist/.')) continue
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
  if (flagsIn({ fresh: { type: 'boolean' } }).fresh) rmSync(join(ROOT, 'dist'), { recursive: true, force: true })
  process.stderr.write(buildWhenStale(ROOT) ? 'Built dist from src\n' : 'dist is up to date\n')
})
