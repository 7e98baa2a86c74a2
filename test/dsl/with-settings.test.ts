/** The settings of one agent, as a run takes them. */
import { expect, test } from 'vitest'
import { agentsOf, type Expression, parse, sandboxTierOf, timeoutSecondsOf, withSettings } from '../../src/dsl/index.ts'

const settingsOf = (members: string) => withSettings(agentsOf(parse(`agent a { ${members} }`).tree)[0]!)

test.each([
  ['docker', 'tier1'],
  ['Docker', 'tier1'],
  ['tier1', 'tier1'],
  ['gvisor', 'tier2'],
  ['TIER2', 'tier2'],
  ['firecracker', 'tier3'],
  ['tier3', 'tier3'],
  ['e2b', 'e2b'],
  ['none', null],
  ['tier0', null],
  ['landlock', null],
  [' docker', null],
  ['toString', null],
])('the sandbox "%s" is %s', (text, tier) => {
  expect(sandboxTierOf(text)).toBe(tier)
})

test.each([
  ['90.seconds', 90],
  ['2.minutes', 120],
  ['1.hours', 3600],
  ['45s', 45],
  ['3m', 180],
  ['2h', 7200],
  ['1d', 86_400],
  ['1w', null],
  ['"2m"', 120],
  ['"1h 30m"', 5400],
  ['"90.seconds"', 90],
  ['"1h,30m"', null],
  ['60', 60],
  ['1_0', 10],
  ['0', null],
  ['1.5', null],
  ['soon', null],
])('a timeout of %s is %s seconds', (text, seconds) => {
  const [agent] = agentsOf(parse(`agent a { with timeout = ${text} {} }`).tree)
  const [block] = agent!.members
  if (block?.kind !== 'with') throw new Error('no with-block')
  expect(timeoutSecondsOf(block.attributes[0]!.value satisfies Expression)).toBe(seconds)
})

test('an agent without with-blocks leaves both to others', () => {
  expect(settingsOf('capabilities = ["x"]')).toEqual({ sandboxTier: null, timeoutSeconds: null, problems: [] })
})

test('settings may stand in several blocks', () => {
  expect(settingsOf('with timeout = 5m {} with sandbox = GVISOR {} with timeout = "300s" {}')).toEqual({
    sandboxTier: 'tier2',
    timeoutSeconds: 300,
    problems: [],
  })
})

test('what cannot be used sets nothing, and is told', () => {
  const { sandboxTier, timeoutSeconds, problems } = settingsOf('with sandbox = none, timeout = 0, colour = "red" {}')
  expect([sandboxTier, timeoutSeconds]).toEqual([null, null])
  expect(problems.map(({ code }) => code)).toEqual(['E130', 'E130', 'W200'])
})
