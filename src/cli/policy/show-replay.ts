/**
 * How a replay looks: what would change, a decision at a time, and what was counted. Each is printed as soon as its journal
 * is verified, so that the output of thousands of journals is not kept.
 */
import { invocationView } from '../../calls/index.ts'
import { cutText, type JsonObject } from '../../core/index.ts'
import {
  type Difference,
  type NewRuling,
  OTHER_STEPS,
  type OtherStep,
  type Ruling,
  type Tally,
} from '../../replay/index.ts'
import type { Cli } from '../cli.ts'
import { cut, jsonLine, oneLine, widthOf } from '../plain-text.ts'
import { columnsOf } from '../terminal.ts'
import { filled } from '../text-table.ts'

export interface Refused {
  readonly journal: string
  readonly code: string
  readonly reason: string
}

export interface ReplaySummary {
  readonly tally: Tally
  readonly journals: number
  readonly refused: number
  /** Journals without an entry, and those that end before their run does. */
  readonly empty: number
  readonly unfinished: number
  /** For programs. */
  readonly facts: object
}

export interface ReplayPage {
  difference(journal: string, difference: Difference): void
  refused(refused: Refused): void
  summary(summary: ReplaySummary): void
}

export function replayPage(cli: Cli, options: { readonly json?: true; readonly all?: true }): ReplayPage {
  const all = options.all === true
  return options.json === true ? jsonPage(cli, all) : textPage(cli, all)
}

function jsonPage({ console }: Cli, all: boolean): ReplayPage {
  return {
    difference: (journal, difference) => {
      if (all || difference.kind === 'changed') console.result(jsonLine(asObject(journal, difference)))
    },
    refused: (refused) => console.result(jsonLine({ event: 'refused', ...refused })),
    summary: ({ tally, facts, ...counts }) =>
      console.result(jsonLine({ event: 'summary', ...counts, ...tally, changed: tally.changed(), ...facts })),
  }
}

/** Also a call that `symbi policy evaluate` reads, as it was judged. */
function asObject(journal: string, { kind, judged, before, after, ...rest }: Difference): object {
  const { call, trusted_context, approvedFingerprint } = judged
  const { places, ...ruling } = after
  return {
    event: kind,
    journal,
    ...rest,
    before,
    after: { ...ruling, places },
    call: invocationView(call),
    context: trusted_context,
    approved: approvedFingerprint !== null,
  }
}

/** More than any terminal shows: what is longer is cut before its columns are counted. */
const LETTERS_MAX = 1024
const WHEN_COLUMNS = 20
const DECISION_COLUMNS = 13
const LABEL_COLUMNS = 10

interface Widths {
  readonly agent: number
  readonly call: number
}

/** Names of agents are short and those of tools are long; on a narrow terminal both are cut, and the decision never is. */
function widthsIn(columns: number): Widths {
  const left = columns - WHEN_COLUMNS - DECISION_COLUMNS - 6
  const agent = Math.min(24, Math.max(8, Math.floor(left * 0.4)))
  return { agent, call: Math.min(40, Math.max(8, left - agent)) }
}

function textPage(cli: Cli, all: boolean): ReplayPage {
  const { console } = cli
  const columns = columnsOf(cli)
  const widths = widthsIn(columns)
  let begun = false
  return {
    difference: (_journal, difference) => {
      if (!all && difference.kind !== 'changed') return
      if (!begun) console.result(console.paint('bold', row(widths, 'WHEN', 'AGENT', 'CALL', 'DECISION')))
      begun = true
      const { timestamp, agent, agent_id, subject, before, after } = difference
      const words = decisionWords(difference)
      const when = `${timestamp.slice(0, 19).replace('T', ' ')}Z`
      console.result(
        `${row(widths, when, agent ?? agent_id, subject, '')}${console.paint(after.decision === 'allow' ? 'yellow' : 'red', words)}`,
      )
      console.result(cut(`  call    ${cutText(jsonLine(contentOf(difference)), LETTERS_MAX)}`, columns))
      for (const line of labelled('before', rulingWords(before), columns)) console.result(line)
      for (const line of labelled('after', newRulingWords(after), columns)) console.result(line)
      console.result(
        `  run     ${difference.run_id ?? '-'}, entry ${difference.sequence}, ${oneLine(difference.surface, 40)}`,
      )
    },
    refused: ({ journal, reason }) =>
      console.result(`${console.paint('red', 'left out')}: ${oneLine(journal)}: ${oneLine(reason)}`),
    summary: (all) => {
      for (const line of sentences(all)) console.result(line)
    },
  }
}

function row({ agent, call }: Widths, when: string, who: string, what: string, decision: string): string {
  return `${pad(when, WHEN_COLUMNS)}  ${pad(who, agent)}  ${pad(what, call)}  ${decision}`
}

function labelled(label: string, words: string, columns: number): readonly string[] {
  const [first = '', ...more] = filled(words, columns - LABEL_COLUMNS)
  return [`  ${label.padEnd(LABEL_COLUMNS - 2)}${first}`, ...more.map((line) => ' '.repeat(LABEL_COLUMNS) + line)]
}

function pad(text: string, columns: number): string {
  const line = oneLine(text, columns)
  return line + ' '.repeat(Math.max(0, columns - widthOf(line)))
}

function decisionWords({ kind, before, after }: Difference): string {
  return kind === 'changed' ? `${before.decision} -> ${after.decision}` : `${after.decision}, by other policies`
}

/** What the call is about: arguments, or the text of what carries none. */
function contentOf({ judged: { call } }: Difference): unknown {
  return call.arguments ?? Object.values(call.action as unknown as JsonObject)[0]
}

const NAMES_COLUMNS_MAX = 400

function rulingWords({ decision, policies, errors }: Ruling): string {
  return ruled(
    decision,
    policies.map((name) => `"${name}"`),
    errors,
  )
}

function newRulingWords({ decision, places, policies, errors }: NewRuling): string {
  const found = new Map(places.map(({ name, file, line }) => [name, ` (${file ?? 'policy'}:${line})`]))
  return ruled(
    decision,
    policies.map((name) => `"${name}"${found.get(name) ?? ''}`),
    errors,
  )
}

function ruled(decision: Ruling['decision'], policies: readonly string[], errors: readonly string[]): string {
  const by = policies.length > 0 ? `by ${policies.join(', ')}` : errors.length > 0 ? '' : 'by no policy'
  const failed = errors.length > 0 ? `failed: ${errors.join('; ')}` : ''
  return oneLine([decision, by, failed].filter((part) => part !== '').join(' '), NAMES_COLUMNS_MAX)
}

const STEP_WORDS: Readonly<Record<OtherStep, string>> = {
  preparation: 'could not be prepared',
  restriction: 'refused by the tools or an inline policy',
  approval: 'refused for want of an approval',
  held: 'held for a person',
  runtime: 'refused by the runtime',
}

function sentences({ tally, journals, refused, empty, unfinished }: ReplaySummary): readonly string[] {
  const { judged, allow_to_deny, deny_to_allow, policies_differ, not_judged, unknown } = tally
  const read = journals - refused
  const others = OTHER_STEPS.filter((step) => not_judged[step] > 0).map(
    (step) => `${number(not_judged[step])} ${STEP_WORDS[step]}`,
  )
  return [
    `judged ${count(judged, 'decision')} of ${count(read, 'journal')}: ${number(tally.changed())} would change` +
      (tally.changed() > 0 ? ` (${number(allow_to_deny)} allow -> deny, ${number(deny_to_allow)} deny -> allow)` : '') +
      (policies_differ > 0 ? `; other policies would decide, and the decision stays: ${number(policies_differ)}` : ''),
    ...(others.length > 0 ? [`not judged by policy, and so not again: ${others.join(', ')}`] : []),
    ...(unknown > 0 ? [`cannot be judged again, because not all of the call was recorded: ${number(unknown)}`] : []),
    ...(empty + unfinished > 0
      ? [`without an end, and judged as far as they go: ${count(unfinished, 'journal')}, and ${number(empty)} empty`]
      : []),
    ...(refused > 0 ? [`left out: ${count(refused, 'journal')}`] : []),
  ]
}

function count(amount: number, noun: string): string {
  return `${number(amount)} ${noun}${amount === 1 ? '' : 's'}`
}

function number(amount: number): string {
  return amount.toLocaleString('en')
}
