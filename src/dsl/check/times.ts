/** Times as texts: cron fields, instants, names of time zones. Only whether they are well formed; nothing is computed. */

const CRON_FIELD = /^[0-9A-Za-z*/,?#-]+$/

/** Second, minute, hour, day of the month, month, day of the week, and a year if one likes. */
const RANGES: readonly (readonly [low: number, high: number])[] = [
  [0, 59],
  [0, 59],
  [0, 23],
  [1, 31],
  [1, 12],
  [0, 7],
  [1970, 9999],
]

export function isCron(text: string): boolean {
  if (text.length > 256) return false
  const fields = text.trim().split(/[ \t]+/)
  if (fields.length !== 6 && fields.length !== 7) return false
  return fields.every((field, index) => CRON_FIELD.test(field) && inRange(field, RANGES[index] ?? [0, 0]))
}

/** The numbers of a field, without the step behind `/`. */
function inRange(field: string, [low, high]: readonly [number, number]): boolean {
  return field
    .split(',')
    .flatMap((part) => part.replace(/\/\d+$/, '').split('-'))
    .every((bound) => !/^\d+$/.test(bound) || (Number(bound) >= low && Number(bound) <= high))
}

const INSTANT = /^(\d{4})-(\d{2})-(\d{2})[Tt ](\d{2}):(\d{2}):(\d{2})(?:\.\d{1,9})?(?:[Zz]|[+-](\d{2}):(\d{2}))$/

/** RFC 3339. */
export function isInstant(text: string): boolean {
  const [, year, month, day, hour, minute, second, offsetHour = '0', offsetMinute = '0'] = INSTANT.exec(text) ?? []
  if (year === undefined) return false
  const date = Number(month) >= 1 && Number(month) <= 12 && Number(day) >= 1 && Number(day) <= daysIn(year, month)
  const time = Number(hour) <= 23 && Number(minute) <= 59 && Number(second) <= 60
  return date && time && Number(offsetHour) <= 23 && Number(offsetMinute) <= 59
}

function daysIn(year: string, month: string | undefined): number {
  if (month === '02') return isLeap(Number(year)) ? 29 : 28
  return ['04', '06', '09', '11'].includes(month ?? '') ? 30 : 31
}

const isLeap = (year: number): boolean => (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0

/** `UTC`, `Europe/Rome`, `America/Argentina/Ushuaia`, `Etc/GMT-3`. Whether it exists is known where it is used. */
export function isTimeZone(text: string): boolean {
  return text.length <= 64 && /^[A-Za-z][A-Za-z0-9_+-]*(\/[A-Za-z0-9_+-]+){0,3}$/.test(text)
}
