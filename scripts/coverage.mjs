/**
 * Measures how much of the folders that keep the promises is reached by tests, and fails below the bound. Runs the tests of
 * these folders and of those that are built from them, in its own workers; what a test starts as a process of its own is not
 * counted, so code that only a child reaches needs a test in the process as well.
 */
import { readFileSync, rmSync } from 'node:fs'
import { join, relative } from 'node:path'
import { requireNode } from '../bin/node-version.js'
import { flagsIn, folderOfRun, ROOT, runTool, Stop, whenProgram } from './steps.mjs'

const FOLDERS = ['journal', 'dispatch', 'invocations', 'policy', 'loop']
const TESTS = [...FOLDERS, 'session', 'delegation', 'coordinator', 'runtime']

/** Percent of the lines, and of the branches, of each folder. */
const BOUND = 95

/** What is counted, in the order of the columns; the first two have the bound. */
const COUNTED = /** @type {const} */ (['lines', 'branches', 'functions'])

/** @typedef {{ total: number, covered: number }} Count */
/** @typedef {Record<typeof COUNTED[number], Count>} Counts */

await whenProgram(import.meta, () => {
  requireNode()
  flagsIn({})
  const files = measure()
  const rows = FOLDERS.map((folder) => ({ folder, counts: sum(files, folder) }))
  process.stdout.write(`\n${tableOf(rows)}\n`)
  const below = rows.filter(({ counts }) => COUNTED.slice(0, 2).some((name) => percent(counts[name]) < BOUND))
  if (below.length === 0) return
  const names = below.map(({ folder }) => folder).join(', ')
  throw new Stop(`Too little is reached by tests: ${names} is below ${BOUND} % of its lines or branches`, {
    hint: 'The table above the last one names the lines of each file that no test reaches',
  })
})

/** @returns {Record<string, Counts>} by path */
function measure() {
  const folder = folderOfRun('coverage')
  try {
    const options = [
      '--coverage.enabled',
      '--coverage.provider=v8',
      ...FOLDERS.map((name) => `--coverage.include=src/${name}/**/*.ts`),
      '--coverage.reporter=text',
      '--coverage.reporter=json-summary',
      `--coverage.reportsDirectory=${folder}`,
      '--coverage.processingConcurrency=1',
    ]
    const tests = TESTS.map((name) => `test/${name}/`)
    // what a file with a process of its own loads would be counted as another copy
    if (runTool('vitest', ['run', '--project', 'shared', ...options, ...tests]) !== 0) {
      throw new Stop('Cannot measure: a test failed', { hint: 'It is named above' })
    }
    const { total: _, ...files } = JSON.parse(readFileSync(join(folder, 'coverage-summary.json'), 'utf8'))
    return files
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/**
 * @param {Record<string, Counts>} files
 * @param {string} folder
 * @returns {Counts}
 */
export function sum(files, folder) {
  const inside = Object.entries(files).filter(([path]) => relative(join(ROOT, 'src', folder), path)[0] !== '.')
  if (inside.length === 0) throw new Error(`nothing was measured in src/${folder}`)
  const counted = COUNTED.map((name) => [
    name,
    {
      total: inside.reduce((all, [, counts]) => all + counts[name].total, 0),
      covered: inside.reduce((all, [, counts]) => all + counts[name].covered, 0),
    },
  ])
  return Object.fromEntries(counted)
}

/** @param {readonly { folder: string, counts: Counts }[]} rows */
function tableOf(rows) {
  const head = ['| folder | lines | branches | functions |', '| --- | --- | --- | --- |']
  const lines = rows.map(({ folder, counts }) => {
    const cells = COUNTED.map((name) => {
      const { covered, total } = counts[name]
      return `${percent(counts[name]).toFixed(2)} % (${covered} of ${total})`
    })
    return `| ${[folder, ...cells].join(' | ')} |`
  })
  return [...head, ...lines].join('\n')
}

/** @param {Count} count */
function percent({ total, covered }) {
  return total === 0 ? 100 : (100 * covered) / total
}
