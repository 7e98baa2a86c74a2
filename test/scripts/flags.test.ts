import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ROOT } from '../../scripts/steps.mjs'

/** Nothing here waits for a build: what is wrong with the flags is said before. */
const run = (script: string, ...flags: readonly string[]) => {
  const done = spawnSync(process.execPath, [join(ROOT, 'scripts', script), ...flags], { encoding: 'utf8' })
  return { code: done.status, said: done.stdout, complaint: done.stderr }
}

test.each(['sim.mjs', 'mutants.mjs', 'crashes.mjs', 'fuzz.mjs'])(
  '%s answers a flag that it does not know with 64 and those that it does',
  (script) => {
    const { code, said, complaint } = run(script, '--sideways')
    expect({ code, said }).toEqual({ code: 64, said: '' })
    expect(complaint).toMatch(
      /^Cannot read the command line: Unknown option '--sideways'.*\nhint: (?:The flags are --\w+.*|It takes no flags)\n$/,
    )
  },
)

test.each([
  ['--seed', 'seven', 0],
  ['--seeds', '0', 1],
  ['--jobs', '0', 1],
] as const)(
  'sim.mjs answers %s %s with 64: 1 would mean that a law was broken, and 0 that none was',
  (flag, value, least) => {
    expect(run('sim.mjs', flag, value)).toEqual({
      code: 64,
      said: '',
      complaint: `Cannot use "${value}": it is no whole number from ${least} on\nhint: A seed is 0 or more; of seeds and jobs there is at least one\n`,
    })
  },
)

test('sim.mjs ends its answer to a program with the sum', { timeout: 60_000 }, () => {
  const { code, said } = run('sim.mjs', '--from', '1', '--seeds', '2', '--json', '--dist', join(ROOT, 'dist'))
  expect(code).toBe(0)
  expect(JSON.parse(said)).toMatchObject({ from: 1, lives: 2, broken: 0 })
})

test('mutants.mjs names a file that is not there, instead of an empty table', () => {
  const { code, said, complaint } = run('mutants.mjs', '--folder', 'journal', '--file', 'verifier:3-4')
  expect({ code, said }).toEqual({ code: 64, said: '' })
  expect(complaint).toMatch(/^Cannot change "verifier": src\/journal has no such file\nhint: /)
})

test('sim.mjs gives no verdict to a reader that went away', { timeout: 60_000 }, async () => {
  const args = [join(ROOT, 'scripts', 'sim.mjs'), '--seed', '18', '--journals', '--dist', join(ROOT, 'dist')]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  child.stdout.destroy()
  let complaint = ''
  child.stderr.on('data', (text) => {
    complaint += text
  })
  const [code] = await once(child, 'close')
  expect({ code, complaint }).toEqual({ code: 141, complaint: '' })
})

test('crashes.mjs refuses a campaign in which nothing happens, instead of finding no broken law', () => {
  expect(run('crashes.mjs', '--kills', '0', '--faults', '0')).toEqual({
    code: 64,
    said: '',
    complaint:
      'Cannot look for broken laws: with --kills 0 and --faults 0 nothing happens\nhint: One of the two is 1 or more\n',
  })
})
