import { expect, test } from 'vitest'
import { type Grant, issue } from '../../src/calls/grant.ts'
import { type AuthorisedCall, assertAuthorised, preparedCall, spend } from '../../src/calls/index.ts'
import { Bug, digest } from '../../src/core/index.ts'

const call = preparedCall({ action: { Respond: { content: 'hello' } }, arguments: null, contract: null })
const parts = { call, toolbox: null, binding: digest('binding'), deadlineMs: 10 }

test('spend() turns a grant into an authorised call of the very object that was judged', () => {
  const authorised = spend(issue(parts))
  expect(authorised.call).toBe(call)
  expect(() => assertAuthorised(authorised)).not.toThrow()
})

test('a grant is spent once', () => {
  const grant = issue(parts)
  spend(grant)
  expect(() => spend(grant)).toThrow(Bug)
})

test('spending one grant leaves another one of the same call alone', () => {
  const [first, second] = [issue(parts), issue(parts)]
  spend(first)
  expect(spend(second).call).toBe(call)
})

test.each<[string, (grant: Grant) => unknown]>([
  ['a cast object', () => parts],
  ['a cast call', () => call],
  ['a spread copy', (grant) => ({ ...grant })],
  ['a structured clone', (grant) => structuredClone({ ...grant })],
  ['a copy over JSON', (grant) => JSON.parse(JSON.stringify(grant))],
  ['an heir', (grant) => Object.create(grant)],
  ['a proxy', (grant) => new Proxy(grant, {})],
  ['nothing', () => undefined],
])('%s is refused as a grant, and the grant itself stays good', (_name, forge) => {
  const grant = issue(parts)
  expect(() => spend(forge(grant) as Grant)).toThrow(Bug)
  expect(spend(grant).call).toBe(call)
})

test('a grant and its authorised call cannot be changed', () => {
  const grant = issue(parts)
  expect(() => Object.assign(grant, { deadlineMs: 99 })).toThrow(TypeError)
  const authorised = spend(grant)
  expect(() => Object.assign(authorised, { call: null })).toThrow(TypeError)
  expect(() => Object.assign(authorised.call, { arguments: {} })).toThrow(TypeError)
})

test('changing what a grant was made of changes nothing in it', () => {
  const mine = { ...parts }
  const grant = issue(mine)
  mine.deadlineMs = 99
  expect(grant.deadlineMs).toBe(10)
})

test.each<[string, (authorised: AuthorisedCall) => unknown]>([
  ['a prepared call', () => call],
  ['an unspent grant', () => issue(parts)],
  ['an object of the same shape', () => ({ call })],
  ['a spread copy', (authorised) => ({ ...authorised })],
  ['a structured clone', (authorised) => structuredClone({ ...authorised })],
])('%s is refused where an authorised call is due', (_name, forge) => {
  const authorised = spend(issue(parts))
  expect(() => assertAuthorised(forge(authorised) as AuthorisedCall)).toThrow(Bug)
})
