/** Ed25519 by the book, slow and plain: makes the keys and signatures that no honest library makes. */
import { createHash } from 'node:crypto'

export const P = (1n << 255n) - 19n
export const L = (1n << 252n) + 27742317777372353535851937790883648493n
const D = mod(-121665n * inverse(121666n))
const ROOT_OF_MINUS_ONE = power(2n, (P - 1n) / 4n)

export type Point = { readonly x: bigint; readonly y: bigint }
export const IDENTITY: Point = { x: 0n, y: 1n }
export const BASE = decode(mod(4n * inverse(5n)), 0n) as Point

export function mod(value: bigint, modulus = P): bigint {
  return ((value % modulus) + modulus) % modulus
}

function power(base: bigint, exponent: bigint): bigint {
  let result = 1n
  for (let square = mod(base), left = exponent; left > 0n; left >>= 1n, square = mod(square * square)) {
    if ((left & 1n) === 1n) result = mod(result * square)
  }
  return result
}

function inverse(value: bigint): bigint {
  return power(value, P - 2n)
}

export function add(a: Point, b: Point): Point {
  const product = mod(D * a.x * b.x * a.y * b.y)
  return {
    x: mod((a.x * b.y + b.x * a.y) * inverse(1n + product)),
    y: mod((a.y * b.y + a.x * b.x) * inverse(1n - product)),
  }
}

export function times(scalar: bigint, point: Point): Point {
  let result = IDENTITY
  for (let double = point, left = scalar; left > 0n; left >>= 1n, double = add(double, double)) {
    if ((left & 1n) === 1n) result = add(result, double)
  }
  return result
}

/** The point with this y and this lowest bit of x, or null when there is none. */
export function decode(y: bigint, sign: bigint): Point | null {
  const ratio = mod((y * y - 1n) * inverse(D * y * y + 1n))
  let x = power(ratio, (P + 3n) / 8n)
  if (mod(x * x) !== ratio) x = mod(x * ROOT_OF_MINUS_ONE)
  if (mod(x * x) !== ratio) return null
  return { x: (x & 1n) === sign ? x : mod(-x), y: mod(y) }
}

/** 32 bytes: y, which may lie beyond the field on purpose, and the sign of x in the highest bit. */
export function encodeY(y: bigint, sign: bigint): Buffer {
  return littleEndian(y | (sign << 255n))
}

export function encode({ x, y }: Point): Buffer {
  return encodeY(y, x & 1n)
}

export function littleEndian(value: bigint): Buffer {
  return Buffer.from(value.toString(16).padStart(64, '0'), 'hex').reverse()
}

/** A generator of the eight points of small order. */
export function orderEight(): Point {
  for (let y = 2n; ; y += 1n) {
    const point = decode(y, 0n)
    const torsion = point === null ? IDENTITY : times(L, point)
    if (times(4n, torsion).y !== 1n) return torsion
  }
}

/** The secret scalar of a seed. */
export function scalarOf(seed: Uint8Array): bigint {
  const bytes = createHash('sha512').update(seed).digest().subarray(0, 32)
  bytes[0] = (bytes[0] as number) & 248
  bytes[31] = ((bytes[31] as number) & 63) | 64
  return BigInt(`0x${bytes.reverse().toString('hex')}`)
}

export function challenge(r: Uint8Array, a: Uint8Array, message: Uint8Array): bigint {
  const digest = createHash('sha512').update(r).update(a).update(message).digest()
  return mod(BigInt(`0x${digest.reverse().toString('hex')}`), L)
}
