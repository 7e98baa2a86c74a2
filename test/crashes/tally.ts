/** What came of it, a row for each scenario and moment, and how it is printed. */
import { COUNTERS, type Verdict } from './judge.ts'
import type { Ended } from './life.ts'

type Numbers = Record<'kills' | 'faults' | 'restarts' | (typeof COUNTERS)[number], number>
export type Row = Numbers & { readonly scenario: string; readonly moment: string }

export interface Tally {
  add(scenario: string, moment: string, ends: { readonly kills: number; readonly faults: number }, ended: Ended): void
  /** In the order of scenarios, and of moments within. */
  rows(): readonly Row[]
  total(): Row
}

const ORDER = ['left alone', 'before', 'torn', 'after']

export function tally(): Tally {
  const rows = new Map<string, Row>()
  const sorted = (): readonly Row[] => {
    const scenarios = [...new Set([...rows.values()].map(({ scenario }) => scenario))]
    const rank = ({ scenario, moment }: Row): number =>
      scenarios.indexOf(scenario) * 100 + (ORDER.includes(moment) ? ORDER.indexOf(moment) : ORDER.length)
    return [...rows.values()].sort((left, right) => rank(left) - rank(right) || (left.moment < right.moment ? -1 : 1))
  }
  return {
    add: (scenario, moment, ends, { verdict }) => {
      const key = `${scenario} ${moment}`
      const row = rows.get(key) ?? emptyRow(scenario, moment)
      rows.set(key, sum(row, { ...ends, restarts: 1, ...numbersOf(verdict) }))
    },
    rows: sorted,
    total: () => sorted().reduce((all, row) => sum(all, row), emptyRow('all', '')),
  }
}

function numbersOf(verdict: Verdict): Pick<Numbers, (typeof COUNTERS)[number]> {
  return Object.fromEntries(COUNTERS.map((name) => [name, verdict[name]])) as never
}

const NUMBERS = ['kills', 'faults', 'restarts', ...COUNTERS] as const

function emptyRow(scenario: string, moment: string): Row {
  return { scenario, moment, ...(Object.fromEntries(NUMBERS.map((name) => [name, 0])) as Numbers) }
}

function sum(row: Row, more: Numbers): Row {
  const numbers = Object.fromEntries(NUMBERS.map((name) => [name, row[name] + more[name]])) as Numbers
  return { ...row, ...numbers }
}

const HEADINGS: Readonly<Record<keyof Row, string>> = {
  scenario: 'scenario',
  moment: 'moment',
  kills: 'kills',
  faults: 'faults',
  restarts: 'restarts',
  effects: 'effects',
  without: 'no intent',
  twice: 'twice',
  broken: 'no prefix',
  recorded: 'Recorded',
  unresolved: 'Unresolved',
  notFound: 'NotFound',
  contradictions: 'contradicted',
}
const COLUMNS = Object.keys(HEADINGS) as (keyof Row)[]

/** Lines of equal columns: texts to the left, numbers to the right. */
export function asTable(rows: readonly Row[]): readonly string[] {
  const lines = [HEADINGS, ...rows]
  const widths = COLUMNS.map((name) => Math.max(...lines.map((line) => String(line[name]).length)))
  return lines.map((line) =>
    COLUMNS.map((name, at) => {
      const text = String(line[name])
      return at < 2 ? text.padEnd(widths[at] ?? 0) : text.padStart(widths[at] ?? 0)
    })
      .join('  ')
      .trimEnd(),
  )
}
