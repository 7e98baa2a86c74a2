import fc from 'fast-check'
import { expect, test } from 'vitest'
import { shrink } from '../../../src/testing/simulation/shrink.ts'

const upTo = (count: number): readonly number[] => Array.from({ length: count }, (_, at) => at)
const holds = (items: readonly number[], needed: readonly number[]): boolean =>
  needed.every((each) => items.includes(each))

test('what is left is just what it takes, in its order', async () => {
  const needed = [3, 41, 97]
  const { items, tries, minimal } = await shrink(upTo(100), async (part) => holds(part, needed))
  expect({ items, minimal }).toEqual({ items: needed, minimal: true })
  expect(tries).toBeLessThan(100)
})

test('a plan that fails whatever is left out becomes empty', async () => {
  expect(await shrink(upTo(50), async () => true)).toMatchObject({ items: [], minimal: true })
})

test('an empty plan, and a plan that needs all of its items, stay as they are', async () => {
  expect(await shrink([], async () => true)).toEqual({ items: [], tries: 0, minimal: true })
  const whole = upTo(5)
  expect(await shrink(whole, async (part) => part.length === 5)).toMatchObject({ items: whole, minimal: true })
})

test('when its tries run out it gives the smallest plan so far, and says that it may not be the last', async () => {
  const shrunk = await shrink(upTo(64), async (part) => holds(part, [5, 60]), { triesMax: 6 })
  expect(shrunk).toMatchObject({ tries: 6, minimal: false })
  expect(shrunk.items.length).toBeLessThan(64)
  expect(holds(shrunk.items, [5, 60])).toBe(true)
})

test('whatever it takes for a plan to fail, no single item of what is left can be left out', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(fc.nat(30), { maxLength: 4 }), { minLength: 1, maxLength: 4 }), async (ways) => {
      const fails = async (items: readonly number[]): Promise<boolean> => ways.some((needed) => holds(items, needed))
      const { items, minimal } = await shrink(upTo(31), fails)
      expect(minimal).toBe(true)
      expect(await fails(items)).toBe(true)
      for (const left of items) expect(await fails(items.filter((each) => each !== left))).toBe(false)
    }),
  )
})
