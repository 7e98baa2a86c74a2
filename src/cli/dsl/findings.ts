/** A finding as a person reads it, with the line and who refuses the file for it, and as a program reads it. */
import { diagnosticJson, showDiagnostic } from '../../dsl/index.ts'
import type { Console, Style } from '../console.ts'
import type { Finding, Refuser } from './examine.ts'

const STYLES: Readonly<Record<Finding['diagnostic']['kind'], Style>> = {
  syntax: 'red',
  unsupported: 'red',
  warning: 'yellow',
}

/** What a source quotes cannot steer the terminal: `showDiagnostic` makes it visible. */
export function findingLines(
  { diagnostic, refusedBy }: Finding,
  source: { readonly name: string; readonly text: string },
  paint: Console['paint'],
): readonly string[] {
  const [place = '', ...rest] = showDiagnostic(diagnostic, source.text, source.name)
  const told = diagnostic.kind === 'unsupported' && refusedBy !== null && !SAID_ALREADY.has(diagnostic.code)
  const who = told ? [`    refused by ${WORDS[refusedBy]}`] : []
  return [paint(STYLES[diagnostic.kind], place), ...rest, ...who]
}

/** Its message says who does not have the agent, and why. */
const SAID_ALREADY: ReadonlySet<string> = new Set(['E161'])

const WORDS: Readonly<Record<Refuser, string>> = {
  'every route': 'every route',
  delegation: 'delegation; "symbi run" takes the agent, and enforces nothing of this',
}

export function findingRow({ diagnostic, refusedBy }: Finding): object {
  return { ...diagnosticJson(diagnostic), refused_by: refusedBy }
}
