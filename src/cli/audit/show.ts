/** `symbi audit show`: a timeline for the eye, as wide as the terminal; with `--json` every entry, one object a line. */
import { instantOf } from '../../core/index.ts'
import { viewStatus } from '../../journal/index.ts'
import type { Cli } from '../cli.ts'
import type { Console, Style } from '../console.ts'
import { jsonLine, oneLine, plain, widthOf, wrap } from '../plain-text.ts'
import { columnsOf } from '../terminal.ts'
import { endingOf } from './project-evidence.ts'
import type { VerifiedRun } from './read-run.ts'
import { type Block, type Line, type Timeline, type Tone, type Totals, timelineOf } from './timeline.ts'
import { keySentence, type TrustedKey } from './trusted-key.ts'

export interface ShowFlags {
  readonly json?: true
  readonly full?: true
}

/** Exits as `audit inspect` does. */
export function show(cli: Cli, run: VerifiedRun, key: TrustedKey, flags: ShowFlags): number {
  const { report, prefix } = run
  if (flags.json === true) showJson(cli, run, key)
  else {
    const timeline = timelineOf(prefix.entries, report)
    const page = new Page(cli.console, columnsOf(cli), flags.full === true)
    for (const line of page.lines(run, key, timeline)) cli.console.result(line)
  }
  return report.requires_reconciliation ? 2 : 0
}

function showJson({ console }: Cli, { report, prefix }: VerifiedRun, key: TrustedKey): void {
  const { effects: _, recovered_budget: __, ...summary } = report
  const status = viewStatus(report)
  console.result(
    jsonLine({ event: 'verified', status, ...summary, independent: key.independent, key: keySentence(key) }),
  )
  let before: bigint | null = null
  for (const { event, ...entry } of prefix.entries) {
    const { kind, ...members } = event
    const now = instantOf(entry.timestamp)
    const after_ms = before === null ? 0 : Number((now - before) / 1000n) / 1000
    before = now
    console.result(jsonLine({ event: 'entry', ...entry, after_ms, kind, members }))
  }
}

const STYLES: Readonly<Record<Tone, Style | null>> = {
  plain: null,
  good: 'green',
  dim: 'dim',
  call: 'cyan',
  denied: 'red',
  unknown: 'yellow',
}
const MARKS: Readonly<Record<Tone, string>> = { plain: ' ', good: '+', dim: ' ', call: ' ', denied: 'x', unknown: '?' }

const TAG_COLUMNS = 9
const INDENT = TAG_COLUMNS + 5
const DETAIL_LINES_MAX = 3

class Page {
  readonly #console: Console
  readonly #columns: number
  readonly #full: boolean

  constructor(console: Console, columns: number, full: boolean) {
    this.#console = console
    this.#columns = columns
    this.#full = full
  }

  lines(run: VerifiedRun, key: TrustedKey, { opening, blocks, totals }: Timeline): readonly string[] {
    return [
      ...this.#head(run, key),
      ...opening.flatMap((line) => this.#line(line)),
      ...blocks.flatMap((block) => this.#block(block)),
      '',
      this.#rule('totals'),
      ...this.#totals(totals),
    ]
  }

  #head({ report, prefix }: VerifiedRun, key: TrustedKey): readonly string[] {
    const { verified_records, verified_bytes, agent_id, run_id, terminal_reason, warnings } = report
    const status = viewStatus(report)
    const ok = status === 'completed' || status === 'stopped'
    const ending = terminal_reason === null ? 'no end of the run' : `ended ${endingOf(terminal_reason)}`
    const first = prefix.entries[0]
    const begin = first === undefined ? '' : first.timestamp.replace('T', ' ').replace(/(\.\d{3})\d*/, '$1')
    const invocation = first?.event.kind === 'Started' ? first.event.execution_context?.invocation : undefined
    const claim =
      typeof invocation === 'object' && invocation !== null && 'id' in invocation
        ? [this.#fact('invocation', `${invocation.scope} ${invocation.id}`)]
        : []
    return [
      this.#fact('verified', `${verified_records.toLocaleString('en')} records, ${bytes(verified_bytes)}`, 'green'),
      this.#fact('', keySentence(key)),
      this.#fact('status', `${SAYS[status]}; ${ending}`, ok ? 'green' : 'yellow'),
      ...warnings.map((warning) => this.#fact('warning', warning, 'yellow')),
      this.#fact('run', run_id),
      this.#fact('agent', agent_id),
      ...claim,
      this.#fact('began', begin),
      '',
    ]
  }

  #fact(name: string, text: string, style?: Style): string {
    const value = oneLine(text)
    return `${this.#console.paint('dim', name.padEnd(11))}${style === undefined ? value : this.#console.paint(style, value)}`
  }

  #block({ iteration, startMs, lines }: Block): readonly string[] {
    const title = `iteration ${iteration}  at ${duration(startMs)}`
    return ['', this.#rule(title), ...lines.flatMap((line) => this.#line(line))]
  }

  #rule(title: string): string {
    const dashes = Math.max(2, this.#columns - widthOf(title) - 4)
    return this.#console.paint('bold', `── ${title} ${'─'.repeat(dashes)}`)
  }

  /** The mark says without colour what the colour says: `x` denied, `?` unknown, `+` allowed. */
  #line({ tag, tone, text, details, sequence, afterMs }: Line): readonly string[] {
    const style = STYLES[tone]
    const loud = tone === 'denied' || tone === 'unknown'
    const paint = (part: string): string => (style === null ? part : this.#console.paint(style, part))
    const margin = `#${sequence}${afterMs >= 1 ? ` +${duration(afterMs)}` : ''}`
    const room = this.#columns - INDENT - 14
    const [first = '', ...rest] = this.#fold(text, room, loud)
    const gap = ' '.repeat(Math.max(1, this.#columns - INDENT - widthOf(first) - widthOf(margin)))
    const shown = loud ? paint(first) : tone === 'dim' ? this.#console.paint('dim', first) : first
    const head = `  ${paint(`${MARKS[tone]} ${tag.padEnd(TAG_COLUMNS)}`)} ${shown}${gap}${this.#console.paint('dim', margin)}`
    const below = [...rest, ...details.flatMap((detail) => this.#fold(detail, this.#columns - INDENT, loud))]
    return [
      head,
      ...below.map((part) => `${' '.repeat(INDENT)}${loud ? paint(part) : this.#console.paint('dim', part)}`),
    ]
  }

  /** What stands out is shown whole; of the rest a few lines, unless all of it is wanted. */
  #fold(text: string, columns: number, whole: boolean): readonly string[] {
    const lines = wrap(plain(text), columns)
    if (this.#full || whole || lines.length <= DETAIL_LINES_MAX) return lines
    const left = lines.length - DETAIL_LINES_MAX
    return [...lines.slice(0, DETAIL_LINES_MAX), `… ${left} more line${left === 1 ? '' : 's'} (--full)`]
  }

  #totals({ inferences, tokens, toolCalls, denials, unknown, tookMs }: Totals): readonly string[] {
    const parts = [
      `${inferences} inference${inferences === 1 ? '' : 's'}`,
      `${tokens.toLocaleString('en')} tokens`,
      `${toolCalls} tool call${toolCalls === 1 ? '' : 's'}`,
    ]
    const denied = `${denials} denial${denials === 1 ? '' : 's'}`
    const open = `${unknown} unknown outcome${unknown === 1 ? '' : 's'}`
    const { paint } = this.#console
    const loud = [denials > 0 ? paint('red', denied) : denied, unknown > 0 ? paint('yellow', open) : open]
    return [`  ${[...parts, ...loud, duration(tookMs)].join(' · ')}`]
  }
}

const SAYS = {
  completed: 'complete, and everything it did is recorded',
  stopped: 'complete, and everything it did is recorded',
  incomplete: 'incomplete: it needs an operator, or it is at work',
  unknown_effects: 'complete, and the outcome of some effect is unknown: it needs an operator',
} as const

function bytes(count: number): string {
  return count < 1024
    ? `${count} bytes`
    : count < 1024 * 1024
      ? `${(count / 1024).toFixed(1)} KiB`
      : `${(count / 1024 / 1024).toFixed(1)} MiB`
}

function duration(ms: number): string {
  return ms < 1000
    ? `${Math.round(ms)} ms`
    : ms < 60_000
      ? `${(ms / 1000).toFixed(2)} s`
      : `${(ms / 60_000).toFixed(1)} min`
}
