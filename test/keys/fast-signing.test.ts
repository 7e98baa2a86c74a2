import { createPrivateKey, sign } from 'node:crypto'
import Module from 'node:module'
import fc from 'fast-check'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { fastSigning } from '../../src/keys/fast-signing.ts'
import { signingKeyOf } from '../../src/keys/index.ts'

function keyOf(seed: Uint8Array) {
  const der = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), seed])
  const handle = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
  return { handle, slow: (message: Uint8Array) => sign(null, message, handle) }
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex')
}

afterEach(() => {
  vi.restoreAllMocks()
  vi.resetModules()
})

describe('signing with the library', () => {
  test('makes the bytes that Node makes, for any seed and message', () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ minLength: 32, maxLength: 32 }),
        fc.uint8Array({ maxLength: 3000 }),
        (seed, message) => {
          const { handle, slow } = keyOf(seed)
          const fast = fastSigning(handle, slow)
          expect(fast).not.toBeNull()
          expect(hex(fast?.(message) ?? new Uint8Array())).toBe(hex(slow(message)))
        },
      ),
    )
  })

  test('is not taken where it would sign in other words than Node', () => {
    const { handle, slow } = keyOf(Buffer.alloc(32, 3))
    expect(fastSigning(handle, slow)).not.toBeNull()
    expect(fastSigning(handle, (message) => Buffer.from(slow(message)).reverse())).toBeNull()
  })
})

describe('a process', () => {
  /** As a new process has it: nothing was signed, and the library was not asked for. */
  async function fresh(load: (() => never) | null): Promise<{ asked: () => number; sign: (text: string) => string }> {
    vi.resetModules()
    let asked = 0
    const original = Reflect.get(Module, '_load') as (name: string, ...rest: unknown[]) => unknown
    vi.spyOn(Module as unknown as { _load: typeof original }, '_load').mockImplementation((name, ...rest) => {
      if (name !== 'sodium-native') return original.call(Module, name, ...rest)
      asked += 1
      return load === null ? original.call(Module, name, ...rest) : load()
    })
    const keys = await import('../../src/keys/index.ts')
    const key = keys.signingKeyOf(Buffer.alloc(32, 9))
    return { asked: () => asked, sign: (text) => hex(key.sign(Buffer.from(text))) }
  }
  const { slow } = keyOf(Buffer.alloc(32, 9))
  const expected = (text: string): string => hex(slow(Buffer.from(text)))

  test('that signs a little does not load it, one that signs much loads it once, and nobody can tell by the bytes', async () => {
    const { asked, sign: signed } = await fresh(null)
    for (let count = 0; count < 512; count += 1) expect(signed(`text ${count}`)).toBe(expected(`text ${count}`))
    expect(asked()).toBe(0)
    for (let count = 512; count < 700; count += 1) expect(signed(`text ${count}`)).toBe(expected(`text ${count}`))
    expect(asked()).toBe(1)
  })

  test('without it signs as before', async () => {
    const { asked, sign: signed } = await fresh(() => {
      throw new Error('no binary for this system')
    })
    for (let count = 0; count < 700; count += 1) expect(signed(`text ${count}`)).toBe(expected(`text ${count}`))
    expect(asked()).toBe(1)
  })
})

test('a key that signs with the library keeps its secret out of every text', async () => {
  const { inspect } = await import('node:util')
  const seed = Buffer.alloc(32, 11)
  const key = signingKeyOf(seed)
  for (let count = 0; count < 600; count += 1) key.sign(seed.subarray(0, 1))
  const shown = `${JSON.stringify(key)} ${inspect(key, { showHidden: true, depth: 9 })}`
  for (const form of ['hex', 'base64', 'latin1'] as const) expect(shown).not.toContain(seed.toString(form))
})
