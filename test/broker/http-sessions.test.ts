import { expect, test } from 'vitest'
import { type Caller, networkCaller } from '../../src/access/caller.ts'
import { Connection } from '../../src/broker/connection.ts'
import {
  HTTP_SESSION_LIMITS,
  type HttpSession,
  type HttpSessionLimits,
  HttpSessions,
} from '../../src/broker/http-sessions.ts'
import { testWorld } from '../support/test-world.ts'

const callerOf = (key_id: string, token = key_id): Caller => networkCaller(token, { key_id, agent_scope: null })
const ONE = callerOf('one')

/** Sessions without clients: what is counted is their number and their ends. */
function sessions(limits: Partial<HttpSessionLimits> = {}) {
  const world = testWorld()
  const all = new HttpSessions({ ...HTTP_SESSION_LIMITS, ...limits }, world.clock)
  const ended: string[] = []
  let next = 0
  const open = async (caller = ONE): Promise<string> => {
    next += 1
    const id = `s${next}`
    const broker = { end: async () => void ended.push(id) } as unknown as HttpSession['broker']
    await all.open(id, caller, async () => ({ id, broker, connection: new Connection(id) }))
    return id
  }
  return { all, ended, open, world }
}

test('opening one session after another is over after so many, and goes on an hour later', async () => {
  const { all, open, world } = sessions({ perKeyHourMax: 3 })
  for (let n = 0; n < 3; n += 1) await all.end(await open())
  await expect(open()).rejects.toMatchObject({ code: 'RATE_LIMITED', facts: { retry_after_seconds: 3600 } })
  await expect(open(callerOf('one', 'rotated'))).rejects.toMatchObject({ code: 'RATE_LIMITED' }) // a new secret is the same key
  await all.end(await open(callerOf('two')))
  world.advance(3_600_001)
  await all.end(await open())
})

test('all keys together have so many places', async () => {
  const { all, open } = sessions({ sessionsMax: 2 })
  await open(callerOf('one'))
  const second = await open(callerOf('two'))
  await expect(open(callerOf('three'))).rejects.toMatchObject({ code: 'OVERLOADED' })
  await all.end(second)
  await open(callerOf('three'))
  expect(all.count).toBe(2)
})

test('a place is taken while a session is being opened, and given back when that fails', async () => {
  const { all } = sessions({ perKeyMax: 1 })
  let fail = (): void => undefined
  const opening = all.open('a', ONE, () => new Promise((_, reject) => (fail = () => reject(new Error('no')))))
  await expect(all.open('b', ONE, async () => Promise.reject(new Error('never asked')))).rejects.toMatchObject({
    code: 'RATE_LIMITED',
  })
  fail()
  await expect(opening).rejects.toThrow('no')
  expect(all.count).toBe(0)
})

test('a session that nobody uses ends by itself, and one whose secret changed is not found', async () => {
  const { all, ended, open } = sessions({ idleMs: 5 })
  const id = await open()
  expect(all.find(id, callerOf('one', 'rotated'))).toBeNull()
  await expect.poll(() => ended).toEqual([id])
  expect(all.find(id, ONE)).toBeNull()
})

test('everything ends when the door closes, also what is opened at that moment', async () => {
  const { all, ended, open, world } = sessions()
  let armed = 0
  const ids = [await open(), await open()]
  let made = (_session: HttpSession): void => undefined
  const late = all.open('late', ONE, () => new Promise((resolve) => (made = resolve)))
  let isOver = false
  const cancelled = all.cancel().then(() => (isOver = true))
  await expect.poll(() => ended).toEqual(ids)
  const { timer } = world.clock
  world.clock.timer = (...given) => {
    armed += 1
    return timer(...given)
  }
  made({
    id: 'late',
    broker: { end: async () => void ended.push('late') } as never,
    connection: new Connection('late'),
  })
  expect(isOver).toBe(false)
  await late
  await cancelled
  expect(ended).toEqual([...ids, 'late'])
  expect([all.count, armed]).toEqual([0, 0]) // a timer of a session that is over would keep the process
})
