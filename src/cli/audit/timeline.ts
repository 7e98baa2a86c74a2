/**
 * A run as blocks of lines, one block an iteration: what the model was asked and proposed, what policy said of each
 * action, which effects were begun, and what came back. Computes only; colours and widths are the renderer's.
 */
import { instantOf, type RunId } from '../../core/index.ts'
import type { Entry, Event } from '../../events/index.ts'
import type { RecoveryReport } from '../../journal/index.ts'
import { isOwn, Scribe } from './scribe.ts'
import type { Said } from './words.ts'

export interface Line extends Said {
  /** Of the entry. */
  readonly sequence: number
  /** Milliseconds since the entry before it. */
  readonly afterMs: number
}

export interface Block {
  readonly iteration: number
  /** Milliseconds since the start of the run. */
  readonly startMs: number
  readonly lines: readonly Line[]
}

export interface Timeline {
  /** Before the first iteration. */
  readonly opening: readonly Line[]
  readonly blocks: readonly Block[]
  readonly totals: Totals
}

export interface Totals {
  readonly inferences: number
  readonly tokens: number
  readonly toolCalls: number
  readonly delegations: number
  readonly denials: number
  /** Calls that waited for a person. */
  readonly held: number
  readonly unknown: number
  readonly tookMs: number
}

export function timelineOf(entries: readonly Entry[], report: RecoveryReport): Timeline {
  const scribe = new Scribe(report)
  const opening: Line[] = []
  const blocks: { iteration: number; asked: boolean; startMs: number; lines: Line[] }[] = []
  const first = entries[0]
  let before = first
  for (const entry of entries) {
    const afterMs = before === undefined ? 0 : msBetween(before, entry)
    before = entry
    const said = scribe.linesOf(entry).map((line) => ({ ...line, sequence: entry.sequence, afterMs }))
    if (said.length === 0) continue
    const asks = isInference(entry.event, report.run_id)
    const isClosing = entry.event.kind === 'Terminated'
    if (blocks.length === 0 && entry.iteration === 0 && !asks && !isClosing) {
      opening.push(...said)
      continue
    }
    let block = blocks.at(-1)
    if (block === undefined || asks || (block.iteration !== entry.iteration && !block.asked && !isClosing)) {
      const startMs = first === undefined ? 0 : msBetween(first, entry)
      block = { iteration: asks ? entry.iteration + 1 : entry.iteration, asked: asks, startMs, lines: [] }
      blocks.push(block)
    }
    if (block.asked && !asks && !isClosing && !isAnswer(entry.event)) {
      block.iteration = entry.iteration // the loop counts an iteration from the answer on
      block.asked = false
    }
    block.lines.push(...said)
  }
  const last = entries.at(-1)
  const tookMs = first === undefined || last === undefined ? 0 : msBetween(first, last)
  return { opening, blocks: blocks.map(({ asked: _, ...block }) => block), totals: { ...scribe.totals(), tookMs } }
}

/** Asking the model begins a block: what follows is what came of it. A delegated run that asks begins none in its root. */
function isInference(event: Event, runId: RunId): boolean {
  if (event.kind === 'BudgetReservationStarted') return isOwn(event.reservation, runId)
  return event.kind === 'InferenceRequested' || event.kind === 'DirectInferenceRequested'
}

function isAnswer({ kind }: Event): boolean {
  return (
    kind === 'BudgetReservationFinished' ||
    kind === 'InferenceCompleted' ||
    kind === 'DirectInferenceResponseReceived' ||
    kind === 'DirectInferenceFinished'
  )
}

function msBetween(from: Entry, to: Entry): number {
  return Number((instantOf(to.timestamp) - instantOf(from.timestamp)) / 1000n) / 1000
}
