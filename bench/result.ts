/** What is printed: one result a line. A ratio compares with the floor of the same run, and is the only figure to trust. */

export interface Result {
  readonly name: string
  /** Null where it could not be measured; stderr says why. */
  readonly value: number | null
  readonly unit: string
  readonly floor: number | null
  /** The value against the floor: the median of the rounds' own ratios, so that a busy moment spoils one round and not all. */
  readonly ratio: number | null
  /** The target in words, or null for a figure that is only reported. */
  readonly target: string | null
  /** Null without a target, without a figure, and for a quick look, whose figures mean too little to be judged. */
  readonly met: boolean | null
}

/** The figure that a target speaks about, and its bound. */
export interface Target {
  readonly of: 'value' | 'ratio'
  readonly bound: 'at most' | 'at least'
  readonly limit: number
}

export type Measured = Pick<Result, 'name' | 'value' | 'unit'> & {
  readonly floor?: number | null
  readonly ratio?: number | null
  readonly target?: Target
}

export function resultOf({ name, value, unit, floor = null, ratio = null, target }: Measured): Result {
  const judged = target === undefined ? null : target.of === 'value' ? value : ratio
  return {
    name,
    value: rounded(value),
    unit,
    floor: rounded(floor),
    ratio: rounded(ratio),
    target: target === undefined ? null : spell(target, unit),
    met: target === undefined || judged === null ? null : fits(judged, target),
  }
}

/** The same figures and the same target, and no verdict. */
export function unjudged(result: Result): Result {
  return { ...result, met: null }
}

/** A line for what is not there to be measured. */
export function notAvailable(name: string, unit: string, target?: Target): Result {
  return resultOf({ name, value: null, unit, ...(target === undefined ? {} : { target }) })
}

function fits(figure: number, { bound, limit }: Target): boolean {
  return bound === 'at most' ? figure <= limit : figure >= limit
}

function spell({ of, bound, limit }: Target, unit: string): string {
  return `${bound} ${limit}${of === 'ratio' ? ' x floor' : ` ${unit}`}`
}

/** Four digits say all that can be known here. */
function rounded(figure: number | null): number | null {
  return figure === null ? null : Number(figure.toPrecision(4))
}

export function asJson(result: Result): string {
  return JSON.stringify(result)
}

const WIDTHS = [44, 10, 12, 10, 7] as const

export function heading(): string {
  return row(['what', 'value', 'unit', 'floor', 'ratio', 'target'])
}

export function asText({ name, value, unit, floor, ratio, target, met }: Result): string {
  const verdict = met === null ? '' : met ? ' met' : ' MISSED'
  const cells = [name, value ?? 'not available', unit, floor ?? '', ratio ?? '', `${target ?? ''}${verdict}`]
  return row(cells.map(String))
}

function row(cells: readonly string[]): string {
  return cells
    .map((cell, column) => cell.padEnd(WIDTHS[column] ?? 0))
    .join(' ')
    .trimEnd()
}
