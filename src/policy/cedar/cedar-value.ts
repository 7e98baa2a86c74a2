/**
 * JSON values as Cedar sees them. What Cedar cannot hold exactly is refused with the path of the place, never rounded,
 * dropped or guessed: the value that is judged must be the value that is executed.
 *
 * Two departures that lose nothing a policy could rely on: a null member of an object is left out (Cedar has no null, and
 * `has` then answers false), and a fraction is a `decimal` where its text fits one exactly, else that text as a string.
 */
import type { CedarValueJson } from '@cedar-policy/cedar-wasm/nodejs'

/** A value that cannot be shown to policy. The message names the path. */
export class Unfit extends Error {
  override readonly name = 'Unfit'
}

/** Cedar reads objects with these members as entities and extension values: an argument must not become one. */
const CEDAR_ESCAPES = new Set(['__entity', '__extn', '__expr'])
/** Cedar's reader gives up at about 125 levels. */
const DEPTH_MAX = 100

export function cedarValue(value: unknown, place: string): CedarValueJson {
  return new Converter(place).convert(value)
}

class Converter {
  readonly #place: string
  readonly #path: (string | number)[] = []

  constructor(place: string) {
    this.#place = place
  }

  convert(value: unknown): CedarValueJson {
    switch (typeof value) {
      case 'string':
        if (!value.isWellFormed()) throw this.#unfit('holds a lone surrogate')
        return value
      case 'boolean':
        return value
      case 'number':
        return this.#number(value)
      case 'object':
        if (value === null) throw this.#unfit('is null, which Cedar does not have')
        if (this.#path.length >= DEPTH_MAX) throw this.#unfit(`is nested more than ${DEPTH_MAX} levels deep`)
        return Array.isArray(value) ? this.#array(value) : this.#object(value)
      default:
        throw this.#unfit(`is ${typeof value === 'undefined' ? 'undefined' : `a ${typeof value}`}, which is not JSON`)
    }
  }

  #number(value: number): CedarValueJson {
    if (!Number.isFinite(value)) throw this.#unfit('is not a finite number')
    if (!Number.isInteger(value)) return fraction(value)
    if (!Number.isSafeInteger(value)) throw this.#unfit('is an integer beyond 2^53-1 and would be rounded')
    return value
  }

  #array(items: readonly unknown[]): CedarValueJson {
    const seen: CedarValueJson[] = []
    for (let index = 0; index < items.length; index += 1) {
      this.#path.push(index)
      seen.push(this.convert(items[index]))
      this.#path.pop()
    }
    return seen
  }

  #object(members: object): CedarValueJson {
    const prototype = Object.getPrototypeOf(members)
    if (prototype !== Object.prototype && prototype !== null)
      throw this.#unfit('is a class instance, which is not JSON')
    const seen: Record<string, CedarValueJson> = Object.create(null) // so that no member name is special
    for (const [name, member] of Object.entries(members)) {
      this.#path.push(name)
      if (CEDAR_ESCAPES.has(name)) throw this.#unfit('has a name that Cedar would read as more than data')
      if (!name.isWellFormed()) throw this.#unfit('has a name with a lone surrogate')
      if (member !== null) seen[name] = this.convert(member)
      this.#path.pop()
    }
    return seen
  }

  #unfit(state: string): Unfit {
    let path = this.#place
    for (const step of this.#path) {
      if (typeof step === 'number') path += `[${step}]`
      else path += /^[_a-zA-Z][_a-zA-Z0-9]*$/.test(step) ? `.${step}` : `[${JSON.stringify(step)}]`
    }
    const shown = path.length > 160 ? `${path.slice(0, 80)}…${path.slice(-79)}` : path
    return new Unfit(`"${shown.toWellFormed()}" ${state}`)
  }
}

const DECIMAL = /^-?(?<whole>\d+)\.(?<places>\d{1,4})$/
/** Cedar keeps a decimal as a signed 64-bit count of ten-thousandths. */
const DECIMAL_MAX = 2n ** 63n - 1n

function fraction(value: number): CedarValueJson {
  const text = String(value)
  const digits = DECIMAL.exec(text)?.groups
  if (digits === undefined) return text
  const units = BigInt(`${digits.whole}${digits.places?.padEnd(4, '0')}`)
  return units <= DECIMAL_MAX ? { __extn: { fn: 'decimal', arg: text } } : text
}
