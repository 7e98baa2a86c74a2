/** A run's timeline as lines for the eye, as wide as the terminal and as deep as the run stands in its tree. */
import { viewStatus } from '../../journal/index.ts'
import type { Console, Style } from '../console.ts'
import { oneLine, plain, widthOf, wrap } from '../plain-text.ts'
import { endingOf } from './project-evidence.ts'
import type { VerifiedRun } from './read-run.ts'
import type { Block, Line, Timeline, Totals } from './timeline.ts'
import type { Tone } from './words.ts'

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

/** Where a run stands among others, and what was found about it there. */
export interface Setting {
  /** A heading of its own; null for the run that was asked about. */
  readonly title: string | null
  readonly depth: number
  /** Words that follow the count of verified records. */
  readonly remarks: readonly string[]
  readonly problems: readonly string[]
}

const DEPTH_SHOWN_MAX = 6
const INDENT_OF_CHILD = 3

export class Page {
  readonly #console: Console
  readonly #columns: number
  readonly #full: boolean

  constructor(console: Console, columns: number, full: boolean) {
    this.#console = console
    this.#columns = columns
    this.#full = full
  }

  /** A run that another began is drawn to the right of it. */
  lines(run: VerifiedRun, timeline: Timeline, setting: Setting): readonly string[] {
    const indent = ' '.repeat(INDENT_OF_CHILD * Math.min(setting.depth, DEPTH_SHOWN_MAX))
    if (indent === '') return this.#lines(run, timeline, setting)
    const inner = new Page(this.#console, Math.max(48, this.#columns - indent.length), this.#full)
    return inner.#lines(run, timeline, setting).map((line) => (line === '' ? '' : indent + line))
  }

  #lines(run: VerifiedRun, { opening, blocks, totals }: Timeline, setting: Setting): readonly string[] {
    return [
      ...(setting.title === null ? [] : ['', this.#rule(setting.title)]),
      ...this.#head(run, setting),
      ...opening.flatMap((line) => this.#line(line)),
      ...blocks.flatMap((block) => this.#block(block)),
      '',
      this.#rule('totals'),
      ...this.#totals(totals),
    ]
  }

  #head({ report, prefix }: VerifiedRun, { remarks, problems }: Setting): readonly string[] {
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
      ...remarks.map((remark) => this.#fact('', remark)),
      ...problems.map((problem) => this.#fact('MISMATCH', problem, 'red')),
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

  #totals({ inferences, tokens, toolCalls, delegations, denials, held, unknown, tookMs }: Totals): readonly string[] {
    const parts = [
      `${inferences} inference${inferences === 1 ? '' : 's'}`,
      `${tokens.toLocaleString('en')} tokens`,
      `${toolCalls} tool call${toolCalls === 1 ? '' : 's'}`,
      ...(delegations === 0 ? [] : [`${delegations} delegation${delegations === 1 ? '' : 's'}`]),
      ...(held === 0 ? [] : [`${held} held`]),
    ]
    const denied = `${denials} denial${denials === 1 ? '' : 's'}`
    const open = `${unknown} unknown`
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
