import { access, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { summaryOf, verdictOf } from '../../scripts/check.mjs'
import { runTool } from '../../scripts/steps.mjs'
import { temporaryFolder } from '../support/folder.ts'
import { ROOT } from '../support/sources.ts'

const counts = (passed: number, failed: number, skipped: number) => ({ passed, failed, skipped })

describe('the verdict on the tests', () => {
  test.each([
    ['all passed', 0, counts(5, 0, 1), 0],
    ['some failed', 1, counts(5, 1, 0), 1],
    ['the runner was killed', 137, null, 137],
    ['the runner says yes without a count', 0, null, 1],
    ['the runner says yes to failures', 0, counts(5, 1, 0), 1],
    ['nothing ran', 0, counts(0, 0, 3), 1],
  ])('%s', (_name, code, counted, verdict) => {
    expect(verdictOf(code, counted)).toBe(verdict)
  })

  test('is told in one line, without numbers when nobody counted', () => {
    expect(summaryOf(counts(5, 1, 2))).toBe('tests: 5 passed, 1 failed, 2 skipped')
    expect(summaryOf(null)).not.toMatch(/\d/)
  })
})

describe('the reporter counts a run of vitest', { timeout: 60_000 }, () => {
  const head = "import { expect, test } from 'vitest'\n"

  test('that passes', async () => {
    const { code, counted } = await runSample({
      a: `${head}test('a', () => {})\ntest.skip('b', () => {})\ntest.todo('c')`,
    })
    expect(counted).toEqual(counts(1, 0, 2))
    expect([code, verdictOf(code, counted)]).toEqual([0, 0])
  })

  test('that fails: in a test, outside of every test, while a file is loaded, by a focus', async () => {
    const { code, counted } = await runSample({
      a: `${head}test('a', () => expect(1).toBe(2))\ntest('b', () => {})`,
      b: `${head}test('c', async () => { void Promise.reject(new Error('stray')); await new Promise(setImmediate) })`,
      c: "import './none.ts'",
      d: `${head}test.only('d', () => {})`,
    })
    expect(counted).toEqual(counts(2, 4, 0))
    expect([code, verdictOf(code, counted)]).toEqual([1, 1])
  })

  test('that dies in the middle is not green, and its open tests do not count as passed', async () => {
    const { code, counted } = await runSample({ a: `${head}test('a', () => { process.kill(process.pid, 'SIGKILL') })` })
    expect(verdictOf(code, counted)).not.toBe(0)
    expect(counted?.passed ?? 0).toBe(0)
    expect(counted === null || counted.failed > 0).toBe(true)
  })
})

test('CI runs npm test, through a file that can be executed', async () => {
  await access(join(ROOT, '.ci', 'run'), 1)
  const text = await readFile(join(ROOT, '.ci', 'run'), 'utf8')
  expect(text).toMatch(/^#!\/usr\/bin\/env bash\n/)
  expect(text).toContain('set -euo pipefail')
  expect(text).toContain('npm test')
})

/** Runs vitest on these files with our own settings and our reporter, in a folder of their own. */
async function runSample(files: Readonly<Record<string, string>>) {
  await using folder = await temporaryFolder()
  await symlink(join(ROOT, 'node_modules'), folder.of('node_modules'))
  for (const [name, text] of Object.entries(files)) await writeFile(folder.of(`${name}.test.ts`), text)
  const file = folder.of('counts.json')
  const settings = "export default { test: { include: ['*.test.ts'], allowOnly: false, maxWorkers: 1, pool: 'forks' } }"
  await writeFile(folder.of('vitest.config.mjs'), settings)
  const reporter = `--reporter=${join(ROOT, 'scripts', 'count-reporter.mjs')}`
  const env = { ...process.env, SYMBI_TEST_COUNTS: file }
  const code = runTool('vitest', ['run', reporter], { root: folder.path, stdout: 2, env })
  const text = await readFile(file, 'utf8').catch(() => 'null')
  return { code, counted: JSON.parse(text) as ReturnType<typeof counts> | null }
}
