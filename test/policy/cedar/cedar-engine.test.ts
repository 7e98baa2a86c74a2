import { expect, test } from 'vitest'
import { CedarEngine, type CedarRequest } from '../../../src/policy/cedar/cedar-engine.ts'

const request: CedarRequest = {
  principal: { type: 'Agent', id: 'a' },
  action: { type: 'Action', id: 'tool_call::x' },
  resource: { type: 'Resource', id: 'default' },
  context: {},
  entities: [],
}
const PERMIT = new Map([['all', 'permit(principal, action, resource);']])
/** Beyond what our bounds let through: 160 parentheses kill the instance. */
const KILLER = `permit(principal, action, resource) when { ${'('.repeat(400)}true${')'.repeat(400)} };`

test('the module is loaded when it is first asked, not before', () => {
  const engine = new CedarEngine()
  expect(engine.loads).toBe(0)
  engine.split('permit(principal, action, resource);')
  expect(engine.loads).toBe(1)
})

test('text that kills the module fails its own question, and the next decision comes from a new instance', () => {
  const engine = new CedarEngine()
  const slot = engine.lease()!
  engine.fill(slot, PERMIT)
  expect(engine.ask(slot, request)).toMatchObject({ kind: 'Answered', decision: 'allow' })
  expect(() => engine.parse(KILLER)).toThrow(expect.objectContaining({ code: 'POLICY_ENGINE' }))
  expect(engine.ask(slot, request)).toMatchObject({ kind: 'Answered', decision: 'allow', reason: ['all'] })
  expect(engine.loads).toBe(2)
})

test('a request that makes the module throw fails, and discards the instance', () => {
  const engine = new CedarEngine()
  const slot = engine.lease()!
  engine.fill(slot, PERMIT)
  const bad = { ...request, context: { big: 1n as unknown as number } }
  expect(() => engine.ask(slot, bad)).toThrow(expect.objectContaining({ code: 'POLICY_ENGINE' }))
  expect(engine.ask(slot, request)).toMatchObject({ decision: 'allow' })
  expect(engine.loads).toBe(2)
})

test('one poisonous set fails alone: other slots answer after it', () => {
  const engine = new CedarEngine()
  const [good, poison] = [engine.lease()!, engine.lease()!]
  engine.fill(good, PERMIT)
  expect(() => engine.fill(poison, new Map([['deep', KILLER]]))).toThrow('Cannot ask Cedar')
  for (let round = 0; round < 3; round += 1) {
    expect(() => engine.ask(poison, request)).toThrow('Cannot ask Cedar')
    expect(engine.ask(good, request)).toMatchObject({ decision: 'allow' })
  }
})

test('an empty slot permits nothing, and a released slot is used again under the same id', () => {
  const engine = new CedarEngine()
  const slot = engine.lease()!
  expect(engine.ask(slot, request)).toMatchObject({ decision: 'deny', reason: [] })
  engine.fill(slot, PERMIT)
  engine.release([slot])
  const again = engine.lease()!
  expect(again).toBe(slot)
  expect(engine.ask(again, request)).toMatchObject({ decision: 'deny', reason: [] })
  expect(engine.slotCount).toBe(1)
})

test('the number of prepared-set ids has an end', () => {
  const engine = new CedarEngine()
  let leased = 0
  while (engine.lease() !== null) leased += 1
  expect(leased).toBe(2048)
  expect(engine.lease()).toBeNull()
})
