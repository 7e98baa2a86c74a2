/**
 * The one sentence about Node. Plain JavaScript that even an old Node can read, because it is there to be understood
 * by somebody who has one. The range lives in package.json and nowhere else.
 */
import { readFileSync } from 'node:fs'

/** The exit code of a platform that cannot run us (EX_UNAVAILABLE). */
export const EXIT_PLATFORM = 69

/**
 * What is wrong with this Node, or null.
 *
 * @param {string} running for example "20.19.0"
 * @param {string} range ">=MAJOR.MINOR", the only form that package.json uses
 * @returns {string | null}
 */
export function nodeProblem(running, range) {
  const wanted = /^>=(\d+)\.(\d+)$/.exec(range)
  if (wanted === null) return `Cannot start: the Node range "${range}" in package.json is not understood`
  const [major = 0, minor = 0] = running.split('.').map(Number)
  const [, majorMin, minorMin] = wanted.map(Number)
  if (major > Number(majorMin) || (major === Number(majorMin) && minor >= Number(minorMin))) return null
  return `Cannot start: this is Node ${running}, and Node ${majorMin}.${minorMin} or newer is needed`
}

/**
 * Leaves with a sentence on stderr when this Node is too old.
 *
 * @returns {{ version: string, engines: { node: string } }} what package.json says of us
 */
export function requireNode() {
  const about = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
  const problem = nodeProblem(process.versions.node, about.engines.node)
  if (problem === null) return about
  process.stderr.write(`${problem}\nhint: Install a current Node from https://nodejs.org and try again\n`)
  process.exit(EXIT_PLATFORM)
}
