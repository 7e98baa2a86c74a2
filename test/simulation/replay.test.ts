/** What a failing seed says: enough to see the same life again, and no more than is needed for it. */
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { shortestLife, simulate } from '../../src/testing/index.ts'
import { ROOT } from '../support/sources.ts'
import { DELIBERATE_FAULTS, type Edit } from './deliberate-faults.ts'
import { simulator, withEdits } from './faulty-program.ts'

const WAIT_MS = 120_000
const DIST = join(ROOT, 'dist')

function editsOf(name: string): readonly Edit[] {
  const fault = DELIBERATE_FAULTS.find((one) => one.name === name)
  if (fault === undefined) throw new Error(`no deliberate fault is called "${name}"`)
  return fault.edits
}

/** The arguments of the command that was printed last. */
function commandIn(stdout: string): readonly string[] {
  return (/^again: npm run sim -- (.+)$/m.exec(stdout)?.[1] ?? '').split(' ')
}

test(
  'a broken law is printed with its seed, the commit, a plan of which nothing can be left out, and a command that breaks it again',
  () =>
    withEdits(editsOf('decision and intent are written behind the effect'), async (dist) => {
      const { code, stdout } = await simulator(dist, ['--seed', '2'])
      expect(code).toBe(1)
      expect(stdout).toMatch(/^seed 2 at (?:commit [0-9a-f]+|no commit) breaks "intent before effect": /m)
      expect(stdout).toMatch(
        /^the plan, of which nothing can be left out:\n(?: {2}\d+: \{.*\}\n){1,5}its last \d+ events:$/m,
      )
      const again = await simulator(dist, commandIn(stdout))
      expect(again.code).toBe(1)
      expect(again.stdout).toContain('LAW BROKEN: intent before effect')
      expect(again.stdout).toMatch(/^seed 2: .* 1 broken laws$/m)
    }),
  WAIT_MS,
)

test(
  'a rejection that nobody handles is told with the command that shows it, and ends no process',
  () => {
    const lost = "void Promise.reject(new Error('lost on purpose'));"
    const place = editsOf('decision and intent are written behind the effect')[0] as Edit
    return withEdits([{ ...place, replace: `${lost} ${place.find}` }], async (dist) => {
      const { code, stdout, stderr } = await simulator(dist, ['--seed', '2'])
      expect({ code, stderr }).toEqual({ code: 1, stderr: '' })
      expect(stdout).toContain('breaks "the runtime stays up": a rejection that nobody handled: Error: lost on purpose')
      expect(commandIn(stdout)).toEqual(['--seed', '2', '--trace'])
    })
  },
  WAIT_MS,
)

test('a module that takes its time to load makes no life another one', { timeout: WAIT_MS }, async () => {
  const { stdout: quick } = await simulator(DIST, ['--seed', '18', '--trace'])
  const late = {
    file: 'runtime/tool-sessions/tool-session.js',
    find: '/**',
    replace: 'await new Promise((r) => setTimeout(r, 500));\n/**',
  }
  await withEdits([late], async (dist) => {
    expect((await simulator(dist, ['--seed', '18', '--trace'])).stdout).toBe(quick)
  })
})

test('lives in which nothing takes effect are no proof', { timeout: WAIT_MS }, () => {
  const find = "if (decision.kind === 'Deny')"
  const denial =
    "return denied(action, 'nothing today', call, judgedBy({ policies: [], errors: [] }, question(approval)));"
  const denied = { file: 'dispatch/authorise.js', find, replace: `${denial} ${find}` }
  return withEdits([denied], async (dist) => {
    const { code, stdout } = await simulator(dist, ['--from', '1', '--seeds', '20', '--jobs', '1'])
    expect({ code, verdict: stdout.split('\n').at(-2) }).toEqual({
      code: 1,
      verdict: expect.stringMatching(/^not shown: /),
    })
  })
})

test('a life without any of its planned events can be asked for, and keeps the laws', {
  timeout: WAIT_MS,
}, async () => {
  const { code, stdout } = await simulator(DIST, ['--seed', '2', '--only=', '--trace'])
  expect(code).toBe(0)
  expect(stdout).toMatch(/^seed 2: \d+ steps, \d+ processes, 0 effects, 0 broken laws$/m)
})

test('an event that the plan does not have is no verdict', { timeout: WAIT_MS }, async () => {
  const { code, stdout, stderr } = await simulator(DIST, ['--seed', '2', '--only', '3,9999'])
  expect({ code, stdout }).toEqual({ code: 64, stdout: '' })
  expect(stderr).toMatch(
    /^Cannot simulate the event 9999 of seed 2: its plan has the events 0 to \d+\nhint: Live the whole seed: .+\n$/,
  )
})

describe('from a program', () => {
  test.each([-1, 0.5, Number.NaN])('the seed %d is refused', async (seed) => {
    await expect(simulate({ seed })).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
    await expect(shortestLife(seed, 'evidence verifies')).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
  })

  test('a life that keeps a law has no shortest one that breaks it', { timeout: WAIT_MS }, async () => {
    expect(await shortestLife(2, 'evidence verifies')).toBeNull()
  })
})
