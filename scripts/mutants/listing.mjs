/** What a run of the mutants came to, as text: a table by file, then every change that no test noticed. */

/**
 * @typedef {{ line: number, column: number }} Place
 * @typedef {{ status: string, mutatorName: string, replacement?: string, location: { start: Place, end: Place } }} Mutant
 * @typedef {{ files: Record<string, { source: string, mutants: readonly Mutant[] }> }} Report
 */

const COLUMNS = ['Killed', 'Timeout', 'RuntimeError', 'Survived', 'NoCoverage']
const NOTICED = ['Killed', 'Timeout', 'RuntimeError']

/** @param {Report} report */
export function listingOf({ files }) {
  const rows = Object.entries(files).map(([path, { mutants }]) => rowOf(path, mutants))
  rows.push(
    rowOf(
      'all',
      Object.values(files).flatMap(({ mutants }) => mutants),
    ),
  )
  const table = [
    '| file | mutants | killed | timed out | error outside a test | survived | not reached | score |',
    '| --- | --- | --- | --- | --- | --- | --- | --- |',
    ...rows,
  ]
  const left = Object.entries(files).flatMap(([path, { source, mutants }]) =>
    mutants.filter(({ status }) => !NOTICED.includes(status)).map((mutant) => lineOf(path, source, mutant)),
  )
  return `${[...table, '', ...left].join('\n')}\n`
}

/**
 * @param {string} name
 * @param {readonly Mutant[]} mutants
 */
function rowOf(name, mutants) {
  const counts = COLUMNS.map((status) => mutants.filter((mutant) => mutant.status === status).length)
  const noticed = mutants.filter(({ status }) => NOTICED.includes(status)).length
  const score = mutants.length === 0 ? '' : `${((100 * noticed) / mutants.length).toFixed(1)} %`
  return `| ${[name, mutants.length, ...counts, score].join(' | ')} |`
}

/**
 * @param {string} path
 * @param {string} source
 * @param {Mutant} mutant
 */
function lineOf(path, source, { status, mutatorName, replacement = '', location: { start, end } }) {
  const lines = source.split('\n').slice(start.line - 1, end.line)
  const last = lines.length - 1
  lines[last] = (lines[last] ?? '').slice(0, end.column - 1)
  lines[0] = (lines[0] ?? '').slice(start.column - 1)
  return `${path}:${start.line}:${start.column} ${status} ${mutatorName}: ${short(lines.join('\n'))} -> ${short(replacement)}`
}

/** @param {string} code */
function short(code) {
  const line = code.replace(/\s+/g, ' ')
  return line.length <= 90 ? line : `${line.slice(0, 60)} … ${line.slice(-25)}`
}
