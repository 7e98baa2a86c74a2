/** `symbi audit verify`: one journal in a line, or a whole project or folder in a table. Exits 0, or 1 when evidence is bad. */
import { basename } from 'node:path'
import { Fault } from '../../core/index.ts'
import type { Reading } from '../../journal/index.ts'
import type { Cli } from '../cli.ts'
import { cut, jsonLine, oneLine, plain, widthOf, wrap } from '../plain-text.ts'
import type { ProjectPaths } from '../project/project-paths.ts'
import { columnsOf } from '../terminal.ts'
import { type Claims, readClaims } from './claims.ts'
import type { JournalFile } from './find-journal.ts'
import { progressOf } from './progress.ts'
import { type Finding, fileNamed, journalNames, judgeJournal, type Result } from './project-evidence.ts'
import { judgeLinks } from './project-links.ts'
import { keyFacts, keySentence, type TrustedKey } from './trusted-key.ts'

export interface VerifyFlags {
  readonly json?: true
  readonly complete?: true
}

export async function verifyOne(
  cli: Cli,
  claims: Claims,
  file: JournalFile,
  key: TrustedKey,
  flags: VerifyFlags,
): Promise<number> {
  let linked = false
  const onLinked = (): void => {
    linked = true
  }
  const watch = { progress: progressOf(cli, file.name), onLinked }
  const finding = await judgeJournal(cli.world, file, key.key, claims, watch)
  cli.console.progress('')
  refuse(finding, flags)
  const { result, records, ending, unknown, note } = finding
  if (flags.json === true) cli.console.result(jsonLine({ ...finding, ...keyFacts(key) }))
  else {
    const parts = [
      `${count(records, 'record')}`,
      ending === null ? 'no end of the run' : `ended ${ending}`,
      ...(unknown > 0 ? [`${count(unknown, 'effect')} of unknown outcome`] : []),
    ]
    const style = result === 'verified' ? 'green' : 'yellow'
    cli.console.result(`${cli.console.paint(style, result)}: run ${finding.run_id ?? '-'}, ${parts.join(', ')}`)
    if (note !== null) cli.console.result(oneLine(note))
    cli.console.result(keySentence(key))
    if (linked) cli.console.note('It is linked to other runs; --tree verifies them, and the links, as well')
  }
  return 0
}

/** A single journal was asked about, so that it holds nothing is no answer that could be taken for a yes. */
export function refuse({ journal, result, code, note }: Finding, flags: VerifyFlags): void {
  const bad = result === 'invalid' || result === 'missing' || result === 'empty' || code === 'EVIDENCE_CHANGING'
  if (!bad && (result === 'verified' || flags.complete !== true)) return
  throw new Fault(code === 'EVIDENCE_CHANGING' ? code : 'EVIDENCE_INVALID', {
    message: `Cannot verify the journal "${oneLine(journal)}": ${oneLine(note ?? result)}`,
    hint: HINTS[result],
    facts: { result },
  })
}

const HINTS: Readonly<Record<Result, string>> = {
  verified: '',
  incomplete: 'Without --complete a sound beginning is accepted; "symbi audit inspect" says what is unknown',
  empty: 'Its run was queued and never began, or the file was emptied; "symbi invocation inspect" knows more',
  missing: 'Restore it from a backup; the runtime never deletes a journal',
  invalid: 'Keep the file as it is; it was truncated, edited, reordered, renamed, or signed by another key',
  mismatch: 'Keep both files as they are; one of them was replaced',
}

export async function verifyProject(
  cli: Cli,
  paths: ProjectPaths,
  key: TrustedKey,
  flags: VerifyFlags,
): Promise<number> {
  const place = { folder: paths.governedFolder, claims: await readClaims(cli.world, paths) }
  return await verifyAll(cli, place, key, flags)
}

/** Journals that were copied somewhere. That there are none is no answer that could be taken for a yes. */
export async function verifyFolder(
  cli: Cli,
  place: EvidencePlace,
  key: TrustedKey,
  flags: VerifyFlags,
): Promise<number> {
  if ((await journalNames(cli.world, place.folder, place.claims)).length > 0)
    return await verifyAll(cli, place, key, flags)
  throw new Fault('EVIDENCE_INVALID', {
    message: `Cannot verify the folder "${oneLine(basename(place.folder))}": it holds no journals`,
    hint: 'Name the folder in which the files AGENT.RUN.jsonl lie, or a project with --project',
  })
}

export interface EvidencePlace {
  readonly folder: string
  readonly claims: Claims
}

async function verifyAll(
  cli: Cli,
  { folder, claims }: EvidencePlace,
  key: TrustedKey,
  flags: VerifyFlags,
): Promise<number> {
  const { world, console } = cli
  const names = await journalNames(world, folder, claims)
  const judged: Finding[] = []
  const linked = new Map<string, Reading>()
  const onLinked = (path: string, reading: Reading): void => void linked.set(path, reading)
  for (const [index, name] of names.entries()) {
    const file = fileNamed(folder, name)
    const progress = progressOf(cli, `${index + 1} of ${names.length}: ${name}`)
    judged.push(
      file === null ? strange(name) : await judgeJournal(world, file, key.key, claims, { progress, onLinked }),
    )
  }
  const findings = await judgeLinks(cli, judged, linked, key.key)
  console.progress('')
  if (flags.json === true) for (const finding of findings) console.result(jsonLine({ event: 'journal', ...finding }))
  const bad = findings.filter(({ result }) => isBad(result, flags.complete === true)).length
  const totals = { journals: findings.length, ...tally(findings), bad, ...keyFacts(key) }
  if (flags.json === true) console.result(jsonLine({ event: 'summary', ...totals }))
  else {
    for (const line of table(cli, findings)) console.result(line)
    console.result(findings.length === 0 ? 'the project has no journals yet' : sentence(findings, key))
  }
  return bad > 0 ? 1 : 0
}

function strange(name: string): Finding {
  return {
    journal: name,
    run_id: null,
    agent_id: null,
    records: 0,
    bytes: 0,
    ending: null,
    unknown: 0,
    result: 'invalid',
    code: 'EVIDENCE_INVALID',
    note: 'its name is not AGENT.RUN.jsonl: it was renamed, or does not belong here',
  }
}

function isBad(result: Result, complete: boolean): boolean {
  if (result === 'invalid' || result === 'missing' || result === 'mismatch') return true
  return complete && result !== 'verified'
}

const RESULTS: readonly Result[] = ['verified', 'incomplete', 'empty', 'missing', 'invalid', 'mismatch']

function tally(findings: readonly Finding[]): Record<Result, number> {
  const counts = { verified: 0, incomplete: 0, empty: 0, missing: 0, invalid: 0, mismatch: 0 }
  for (const { result } of findings) counts[result] += 1
  return counts
}

function sentence(findings: readonly Finding[], key: TrustedKey): string {
  const counts = tally(findings)
  const parts = RESULTS.filter((result) => counts[result] > 0).map((result) => `${counts[result]} ${result}`)
  return `${count(findings.length, 'journal')}: ${parts.join(', ')}; ${keySentence(key)}`
}

function table(cli: Cli, findings: readonly Finding[]): readonly string[] {
  if (findings.length === 0) return []
  const columns = columnsOf(cli)
  const lines = [cli.console.paint('bold', row('RUN', 'RECORDS', 'ENDING', 'RESULT'))]
  for (const finding of findings) {
    const { run_id, journal, records, ending, result, unknown } = finding
    const more = unknown > 0 ? ` (${unknown} unknown)` : ''
    const text = row(run_id ?? cut(plain(journal), 36), String(records), `${ending ?? '-'}${more}`, '')
    lines.push(`${text}${cli.console.paint(STYLES[result], result)}`)
    if (finding.note === null) continue
    for (const part of wrap(oneLine(finding.note), Math.max(columns, 100) - 2)) lines.push(`  ${part}`)
  }
  return lines
}

const STYLES = {
  verified: 'green',
  incomplete: 'yellow',
  empty: 'dim',
  missing: 'red',
  invalid: 'red',
  mismatch: 'red',
} as const

function row(run: string, records: string, ending: string, result: string): string {
  return `${pad(run, 36)}  ${records.padStart(7)}  ${pad(ending, 30)}  ${result}`
}

function pad(text: string, columns: number): string {
  return text + ' '.repeat(Math.max(0, columns - widthOf(text)))
}

function count(amount: number, noun: string): string {
  return `${amount.toLocaleString('en')} ${noun}${amount === 1 ? '' : 's'}`
}
