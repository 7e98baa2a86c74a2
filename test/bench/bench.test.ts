/** The measurements run and print well-formed lines. What they measure is not judged here: no test asserts a time. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { BENCHES } from '../../bench/all.ts'
import { main } from '../../bench/main.ts'
import { asText, notAvailable, resultOf, unjudged } from '../../bench/result.ts'
import { compare, median } from '../../bench/rounds.ts'
import { bundled } from '../support/child-script.ts'
import { sourcesIn } from '../support/sources.ts'

async function run(...argv: string[]): Promise<{ code: number; lines: string[]; notes: string[] }> {
  const lines: string[] = []
  const notes: string[] = []
  const code = await main(argv, { result: (line) => lines.push(line), note: (line) => notes.push(line) })
  return { code, lines, notes }
}

const RUN = [
  ['raw floor', 2],
  ['iteration', 5],
  ['broker call', 9],
  ['chat message', 2],
  ['delegation', 2],
  ['decisions', 5],
  ['parse', 2],
  ['records', 2],
  ['append', 1],
  ['verify', 4],
  ['claims', 1],
  ['event loop', 1],
] as const

test.each(RUN)('"--quick --json --only %s" prints one well-formed object a line', async (name, count) => {
  const { code, lines } = await run('--quick', '--json', '--only', name)
  expect(code).toBe(0)
  expect(lines).toHaveLength(count)
  for (const line of lines) {
    const result = JSON.parse(line)
    expect(Object.keys(result)).toEqual(['name', 'value', 'unit', 'floor', 'ratio', 'target', 'met'])
    expect(result.name).toMatch(/\S/)
    expect(Number.isFinite(result.value)).toBe(true)
    expect(result.met, 'a quick look is not judged').toBe(null)
  }
})

/** They start the built program, or a server that a memory is measured of. */
const PROCESSES = ['start-up', 'idle sockets']

test('every measurement that a file of bench/ exports is made, and is run by a test or starts processes', () => {
  const exported = sourcesIn('bench').flatMap(({ text }) => [...text.matchAll(/\{\s+name: '([^']+)',?\s+measure\b/g)])
  expect(exported.map(([, name]) => name).sort()).toEqual(BENCHES.map(({ name }) => name).sort())
  const run = [...RUN.map(([name]) => name), 'syncs', ...PROCESSES]
  expect(run.sort()).toEqual(BENCHES.map(({ name }) => name).sort())
})

test('an iteration and a broker call cost two syncs each, alone and side by side', async () => {
  const { lines } = await run('--quick', '--json', '--only', 'syncs')
  expect(lines.map((line) => JSON.parse(line).value)).toEqual([2, 2, 2, 2])
})

test('without "--json" the lines are a table with a heading', async () => {
  const { lines } = await run('--quick', '--only', 'records')
  expect(lines).toHaveLength(3)
  expect(lines[0]).toMatch(/^what +value +unit +floor +ratio +target$/)
})

test('a name that no measurement has is refused, and the names are told', async () => {
  const { code, lines, notes } = await run('--only', 'dreams')
  expect(code).toBe(64)
  expect(lines).toEqual([])
  expect(notes[1]).toContain('"broker call"')
})

test('a target is judged by the figure it speaks about, and by nothing when there is none', () => {
  const measured = { name: 'a', value: 10, unit: 'ms', ratio: 1.3 }
  expect(resultOf({ ...measured, target: { of: 'ratio', bound: 'at most', limit: 1.2 } }).met).toBe(false)
  expect(resultOf({ ...measured, target: { of: 'ratio', bound: 'at least', limit: 1.2 } }).met).toBe(true)
  expect(resultOf({ ...measured, target: { of: 'value', bound: 'at most', limit: 10 } }).met).toBe(true)
  expect(resultOf(measured)).toMatchObject({ target: null, met: null })
  const absent = notAvailable('b', 'ms', { of: 'value', bound: 'at most', limit: 1 })
  expect(absent).toMatchObject({ value: null, target: 'at most 1 ms', met: null })
  expect(asText(absent)).toContain('not available')
})

test('a quick look names the target and gives no verdict about it', () => {
  const missed = resultOf({ name: 'a', value: 10, unit: 'ms', target: { of: 'value', bound: 'at most', limit: 1 } })
  expect(asText(missed)).toMatch(/at most 1 ms MISSED$/)
  expect(asText(unjudged(missed))).toMatch(/at most 1 ms$/)
  expect(unjudged(missed)).toEqual({ ...missed, met: null })
})

test('two sides take turns, and the median of the rounds is kept', async () => {
  const order: string[] = []
  const sample = (side: string, figures: number[]) => () => {
    order.push(side)
    return figures.shift() ?? 0
  }
  const compared = await compare({ rounds: 3 }, sample('ours', [99, 2, 30, 4]), sample('floor', [99, 1, 10, 1]))
  expect(order.join(' ')).toBe('ours floor floor ours ours floor floor ours')
  expect(compared).toEqual({ value: 4, floor: 1, ratio: 3 })
  expect(median([4, 1, 3, 2])).toBe(2.5)
})

test.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)('a measurement that %s ends leaves nothing behind', { timeout: 60_000 }, async (signal, ended) => {
  const program = await bundled('bench/main.ts')
  const cwd = mkdtempSync(join(tmpdir(), 'symbi-bench-'))
  try {
    const args = ['--expose-gc', program, '--only', 'raw floor']
    const child = spawn(process.execPath, args, { cwd, stdio: ['ignore', 'ignore', 'pipe'] })
    child.stderr.once('data', () => child.kill(signal)) // it says what it measures, once its folder is there
    const [code] = await once(child, 'close')
    expect(code).toBe(ended)
    expect(readdirSync(join(cwd, '.cache'))).toEqual([])
  } finally {
    rmSync(cwd, { recursive: true })
  }
})
