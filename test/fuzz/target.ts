/**
 * A target of the fuzzer: one parser at a door, and what must be true of it for every input. An input that breaks the
 * property throws, and is a finding; "does not crash" alone is never the property.
 */
import { tmpdir } from 'node:os'
import type { Arbitrary } from 'fast-check'
import { CODES, Fault, isJsonObject } from '../../src/core/index.ts'

export interface Target {
  readonly name: string
  /** What holds for every input, as a sentence for people. */
  readonly property: string
  /** Inputs to begin with: honest ones above all, because most of what a fuzzer finds lies beside them. */
  readonly seeds: readonly (string | Uint8Array)[]
  /** Words of the format, which a mutation puts in. */
  readonly words?: readonly string[]
  /** Inputs by their structure, for what bytes would hardly ever become. */
  readonly fresh?: Arbitrary<string | Uint8Array>
  readonly bytesMax: number
  /**
   * The most steps of our code that an input may cost, as `fixed + perByte * bytes`. Steps are counted and not timed; they are
   * known only where the code was compiled to count them.
   */
  readonly steps: { readonly fixed: number; readonly perByte: number }
  /** Made once for many inputs. */
  open(): Promise<Opened> | Opened
}

export interface Opened extends AsyncDisposable {
  /** Throws, or rejects, where the property does not hold. */
  run(input: Uint8Array): void | Promise<void>
}

/** For targets that hold nothing open. */
export function pure(run: Opened['run']): Opened {
  return { run, [Symbol.asyncDispose]: async () => undefined }
}

/** A property that does not hold. */
export class Violation extends Error {
  override readonly name = 'Violation'
}

export function must(condition: unknown, property: string): asserts condition {
  if (!condition) throw new Violation(property)
}

/** What a parser gave: a value, or a Fault that may be shown. */
export type Answer<T> =
  | { readonly kind: 'Value'; readonly value: T }
  | { readonly kind: 'Fault'; readonly fault: Fault }

/** Anything else than a value or a presentable Fault is a violation. */
export function answer<T>(parse: () => T): Answer<T> {
  try {
    return { kind: 'Value', value: clean(parse()) }
  } catch (error) {
    return { kind: 'Fault', fault: presentable(error) }
  }
}

export async function answerOf<T>(parse: () => Promise<T>): Promise<Answer<T>> {
  try {
    return { kind: 'Value', value: clean(await parse()) }
  } catch (error) {
    return { kind: 'Fault', fault: presentable(error) }
  }
}

/** Two or more steps from a root that a host may have; the message of a Fault goes to people and into logs. */
const HOST_PATHS = [process.cwd(), tmpdir(), '/home/', '/usr/', 'node_modules']
const MESSAGE_CHARS_MAX = 4096

/** The Fault, if it is one with a code of the table and a message that may be shown; a Violation otherwise. */
export function presentable(error: unknown, shownTo: readonly string[] = []): Fault {
  if (error instanceof Violation) throw error
  if (!(error instanceof Fault)) {
    const words = error instanceof Error ? `${error.name}: ${error.message}` : String(error)
    throw new Violation(`what is thrown is a Fault, and this was ${words}`, { cause: error })
  }
  must(Object.hasOwn(CODES, error.code), 'a Fault has a code of the table')
  const said = [error.message, error.hint ?? '', ...Object.values(error.facts).map(String)]
  must(
    /^\S/.test(error.message) && !error.message.endsWith('.'),
    'a message says what could not be done, without a full stop',
  )
  for (const text of said) {
    must(text.isWellFormed(), 'what a Fault says is well-formed')
    must(text.length <= MESSAGE_CHARS_MAX, `what a Fault says is short, and this has ${text.length} characters`)
    const leak = HOST_PATHS.find((path) => text.includes(path) && !shownTo.includes(path))
    must(leak === undefined, `what a Fault says names no path of the host: ${text.slice(0, 200)}`)
  }
  return error
}

/** A parsed value brings nothing into a prototype: neither into everybody's, nor one of its own. */
function clean<T>(value: T): T {
  must(Object.keys(Object.prototype).length === 0, 'nothing is added to what all objects inherit')
  return value
}

/** Every object of a JSON value is a plain one. */
export function plain(value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  if (Array.isArray(value)) {
    for (const item of value) plain(item)
    return
  }
  must(isJsonObject(value), 'a JSON value is made of arrays and objects')
  const prototype: unknown = Object.getPrototypeOf(value)
  must(
    prototype === Object.prototype || prototype === null,
    'an object of a JSON value has the prototype of a plain one',
  )
  must(!Object.hasOwn(value, '__proto__'), 'no member is called "__proto__"')
  for (const member of Object.values(value)) plain(member)
}

const lenient = new TextDecoder()

/** Bytes as text, for parsers that take text. */
export function textOf(input: Uint8Array): string {
  return lenient.decode(input)
}
