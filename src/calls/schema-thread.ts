/**
 * A thread of its own for checks that may not end. The caller waits, because what is judged must be prepared first, but not
 * longer than a deadline: then the thread is thrown away, and the schema is refused from then on, so that it can hold the
 * process once and no more. docs/decisions/2026-11-30-foreign-schemas.md says why.
 */
import { createRequire } from 'node:module'
import { digest, type Hash, type Json, type JsonObject } from '../core/index.ts'
import { WaitingThread } from '../world/index.ts'
import { Patience } from './schema-patience.ts'

export interface SchemaError {
  readonly instanceLocation: string
  readonly keyword: string
  readonly keywordLocation: string
  readonly error: string
}

export type ThreadAnswer =
  | { readonly kind: 'Checked'; readonly errors: readonly SchemaError[] }
  /** The schema itself cannot be used. */
  | { readonly kind: 'Failed'; readonly message: string }
  | { readonly kind: 'Late' }

const ERRORS_MAX = 50
const LATE_MAX = 4096

/** Schemas whose check did not end in time. */
const late = new Set<Hash>()
let running: WaitingThread | null = null
const patience = new Patience()

export function wasLate(schema: JsonObject): boolean {
  return late.has(digest(schema))
}

export function checkInThread(schema: JsonObject, value: Json): ThreadAnswer {
  const name = digest(schema)
  if (late.has(name)) return { kind: 'Late' }
  running ??= WaitingThread.start(WORK, { library: libraryPath() })
  const answer = running?.ask<Said>({ schema, value }, patience.waitMs()) ?? null
  if (answer === null) {
    running?.stop()
    running = null
    patience.gaveUp()
    refuse(name)
    return { kind: 'Late' }
  }
  if (patience.ended(answer.tookMs, answer.endedMs)) refuse(name)
  return answer.value
}

type Said = Exclude<ThreadAnswer, { kind: 'Late' }>

function refuse(name: Hash): void {
  if (late.size < LATE_MAX) late.add(name)
}

/** By its full path: a bare name would be looked up from the current folder, which may be anybody's. */
function libraryPath(): string {
  return createRequire(import.meta.url).resolve('@cfworker/json-schema')
}

const WORK = `({ library }) => {
  const { Validator, format } = require(library)
  format.url = (text) => /^(?:https?|ftp):\\/\\//i.test(text) && URL.canParse(text)
  return ({ schema, value }) => {
    try {
      const { valid, errors } = new Validator(schema, '2020-12', true).validate(value)
      const last = errors.slice(-${ERRORS_MAX}).map(({ instanceLocation, keyword, keywordLocation, error }) =>
        ({ instanceLocation, keyword, keywordLocation, error: String(error).slice(0, 1000) }))
      return { kind: 'Checked', errors: valid ? [] : last }
    } catch (error) {
      return { kind: 'Failed', message: String(error?.message).slice(0, 1000) }
    }
  }
}`
