/**
 * What each verifier may say of a journal that somebody mangled, in words that stand in the documents.
 *
 * Nothing here is ever "accepted": a verifier may refuse the bytes, or believe entries of the honest journal from its first
 * one on and say that the rest is missing. To believe anything else is a fault of the runtime.
 */
import type { RunResult } from '../../../src/journal/index.ts'

/** `whole` is every entry of the honest journal; `beginning` the first ones, without the end of the run. */
export type Believed = 'refused' | 'beginning' | 'beginning + tail' | 'whole' | 'whole + tail'

/** `as it was` is what was said of the honest journal; `to reconcile` is never less unknown than that. */
export type Reported = 'refused' | 'to reconcile' | 'as it was'

export interface Expected {
  /** By `verifyRun`, and by `verify`, which is told no run id. */
  readonly run: Believed
  /** By `verify` where that differs: it was told nothing, and says whose journal it is. */
  readonly anyRun?: 'another run'
  /** By `verifyRunPrefix`. */
  readonly prefix: Believed
  /** By the recovery report of what `verifyRunPrefix` gives. */
  readonly report: Reported
  /** By `verifyTree`, of the mangled run: when it is the run that was asked about, and when another run began it. */
  readonly root: RunResult
  readonly child: RunResult
}

/** No byte of it is believed. */
export const NEVER: Expected = {
  run: 'refused',
  prefix: 'refused',
  report: 'refused',
  root: 'invalid',
  child: 'invalid',
}

/** The first entries, which no chain can tell from a run that was cut off. A run above knows better: it saw the end. */
export const BEGINNING: Expected = {
  run: 'beginning',
  prefix: 'beginning',
  report: 'to reconcile',
  root: 'incomplete',
  child: 'mismatch',
}

/** The same, and a last line that was never finished: counted, and not read. */
export const TORN: Expected = { ...BEGINNING, run: 'refused', prefix: 'beginning + tail' }

/** All of it, and bytes behind the end, which no crash leaves there. */
export const LENGTHENED: Expected = {
  run: 'refused',
  prefix: 'whole + tail',
  report: 'to reconcile',
  root: 'invalid',
  child: 'invalid',
}

/** No line is complete: the run says nothing, and a tree cannot tell it from one that never began. */
export const NOTHING: Expected = { ...NEVER, root: 'incomplete', child: 'mismatch' }
