/** Durations as they stand on disk, and the milliseconds we compute with. */
export type Duration = { readonly secs: number; readonly nanos: number }

export function durationOf(ms: number): Duration {
  const whole = Math.max(0, Math.floor(ms))
  const nanos = Math.round((Math.max(0, ms) - whole) * 1_000_000)
  return { secs: Math.floor(whole / 1000), nanos: Math.min(999_999_999, (whole % 1000) * 1_000_000 + nanos) }
}

export function millisecondsOf(duration: Duration): number {
  return duration.secs * 1000 + duration.nanos / 1_000_000
}
