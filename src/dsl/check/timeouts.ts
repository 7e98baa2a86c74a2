/** How long an agent may run, in the three ways to write it: a duration, a text with units, a bare number of seconds. */
import type { DurationUnit, Expression } from '../tree.ts'

export const TIMEOUT_SECONDS_MAX = 86_400

/** Null when it cannot be used. */
export function timeoutSecondsOf(value: Expression): number | null {
  const { seconds } = secondsMeant(value)
  return seconds !== null && seconds >= 1 && seconds <= TIMEOUT_SECONDS_MAX ? seconds : null
}

/** Whole seconds, whatever their number; null, and why, when it is no time at all. */
export function secondsMeant(value: Expression): { readonly seconds: number | null; readonly why: string } {
  switch (value.kind) {
    case 'duration':
      return { seconds: value.amount * SECONDS[value.unit], why: '' }
    case 'number':
      return bareNumber(value.text)
    case 'string':
      return fromText(value.value)
    default:
      return { seconds: null, why: 'a timeout is a duration, a text or a number' }
  }
}

const SECONDS: Readonly<Record<DurationUnit, number>> = {
  seconds: 1,
  s: 1,
  minutes: 60,
  m: 60,
  hours: 3600,
  h: 3600,
  d: 86_400,
  w: 604_800,
  months: 2_592_000,
  y: 31_536_000,
}

function bareNumber(text: string): { readonly seconds: number | null; readonly why: string } {
  if (!text.includes('.')) return { seconds: Number(text.replaceAll('_', '')), why: '' }
  return { seconds: null, why: 'a timeout is a whole number of seconds' }
}

const PARTS_MAX = 8

function fromText(text: string): { readonly seconds: number | null; readonly why: string } {
  const parts = text.length > 64 ? [] : text.trim().split(/ +/)
  const seconds = parts.map(partSeconds)
  if (parts.length === 0 || parts.length > PARTS_MAX || seconds.includes(null)) {
    return { seconds: null, why: `the timeout ${JSON.stringify(text.slice(0, 64))} is not understood` }
  }
  return { seconds: seconds.reduce<number>((sum, part) => sum + (part ?? 0), 0), why: '' }
}

function partSeconds(part: string): number | null {
  const [, digits = '', unit = ''] = /^(\d{1,9})\.?([a-z]+)$/.exec(part) ?? []
  return Object.hasOwn(SECONDS, unit) ? Number(digits) * SECONDS[unit as DurationUnit] : null
}
