/**
 * `npm run fuzz`: hunts for inputs that break the property of a parser. A finding is written to `.cache/fuzz-findings`, with the
 * command that runs it again, and the exit code is 1. `test/fuzz/corpus/` is left as it is, unless it is asked to grow: then
 * what takes a way of its own joins it. The flags are those of `scripts/fuzz.mjs`, which reads them before it compiles this.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { inspect } from 'node:util'
import { distilled, nameOf, readCorpus, writeCorpus } from './corpus.ts'
import { isCounting } from './coverage.ts'
import { type FuzzResult, fuzz, runOne } from './fuzzer.ts'
import type { Target } from './target.ts'
import { TARGETS } from './targets.ts'
import { startWatchdog } from './watchdog.ts'

export interface Output {
  readonly result: (line: string) => void
  readonly note: (line: string) => void
}

export interface Options {
  /** Names of targets. */
  readonly targets: readonly string[]
  readonly seconds: number | null
  readonly runs: number
  readonly seed: number
  /** The input that is run again, and nothing else. */
  readonly replay: Uint8Array | null
  readonly grow: boolean
}

/** Resolves with the exit code: 1 with findings, and where a parser was hardly entered. */
export async function main(options: Options, root: string, output: Output): Promise<number> {
  const targets = TARGETS.filter(({ name }) => options.targets.includes(name))
  const [first] = targets
  if (options.replay !== null && first !== undefined) return await replay(first, options.replay, output)
  output.note(`fuzz: seed ${options.seed}`)
  const rows: Judged[] = []
  for (const target of targets) rows.push(await campaign(target, options, root, output))
  for (const line of table(rows)) output.result(line)
  if (!options.grow) output.note('fuzz: the corpus is as it was; --grow keeps what takes a way of its own')
  return rows.every(({ findings, isEntered }) => findings === 0 && isEntered) ? 0 : 1
}

async function campaign(target: Target, options: Options, root: string, output: Output): Promise<Judged> {
  const corpus = join(root, 'test', 'fuzz', 'corpus')
  const findings = join(root, '.cache', 'fuzz-findings')
  mkdirSync(findings, { recursive: true })
  const result = await hunt(target, options, { corpus, findings }, output)
  for (const { input, error } of result.findings) {
    const file = join(findings, `${target.name}-${nameOf(input)}`)
    writeFileSync(file, input)
    output.note(`fuzz: ${target.name}: ${error instanceof Error ? error.message : String(error)}`)
    output.note(`fuzz: ${target.name}: ${input.length} bytes, ${again(target, file)}`)
  }
  const isEntered = !isCounting() || areWaysLeft(readCorpus(corpus, target.name).length, result.ofKept)
  if (!isEntered) output.note(`fuzz: ${target.name}: ${NOT_ENTERED}`)
  const kept = options.grow ? await distilled(target, result.corpus) : []
  if (options.grow) writeCorpus(corpus, target.name, kept)
  return { ...rowOf(target, result, kept), isEntered }
}

const NOT_ENTERED =
  'not shown: most inputs of its corpus take no way of their own any more, as where a parser refuses everything; if that is right, keep a new corpus with --grow'

/** Each input was kept for a way that no other took. A change of the parser brings some of them together, and never most. */
export function areWaysLeft(kept: number, taken: number): boolean {
  return taken >= kept / 2
}

async function hunt(
  target: Target,
  { seed, runs, seconds }: Options,
  places: { readonly corpus: string; readonly findings: string },
  output: Output,
): Promise<FuzzResult> {
  const hung = join(places.findings, `${target.name}-hung`)
  const says = `fuzz: ${target.name}: an input does not end; ${again(target, hung)}`
  const watchdog = startWatchdog({ file: hung, says, bytesMax: target.bytesMax })
  const end = seconds === null ? Number.POSITIVE_INFINITY : performance.now() + seconds * 1000
  let told = performance.now()
  try {
    return await fuzz(target, {
      seed,
      kept: readCorpus(places.corpus, target.name).map(({ input }) => input),
      runs,
      isOver: () => performance.now() >= end,
      before: watchdog.before,
      progress: (state) => {
        if (performance.now() - told < 5000) return
        told = performance.now()
        output.note(`fuzz: ${target.name}: ${state.runs} runs, ${state.corpus.length} inputs, ${state.edges} edges`)
      },
    })
  } finally {
    await watchdog.stop()
  }
}

/** Runs one file, and shows all that is known of what it breaks. */
async function replay(target: Target, input: Uint8Array, output: Output): Promise<number> {
  await using opened = await target.open()
  try {
    const { steps } = await runOne(target, opened, input)
    output.result(`${target.name}: the property holds for these ${input.length} bytes, in ${steps} steps`)
    return 0
  } catch (error) {
    output.result(`${target.name}: ${target.property}\n${inspect(error)}`)
    return 1
  }
}

function again(target: Target, file: string): string {
  return `run it again with: npm run fuzz -- --target ${target.name} --replay ${relative(process.cwd(), file)}`
}

interface Row {
  readonly target: string
  readonly runs: number
  readonly inputs: number
  readonly kept: number
  readonly bytes: number
  readonly edges: number
  readonly stepsPerByte: number
  readonly findings: number
}

/** With whether the parser was entered; that is no column. */
type Judged = Row & { readonly isEntered: boolean }

function rowOf({ name }: Target, result: FuzzResult, kept: readonly Uint8Array[]): Row {
  return {
    target: name,
    runs: result.runs,
    inputs: result.corpus.length,
    kept: kept.length,
    bytes: kept.reduce((sum, { length }) => sum + length, 0),
    edges: result.edges,
    stepsPerByte: Math.ceil(result.stepsPerByte),
    findings: result.findings.length,
  }
}

function table(rows: readonly Judged[]): readonly string[] {
  const cells = rows.map(({ isEntered: _, ...row }) => Object.values(row).map(String))
  const lines = [['target', 'runs', 'inputs', 'kept', 'bytes', 'edges', 'steps/byte', 'findings'], ...cells]
  const widths = lines[0]?.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0))) ?? []
  return lines.map((line) =>
    line.map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0))).join('  '),
  )
}
