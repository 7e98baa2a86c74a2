/** The fuzzer itself: it finds what is hidden where only coverage leads, and what it finds is told with all that is needed. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { COUNTERS, Counters, head, transpile } from '../../scripts/instrument.mjs'
import { Bug, Fault } from '../../src/core/index.ts'
import { distilled, nameOf, readCorpus, writeCorpus } from './corpus.ts'
import { type FuzzOptions, fuzz } from './fuzzer.ts'
import { answer, must, plain, presentable, pure, type Target, Violation } from './target.ts'

/** A parser with a fault behind conditions of which all are met at once by no input that chance makes. */
const HIDDEN = `
export function parse(bytes: Uint8Array): number {
  if (bytes[0] !== 0x53) return 0
  if (bytes[1] !== 0x59) return 1
  if (bytes[2] !== 0x4d) return 2
  let sum = 0
  for (const byte of bytes.subarray(3)) sum += byte
  if (sum <= 300) return 3
  throw new TypeError('a length that was never checked')
}
export function slow(bytes: Uint8Array): number {
  let pairs = 0
  for (const one of bytes) for (const other of bytes) if (one === other) pairs += 1
  return pairs
}
`

interface Planted {
  parse(bytes: Uint8Array): number
  slow(bytes: Uint8Array): number
}

const moduleOf = async (text: string): Promise<Planted> =>
  (await import(/* @vite-ignore */ `data:text/javascript,${encodeURIComponent(text)}`)) as Planted

const blind = await moduleOf(transpile(HIDDEN, 'planted.ts', null))
/** Compiled as the fuzzer compiles what it fuzzes. Its counters are there only while a test asks for them. */
const counters = new Counters()
const text = transpile(HIDDEN, 'planted.ts', counters)
const counted = await moduleOf(`${head(counters)}${text}`)
const counts: unknown = Reflect.get(globalThis, COUNTERS)
Reflect.deleteProperty(globalThis, COUNTERS)

async function counting<T>(work: () => Promise<T>): Promise<T> {
  Reflect.set(globalThis, COUNTERS, counts)
  try {
    return await work()
  } finally {
    Reflect.deleteProperty(globalThis, COUNTERS)
  }
}

function targetOf(run: (input: Uint8Array) => void, more: Partial<Target> = {}): Target {
  return {
    name: 'planted',
    property: 'what is thrown is a Fault',
    seeds: ['abcdefgh'],
    bytesMax: 64,
    steps: { fixed: 1000, perByte: 10 },
    open: () => pure(run),
    ...more,
  }
}

const RUNS = 60_000
const options = (more: Partial<FuzzOptions> = {}): FuzzOptions => ({ seed: 1, kept: [], runs: RUNS, ...more })

test('a fault behind four conditions is found when coverage leads there, and made small', async () => {
  const target = targetOf((input) => void answer(() => counted.parse(input)))
  const found = await counting(() => fuzz(target, options()))
  expect(found.findings).toHaveLength(1)
  const [{ input, error } = { input: new Uint8Array(), error: null }] = found.findings
  expect(error).toBeInstanceOf(Violation)
  expect(String(error)).toContain('TypeError: a length that was never checked')
  expect(Buffer.from(input).toString('latin1', 0, 3)).toBe('SYM')
  expect(input.length).toBeLessThanOrEqual(9)
})

test('the same fault is not found by as many inputs that nothing leads', async () => {
  const found = await fuzz(
    targetOf((input) => void answer(() => blind.parse(input))),
    options(),
  )
  expect(found.runs).toBeGreaterThan(RUNS)
  expect(found.findings).toEqual([])
})

test('the same seed tries the same inputs', async () => {
  const tried = async (seed: number): Promise<string> => {
    const inputs: string[] = []
    const note = (input: Uint8Array): void => void inputs.push(nameOf(input))
    await fuzz(targetOf(note), options({ seed, runs: 50 }))
    return inputs.join()
  }
  expect(await tried(7)).toBe(await tried(7))
  expect(await tried(7)).not.toBe(await tried(8))
})

test('work that grows faster than its input is found by counting its steps', async () => {
  const target = targetOf((input) => void counted.slow(input), { steps: { fixed: 50, perByte: 20 } })
  const found = await counting(() => fuzz(target, options({ runs: 5000 })))
  expect(String(found.findings[0]?.error)).toMatch(/^Violation: \d+ bytes cost \d+ steps, and \d+ are allowed$/)
})

test('findings of one kind are told once, and an input that breaks nothing is no finding', async () => {
  const run = (input: Uint8Array): void => must(!input.includes(0x7b), `no "${input.length}" bytes with a brace`)
  const { findings } = await fuzz(targetOf(run, { words: ['{'] }), options({ runs: 2000 }))
  expect(findings.map(({ input }) => Buffer.from(input).toString())).toEqual(['{'])
})

test.each([
  [
    'what is no Fault',
    () => {
      throw new Bug('a promise')
    },
  ],
  [
    'a message with a path of the host',
    () => {
      throw new Fault('INVALID_JSON', { message: `Cannot read "${process.cwd()}/x"` })
    },
  ],
  [
    'a fact with a path of the host',
    () => {
      throw new Fault('INVALID_JSON', { message: 'Cannot read it', facts: { at: join(tmpdir(), 'x') } })
    },
  ],
  [
    'a message without an end',
    () => {
      throw new Fault('INVALID_JSON', { message: 'x'.repeat(5000) })
    },
  ],
  [
    'a code that no table has',
    () => {
      throw new Fault('NO_CODE' as never, { message: 'Cannot read it' })
    },
  ],
])('%s is a violation', (_, parse) => {
  expect(() => answer(parse)).toThrow(Violation)
})

test('a Fault with a code of the table is an answer, and a polluted value is a violation', () => {
  const fault = new Fault('INVALID_JSON', { message: 'Cannot read it: it is no JSON' })
  expect(presentable(fault)).toBe(fault)
  expect(() => plain(JSON.parse('{"a":{"__proto__":1}}'))).toThrow(Violation)
  expect(() => plain({ a: [new (class {})()] })).toThrow(Violation)
})

test('a corpus keeps few and small inputs that take all ways, and what was found for ever', async () => {
  const root = mkdtempSync(join(tmpdir(), 'symbi-corpus-'))
  try {
    writeCorpus(root, 'planted', [Buffer.from('abc')])
    writeFileSync(join(root, 'planted', 'found-x'), 'kept')
    const target = targetOf((input) => void counted.parse(input))
    const inputs = ['abcd', 'S', 'Sa', 'SY', 'SYa', 'SYM', 'a'].map((text) => Buffer.from(text))
    const kept = await counting(() => distilled(target, inputs))
    expect(kept.map(String).sort()).toEqual(['S', 'SY', 'SYM', 'a'])
    writeCorpus(root, 'planted', kept)
    expect(readdirSync(join(root, 'planted'))).toHaveLength(5)
    expect(readCorpus(root, 'planted').map(({ name }) => name)).toContain('found-x')
    expect(readFileSync(join(root, 'planted', nameOf(Buffer.from('SYM'))), 'utf8')).toBe('SYM')
    expect(readCorpus(root, 'absent')).toEqual([])
  } finally {
    rmSync(root, { recursive: true })
  }
})
