/**
 * The strict JSON reader of every door. The value that is judged must be the value that is executed, so what two readers
 * could understand differently is refused: equal names, `__proto__`, lone surrogates, integers beyond 2^53-1, invalid
 * UTF-8, a byte order mark, and anything deeper or longer than its bounds. Nothing is repaired.
 */
import { Fault } from './fault.ts'
import type { Json, JsonObject } from './json.ts'

export interface JsonBounds {
  /** Levels of arrays and objects. Default 128. */
  readonly depthMax?: number
  /** Bytes of UTF-8. Default 16 MiB; doors pass their own. */
  readonly bytesMax?: number
}

/** Where a member of the outermost object stands in the text, so that its very bytes can be hashed or verified. */
export interface Span {
  readonly start: number
  readonly end: number
}

/** Reads strict JSON, or throws `INVALID_JSON` with the place. Bytes must be valid UTF-8 without a byte order mark. */
export function readJson(source: string | Uint8Array, bounds: JsonBounds = {}): Json {
  const text = decode(source, bounds)
  const depthMax = bounds.depthMax ?? 128
  return readPlain(text, depthMax) ?? new Reader(text, depthMax).document()
}

/** As `readJson`, and also the spans of the outermost object's members. */
export function readJsonMembers(text: string, bounds: JsonBounds = {}): { value: Json; spans: Map<string, Span> } {
  const reader = new Reader(decode(text, bounds), bounds.depthMax ?? 128)
  const spans = new Map<string, Span>()
  reader.spans = spans
  return { value: reader.document(), spans }
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function decode(source: string | Uint8Array, bounds: JsonBounds): string {
  const bytesMax = bounds.bytesMax ?? 16 * 1024 * 1024
  const bytes = typeof source === 'string' ? Buffer.byteLength(source) : source.byteLength
  if (bytes > bytesMax) {
    throw new Fault('PAYLOAD_TOO_LARGE', {
      message: `Cannot read JSON: ${bytes} bytes are more than the ${bytesMax} allowed here`,
      hint: 'Send less in one message',
    })
  }
  if (typeof source === 'string') return source
  try {
    return utf8.decode(source)
  } catch (cause) {
    throw new Fault('INVALID_JSON', {
      message: 'Cannot read JSON: the bytes are not valid UTF-8',
      hint: 'Encode the text as UTF-8',
      cause,
    })
  }
}

/**
 * The value of a text in which the engine's own parser, several times as fast, leaves nothing to refuse; null where the text
 * may be refused, or is null: then it is read with care, and that reader says what is wrong with it. The two accept the same
 * grammar. What the engine's would let pass is looked for here: a name that appears twice is one member in the text more than
 * in the value.
 */
function readPlain(text: string, depthMax: number): Json {
  if (!text.isWellFormed() || text.includes('\\u')) return null
  let value: Json
  try {
    value = JSON.parse(text) as Json
  } catch {
    return null
  }
  return countMembers(value, depthMax) === countColons(text) ? value : null
}

/** Of all objects in the value; not a number where it holds what is refused. */
function countMembers(value: Json, levels: number): number {
  if (typeof value === 'number') return Number.isSafeInteger(value) || isFraction(value) ? 0 : Number.NaN
  if (typeof value !== 'object' || value === null) return 0
  if (levels <= 0) return Number.NaN
  let count = 0
  if (Array.isArray(value)) {
    for (const item of value as readonly Json[]) count += countMembers(item, levels - 1)
    return count
  }
  for (const name in value) {
    // what it inherits is counted too, and leads to the careful reader
    if (name === '__proto__') return Number.NaN
    count += 1 + countMembers((value as JsonObject)[name] as Json, levels - 1)
  }
  return count
}

const isFraction = (value: number): boolean => Number.isFinite(value) && !Number.isInteger(value)

/** Outside of strings: in a text that the engine has read, one for each member. */
function countColons(text: string): number {
  let count = 0
  let at = 0
  for (;;) {
    const quote = text.indexOf('"', at)
    const end = quote === -1 ? text.length : quote
    for (; at < end; at += 1) if (text.charCodeAt(at) === 0x3a) count += 1
    if (quote === -1) return count
    at = endOfString(text, quote + 1) + 1
  }
}

/** Where the quote stands that ends it. */
function endOfString(text: string, start: number): number {
  let quote = text.indexOf('"', start)
  while (isEscaped(text, quote)) quote = text.indexOf('"', quote + 1)
  return quote
}

function isEscaped(text: string, at: number): boolean {
  let before = at
  while (text.charCodeAt(before - 1) === 0x5c) before -= 1
  return (at - before) % 2 === 1
}

class Reader {
  readonly #text: string
  readonly #depthMax: number
  #at = 0
  #depth = 0
  spans: Map<string, Span> | null = null

  constructor(text: string, depthMax: number) {
    this.#text = text
    this.#depthMax = depthMax
  }

  document(): Json {
    this.#space()
    const value = this.#value()
    this.#space()
    if (this.#at < this.#text.length) throw this.#refuse('something follows the value')
    return value
  }

  #value(): Json {
    const unit = this.#text.charCodeAt(this.#at)
    if (unit === 0x22) return this.#string()
    if (unit === 0x7b) return this.#object()
    if (unit === 0x5b) return this.#array()
    if (unit === 0x2d || (unit >= 0x30 && unit <= 0x39)) return this.#number()
    if (this.#word('true')) return true
    if (this.#word('false')) return false
    if (this.#word('null')) return null
    throw this.#refuse(
      this.#at >= this.#text.length ? 'the text ends where a value is expected' : 'a value is expected',
    )
  }

  #word(word: string): boolean {
    if (!this.#text.startsWith(word, this.#at)) return false
    this.#at += word.length
    return true
  }

  #object(): Json {
    const spans = this.#depth === 0 ? this.spans : null
    this.#enter()
    const members: Record<string, Json> = {}
    this.#space()
    if (this.#take(0x7d)) return this.#leave(members)
    for (;;) {
      if (this.#text.charCodeAt(this.#at) !== 0x22) throw this.#refuse('a member name in double quotes is expected')
      const name = this.#string()
      if (name === '__proto__') throw this.#refuse('the name "__proto__" is not allowed')
      if (Object.hasOwn(members, name))
        throw this.#refuse(`the name ${JSON.stringify(name.slice(0, 64))} appears twice`)
      this.#space()
      if (!this.#take(0x3a)) throw this.#refuse('a colon is expected')
      this.#space()
      const start = this.#at
      members[name] = this.#value()
      spans?.set(name, { start, end: this.#at })
      this.#space()
      if (this.#take(0x7d)) return this.#leave(members)
      if (!this.#take(0x2c)) throw this.#refuse('a comma or a closing brace is expected')
      this.#space()
    }
  }

  #array(): Json {
    this.#enter()
    const items: Json[] = []
    this.#space()
    if (this.#take(0x5d)) return this.#leave(items)
    for (;;) {
      items.push(this.#value())
      this.#space()
      if (this.#take(0x5d)) return this.#leave(items)
      if (!this.#take(0x2c)) throw this.#refuse('a comma or a closing bracket is expected')
      this.#space()
    }
  }

  #enter(): void {
    this.#depth += 1
    if (this.#depth > this.#depthMax) throw this.#refuse(`more than ${this.#depthMax} levels are nested`)
    this.#at += 1
  }

  #leave<T>(value: T): T {
    this.#depth -= 1
    return value
  }

  #take(unit: number): boolean {
    if (this.#text.charCodeAt(this.#at) !== unit) return false
    this.#at += 1
    return true
  }

  #space(): void {
    for (;;) {
      const unit = this.#text.charCodeAt(this.#at)
      if (unit !== 0x20 && unit !== 0x0a && unit !== 0x0d && unit !== 0x09) return
      this.#at += 1
    }
  }

  #string(): string {
    const start = this.#at + 1
    let at = start
    let care = false // an escape or a surrogate: worth a second look
    for (;;) {
      const unit = this.#text.charCodeAt(at)
      if (unit === 0x22) break
      if (Number.isNaN(unit)) throw this.#refuse('a string does not end')
      if (unit < 0x20) throw this.#refuse('a control character stands bare in a string', at)
      if (unit === 0x5c) {
        care = true
        at += 1
      } else if (unit >= 0xd800 && unit <= 0xdfff) care = true
      at += 1
    }
    const raw = this.#text.slice(start, at)
    const text = care ? this.#unescape(raw, start) : raw
    this.#at = at + 1
    return text
  }

  /** The engine reads one string of many escapes in one go; whatever it refuses is looked at again, to say where. */
  #unescape(raw: string, start: number): string {
    let text: string
    try {
      text = JSON.parse(`"${raw}"`) as string
    } catch {
      throw this.#badEscape(raw, start)
    }
    if (!text.isWellFormed()) throw this.#refuse('a string holds a lone surrogate', start)
    return text
  }

  #badEscape(raw: string, start: number): Fault {
    let at = raw.indexOf('\\')
    while (ESCAPE.test(raw.slice(at, at + 6))) at = raw.indexOf('\\', at + (raw[at + 1] === 'u' ? 6 : 2))
    return this.#refuse(raw[at + 1] === 'u' ? 'an escape is malformed' : 'an escape is unknown', start + at)
  }

  #number(): number {
    NUMBER.lastIndex = this.#at
    const match = NUMBER.exec(this.#text)
    if (match === null) throw this.#refuse('a number is malformed')
    const value = Number(match[0])
    if (!Number.isFinite(value)) throw this.#refuse('a number is too large')
    if (Number.isInteger(value) && !Number.isSafeInteger(value)) {
      throw this.#refuse('an integer is beyond 2^53-1 and would be rounded')
    }
    this.#at += match[0].length
    return value
  }

  #refuse(reason: string, at = this.#at): Fault {
    const before = this.#text.slice(0, at)
    const line = before.split('\n').length
    const column = at - before.lastIndexOf('\n')
    return new Fault('INVALID_JSON', {
      message: `Cannot read JSON: ${reason} at line ${line}, column ${column}`,
      hint: 'Send strict JSON: unique names, no lone surrogates, no integers beyond 2^53-1, bounded depth',
      facts: { line, column },
    })
  }
}

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const ESCAPE = /^\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/
