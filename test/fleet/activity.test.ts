import { expect, test } from 'vitest'
import { countActivity } from '../../src/fleet/index.ts'
import { nodeWorld } from '../../src/world/index.ts'

const { clock } = nodeWorld()

test('runs are counted by how they ended, and unresolved is not failed', () => {
  const activity = countActivity(clock)
  activity.runStarted()('succeeded')
  activity.runStarted()('failed')
  activity.runStarted()('unresolved')
  activity.runStarted()
  expect(activity.read()).toMatchObject({
    runs_started: 4,
    runs_succeeded: 1,
    runs_failed: 1,
    runs_unresolved: 1,
    runs_active: 1,
  })
})

test('a run ends once and a connection closes once, however many ways out of them meet', () => {
  const activity = countActivity(clock)
  const end = activity.runStarted()
  end('unresolved')
  end('succeeded')
  const close = activity.connectionOpened()
  activity.connectionOpened()
  close()
  close()
  expect(activity.read()).toMatchObject({ runs_active: 0, runs_unresolved: 1, runs_succeeded: 0, connections: 1 })
})

test('the last activity moves when a run begins and when it ends, and not when somebody reads it', () => {
  const activity = countActivity(clock)
  const atFirst = activity.read().last_activity
  expect(activity.read().last_activity).toBe(atFirst)
  const end = activity.runStarted()
  const begun = activity.read().last_activity
  expect(begun > atFirst).toBe(true)
  end('succeeded')
  expect(activity.read().last_activity > begun).toBe(true)
})
