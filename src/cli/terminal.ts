/** What the console of a command does not say: how wide it is, and colour for the lines on stderr. */
import { styleText } from 'node:util'
import type { Cli } from './cli.ts'
import type { Style } from './console.ts'

const COLUMNS_DEFAULT = 100

/** Columns of the terminal that shows results; elsewhere what COLUMNS says, or a hundred. */
export function columnsOf({ env }: Cli): number {
  const columns = process.stdout.isTTY ? process.stdout.columns : Number(env.COLUMNS)
  return Number.isSafeInteger(columns) && columns > 0 ? Math.min(160, Math.max(48, columns)) : COLUMNS_DEFAULT
}

export type Paint = (style: Style, text: string) => string

/** As `Console.paint`, for notes. */
export function notePaint({ console, env }: Cli): Paint {
  const colour = console.interactive && env.NO_COLOR === undefined
  return (style, text) => (colour ? styleText(style, text, { validateStream: false }) : text)
}

/** `--project DIR` where it is needed to find the same project again. */
export function projectWords(project: string): readonly string[] {
  return project === '.' ? [] : ['--project', project]
}
