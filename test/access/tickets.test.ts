import { expect, test } from 'vitest'
import { ApiKeys, Tickets } from '../../src/access/index.ts'
import { instantOf } from '../../src/core/index.ts'
import { keyFolder, SECRET, settingsFor, testKey } from '../support/key-files.ts'
import { testWorld } from '../support/test-world.ts'

async function fixture() {
  const key = await testKey('fixture')
  const folder = await keyFolder([key])
  const world = testWorld()
  const keys = await ApiKeys.open(settingsFor(folder.path), world, () => undefined)
  const caller = await keys.authenticate(`fixture.${SECRET}`)
  return {
    key,
    folder,
    world,
    tickets: new Tickets(keys, world),
    caller: caller!,
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  }
}

test('a ticket is spent once, by the very caller who asked for it', async () => {
  await using made = await fixture()
  const { ticket } = made.tickets.issue(made.caller)
  const spent = await Promise.all([made.tickets.spend(ticket), made.tickets.spend(ticket)])
  expect(spent.filter((caller) => caller !== null)).toEqual([made.caller])
  expect(await made.tickets.spend(ticket)).toBeNull()
})

test('a ticket lives for 30 seconds, and says so', async () => {
  await using made = await fixture()
  const first = made.tickets.issue(made.caller)
  const lifeNs = instantOf(first.expires_at) - instantOf(made.world.clock.wall())
  expect(lifeNs > 25_000_000_000n && lifeNs <= 30_000_000_000n).toBe(true)
  made.world.advance(29_000)
  expect(await made.tickets.spend(first.ticket)).toBe(made.caller)
  const second = made.tickets.issue(made.caller)
  made.world.advance(30_000)
  expect(await made.tickets.spend(second.ticket)).toBeNull()
})

test('a ticket of a key that was revoked meanwhile is refused', async () => {
  await using made = await fixture()
  const { ticket } = made.tickets.issue(made.caller)
  await made.folder.write([{ ...made.key, revoked: true }])
  expect(await made.tickets.spend(ticket)).toBeNull()
})

test('the table is bounded, refuses when it is full, and makes room when tickets expire', async () => {
  await using made = await fixture()
  for (let count = 0; count < 4096; count += 1) made.tickets.issue(made.caller)
  expect(() => made.tickets.issue(made.caller)).toThrow(expect.objectContaining({ code: 'OVERLOADED' }))
  made.world.advance(30_000)
  expect(made.tickets.issue(made.caller).ticket).toMatch(/^[\w-]{43}$/)
})

test.each(['', 'unknown', 'x'.repeat(10_000)])('the text %.20j is no ticket', async (text) => {
  await using made = await fixture()
  expect(await made.tickets.spend(text)).toBeNull()
})
