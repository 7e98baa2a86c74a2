/**
 * Canonical text for values whose shape is known: member names are sorted and quoted once, when the shape is made, and
 * not for every value. The text is the one `canonical` gives; whatever the shape does not know is left to it.
 *
 * What is written here can be read back: a value that our own strict reader would refuse is a Bug.
 */
import { canonicalToRead, quote, sortNames } from './canonical-json.ts'

/** Writes a value that fits its shape. */
export type Writer = (value: unknown) => string
interface Writable {
  readonly write: Writer
}

export const writeJson: Writer = canonicalToRead

export const writeText: Writer = (value) => quote(value as string)
/** For true, false and whole numbers up to 2^53-1. */
export const writePlain: Writer = String

export function listWriter(inner: Writable): Writer {
  return (value) => {
    const items = value as readonly unknown[]
    let text = '['
    for (let index = 0; index < items.length; index += 1) {
      text += index === 0 ? inner.write(items[index]) : `,${inner.write(items[index])}`
    }
    return `${text}]`
  }
}

/** `tags`: how many members a value has that are not its own and not written. `otherwise` writes one with other members. */
export function objectWriter(
  members: { readonly [name: string]: Writable },
  tags = 0,
  otherwise: Writer = writeJson,
): Writer {
  const rows = sortNames(Object.keys(members)).map((name) => {
    const head = `${quote(name)}:`
    return { name, head, next: `,${head}`, write: (members[name] as Writable).write }
  })
  return (value) => {
    let text = '{'
    let written = 0
    for (const { name, head, next, write } of rows) {
      const member = (value as Record<string, unknown>)[name]
      if (member === undefined) continue
      text += (written === 0 ? head : next) + write(member)
      written += 1
    }
    return written + tags === Object.keys(value as object).length ? `${text}}` : otherwise(value) // it has members of its own
  }
}

/** Writes a value that names its variant by its member `kind` as `taggedWriter` writes `{[kind]: members}`. */
export function kindWriter(
  variants: ReadonlyMap<string, { readonly [name: string]: Writable }>,
  otherwise: Writer,
): Writer {
  const rows = new Map(
    [...variants].map(([name, members]) => [
      name,
      { head: `{${quote(name)}:`, write: objectWriter(members, 1, () => '') },
    ]),
  )
  return (value) => {
    const row = rows.get((value as { readonly kind: string }).kind)
    const text = row === undefined ? '' : row.write(value)
    return row === undefined || text === '' ? otherwise(value) : `${row.head}${text}}`
  }
}

export function taggedWriter(variants: ReadonlyMap<string, { readonly inner: Writable }>): Writer {
  const heads = new Map([...variants].map(([name, { inner }]) => [name, { head: `{${quote(name)}:`, inner }]))
  return (value) => {
    if (typeof value === 'string') return quote(value)
    const name = Object.keys(value as object)[0]
    const row = name === undefined ? undefined : heads.get(name)
    if (name === undefined || row === undefined) return writeJson(value)
    return `${row.head}${row.inner.write((value as Record<string, unknown>)[name])}}`
  }
}
