import { createPrivateKey, sign } from 'node:crypto'
import Module from 'node:module'
import { inspect } from 'node:util'
import fc from 'fast-check'
import { afterEach, describe, expect, test, vi } from 'vitest'

const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex')
const BY_NODE = 512

type Loaded = { crypto_sign_detached(signature: Buffer, message: Uint8Array, secretKey: Buffer): void }

/** As a new process has it: nothing was signed, and the library was not asked for. `load` stands in for loading it. */
async function freshProcess(load: (real: () => Loaded) => unknown = (real) => real()) {
  vi.resetModules()
  const seen = { loads: 0 }
  const original = Reflect.get(Module, '_load') as (name: string, ...rest: unknown[]) => unknown
  vi.spyOn(Module as unknown as { _load: typeof original }, '_load').mockImplementation((name, ...rest) => {
    const real = (): unknown => original.call(Module, name, ...rest)
    if (name !== 'sodium-native') return real()
    seen.loads += 1
    return load(real as () => Loaded)
  })
  const { signingKeyOf } = await import('../../src/keys/index.ts')
  return { seen, signingKeyOf }
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex')
}

/** What Node signs with the key of this seed. */
function nodeSigns(seed: Uint8Array): (message: Uint8Array) => string {
  const key = createPrivateKey({ key: Buffer.concat([PKCS8, seed]), format: 'der', type: 'pkcs8' })
  return (message) => hex(sign(null, message, key))
}

const seed = Buffer.alloc(32, 9)
const text = (count: number): Buffer => Buffer.from(`text ${count}`)

afterEach(() => {
  vi.restoreAllMocks()
  vi.resetModules()
})

describe('a process', () => {
  test('that signs a little does not load the library; one that signs often loads it once, and its bytes do not tell', async () => {
    const { seen, signingKeyOf } = await freshProcess()
    const key = signingKeyOf(seed)
    const expected = nodeSigns(seed)
    for (let count = 0; count < BY_NODE; count += 1) expect(hex(key.sign(text(count)))).toBe(expected(text(count)))
    expect(seen.loads).toBe(0)
    for (let count = 0; count < 200; count += 1) expect(hex(key.sign(text(count)))).toBe(expected(text(count)))
    expect(seen.loads).toBe(1)
  })

  test('that signs often really signs with the library', async () => {
    let signed = 0
    const { signingKeyOf } = await freshProcess((real) => {
      const library = real()
      return {
        ...library,
        crypto_sign_detached: (...args: Parameters<Loaded['crypto_sign_detached']>) => {
          signed += 1
          library.crypto_sign_detached(...args)
        },
      }
    })
    const key = signingKeyOf(seed)
    for (let count = 0; count < BY_NODE + 101; count += 1) key.sign(text(count))
    expect(signed).toBe(101) // a probe, and each after the one that loaded it
  })

  test.each<[string, (real: () => Loaded) => unknown]>([
    [
      'there is no binary for its system',
      () => {
        throw new Error('no binary')
      },
    ],
    ['the library has nothing that signs', () => ({})],
    [
      'the library throws later on',
      (real) => {
        const library = real()
        let signed = 0
        return {
          ...library,
          crypto_sign_detached: (...args: Parameters<Loaded['crypto_sign_detached']>) => {
            signed += 1
            if (signed > 20) throw new Error('no more')
            library.crypto_sign_detached(...args)
          },
        }
      },
    ],
    [
      'the library signs in other words than Node',
      (real) => {
        const library = real()
        return {
          ...library,
          crypto_sign_detached: (...args: Parameters<Loaded['crypto_sign_detached']>) => {
            library.crypto_sign_detached(...args)
            args[0].reverse()
          },
        }
      },
    ],
  ])('goes on with Node where %s', async (_why, load) => {
    const { seen, signingKeyOf } = await freshProcess(load)
    const key = signingKeyOf(seed)
    const expected = nodeSigns(seed)
    for (let count = 0; count < BY_NODE + 100; count += 1)
      expect(hex(key.sign(text(count)))).toBe(expected(text(count)))
    expect(seen.loads).toBe(1)
  })
})

test('what is no Uint8Array is refused, before and after the library is there: the two would read other bytes', async () => {
  const { signingKeyOf } = await freshProcess()
  const key = signingKeyOf(seed)
  const others: readonly unknown[] = [
    'a text',
    new ArrayBuffer(8),
    new DataView(new ArrayBuffer(8)),
    [1, 2],
    { byteLength: 8 },
    null,
  ]
  for (let round = 0; round < 2; round += 1) {
    for (const other of others) expect(() => key.sign(other as Uint8Array)).toThrow(TypeError)
    for (let count = 0; count < BY_NODE + 10; count += 1) key.sign(text(count))
  }
})

describe('the library', () => {
  test('makes the bytes that Node makes, for any seed and any message', async () => {
    const { signingKeyOf } = await freshProcess()
    for (let count = 0; count <= BY_NODE; count += 1) signingKeyOf(seed).sign(text(count))
    fc.assert(
      fc.property(
        fc.uint8Array({ minLength: 32, maxLength: 32 }),
        fc.uint8Array({ maxLength: 3000 }),
        (other, message) => {
          const key = signingKeyOf(other)
          key.sign(message) // the first still is Node's
          expect(hex(key.sign(message))).toBe(nodeSigns(other)(message))
        },
      ),
    )
  })

  test('keeps the secret of a key out of every text', async () => {
    const { signingKeyOf } = await freshProcess()
    const key = signingKeyOf(seed)
    for (let count = 0; count < BY_NODE + 10; count += 1) key.sign(text(count))
    const shown = `${JSON.stringify(key)} ${String(key)} ${inspect(key, { showHidden: true, depth: 9 })}`
    for (const form of ['hex', 'base64', 'latin1'] as const) expect(shown).not.toContain(seed.toString(form))
  })
})
