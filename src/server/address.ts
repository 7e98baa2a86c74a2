/**
 * Addresses: whose request this is, behind any proxies that we were told to trust.
 *
 * A forwarded header is believed only as far as trusted proxies wrote it: we walk it from the right and stop at the first
 * address that is not a trusted proxy. What stands further left is the client's own claim.
 */
import { Fault } from '../core/index.ts'

/** 16 bytes; IPv4 lies in ::ffff:0:0/96, so one client has one spelling. */
type Bytes = readonly number[]
export type Block = { readonly bytes: Bytes; readonly bits: number }

/** Blocks from settings such as `10.0.0.0/8` or `::1`. Throws `CONFIG_INVALID`. */
export function parseBlocks(texts: readonly string[]): readonly Block[] {
  return texts.map((text) => {
    const [address = '', length, ...rest] = text.trim().split('/')
    const bytes = parseAddress(address)
    const own = address.includes(':') ? 128 : 32
    const bits = length === undefined ? own : /^\d{1,3}$/.test(length) ? Number(length) : -1
    if (bytes === null || bits < 0 || bits > own || rest.length > 0) {
      throw new Fault('CONFIG_INVALID', {
        message: `Cannot trust the proxy ${JSON.stringify(text.slice(0, 80))}: it is neither an address nor a block`,
        hint: 'Give addresses or blocks such as 10.0.0.0/8, separated by commas',
      })
    }
    return { bytes, bits: bits + (128 - own) }
  })
}

export type ForwardedHeaders = {
  readonly [name: string]: string | string[] | undefined
}

/** The client's address, or null when it cannot be determined. */
export function clientAddress(
  peer: string | undefined,
  headers: ForwardedHeaders,
  trusted: readonly Block[],
): string | null {
  const own = peer === undefined ? null : parseAddress(peer)
  if (own === null) return null
  if (!isIn(own, trusted)) return spell(own)
  const hops = listOf(headers['x-forwarded-for']) ?? listOf(headers['x-real-ip']) ?? []
  let client = own
  for (const hop of hops.reverse()) {
    const bytes = parseAddress(withoutPort(hop))
    if (bytes === null) return null // a proxy we trust wrote what is no address: nobody to charge
    client = bytes
    if (!isIn(bytes, trusted)) break
  }
  return spell(client)
}

/** The unit that is charged: an IPv4 address, or the /64 that one IPv6 client usually owns entirely. */
export function chargedUnit(address: string): string {
  const bytes = parseAddress(address)
  if (bytes === null || isMapped(bytes)) return address
  return `${spell([...bytes.slice(0, 8), 0, 0, 0, 0, 0, 0, 0, 0])}/64`
}

/** True for an address that only this machine can reach. Names other than "localhost" are not. */
export function isLoopback(host: string): boolean {
  if (host.toLowerCase() === 'localhost') return true
  const bytes = parseAddress(host)
  return bytes !== null && isIn(bytes, LOOPBACK)
}

function listOf(header: string | string[] | undefined): string[] | null {
  if (header === undefined) return null
  const text = typeof header === 'string' ? header : header.join(',')
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
}

function withoutPort(text: string): string {
  const bracketed = /^\[([^\]]*)\](?::\d+)?$/.exec(text)
  if (bracketed !== null) return bracketed[1] ?? ''
  return /^[\d.]+:\d+$/.test(text) ? text.slice(0, text.indexOf(':')) : text
}

function isIn(bytes: Bytes, blocks: readonly Block[]): boolean {
  return blocks.some((block) => {
    for (let bit = 0; bit < block.bits; bit += 8) {
      const mask = bit + 8 <= block.bits ? 0xff : (0xff << (8 - (block.bits - bit))) & 0xff
      if ((((bytes[bit / 8] ?? 0) ^ (block.bytes[bit / 8] ?? 0)) & mask) !== 0) return false
    }
    return true
  })
}

const MAPPED: Bytes = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff]

function isMapped(bytes: Bytes): boolean {
  return MAPPED.every((byte, index) => bytes[index] === byte)
}

function parseAddress(text: string): Bytes | null {
  const bare = text.replace(/%[\w.-]+$/, '') // the zone of a link-local address names an interface of ours
  if (!bare.includes(':')) {
    const v4 = parseV4(bare)
    return v4 && [...MAPPED, ...v4]
  }
  const [head = '', tail, ...rest] = bare.split('::')
  if (rest.length > 0) return null
  const left = parseGroups(head)
  const right = tail === undefined ? [] : parseGroups(tail)
  if (left === null || right === null) return null
  const missing = 16 - left.length - right.length
  if (tail === undefined ? missing !== 0 : missing < 2) return null
  return [...left, ...new Array<number>(missing).fill(0), ...right]
}

function parseGroups(text: string): number[] | null {
  const bytes: number[] = []
  const groups = text === '' ? [] : text.split(':')
  for (const [index, group] of groups.entries()) {
    if (group.includes('.') && index === groups.length - 1) {
      const v4 = parseV4(group)
      if (v4 === null) return null
      bytes.push(...v4)
    } else if (/^[0-9a-fA-F]{1,4}$/.test(group)) {
      const value = Number.parseInt(group, 16)
      bytes.push(value >> 8, value & 0xff)
    } else return null
  }
  return bytes.length <= 16 ? bytes : null
}

function parseV4(text: string): number[] | null {
  const parts = text.split('.')
  if (parts.length !== 4 || !parts.every((part) => /^(?:0|[1-9]\d{0,2})$/.test(part) && Number(part) <= 255))
    return null
  return parts.map(Number)
}

/** One spelling for each address. Zeros are not abbreviated: it is a key, and a fact in the log. */
function spell(bytes: Bytes): string {
  if (isMapped(bytes)) return bytes.slice(12).join('.')
  const groups: string[] = []
  for (let at = 0; at < 16; at += 2) groups.push((((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0)).toString(16))
  return groups.join(':')
}

const LOOPBACK = parseBlocks(['127.0.0.0/8', '::1'])
