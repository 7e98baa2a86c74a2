/**
 * The examples run as a reader would run them: against the built package, through its public subpaths. The README shows
 * their text, and a block that drifted from its file is an error.
 */
import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import ts from 'typescript'
import { expect, test } from 'vitest'
import { buildWhenStale } from '../../scripts/build.mjs'
import { exampleOf, withExamples } from '../../scripts/docs.mjs'
import { pathsIn, ROOT } from '../support/sources.ts'

const EXAMPLES = pathsIn('examples').filter((path) => path.endsWith('.ts'))
test('there are examples, numbered in the order of reading', () => {
  expect(EXAMPLES.length).toBeGreaterThan(0)
  EXAMPLES.forEach((path, index) => {
    expect(path).toMatch(new RegExp(`^examples/${String(index + 1).padStart(2, '0')}-[a-z-]+\\.ts$`))
  })
})

test.each(EXAMPLES)(
  '%s uses the public subpaths only (and zod, to describe inputs), runs, and agrees with itself',
  { timeout: 60_000 },
  async (path) => {
    buildWhenStale(ROOT, { stdout: 2 })
    const source = readFileSync(join(ROOT, path), 'utf8')
    const imported = ts.preProcessFile(source).importedFiles.map(({ fileName }) => fileName)
    expect(imported.filter((name) => !/^(node:|symbi-runtime(\/(journal|testing))?$|zod$)/.test(name))).toEqual([])
    expect(source).toContain('assert') // it checks its own result
    const { stdout, stderr } = await promisify(execFile)(
      process.execPath,
      ['scripts/example.mjs', basename(path, '.ts')],
      {
        cwd: ROOT,
      },
    )
    expect(stderr).toBe('')
    expect(stdout).not.toBe('')
  },
)

const README = join(ROOT, 'README.md')

test.skipIf(!existsSync(README))('the README shows the first example, to the letter', () => {
  const readme = readFileSync(README, 'utf8')
  expect(readme).toContain('<!-- example:01-one-turn -->')
  expect(readme, 'run "npm run docs"').toBe(withExamples(readme, exampleOf))
})

test('a block is filled with its file whatever it held; one that names nothing or is not closed is refused', () => {
  const of = (name: string): string | null => (name === 'a' ? "say('$&')\n" : null)
  const filled = "x\n<!-- example:a -->\n```ts\nsay('$&')\n```\n<!-- /example -->\ny"
  expect(withExamples('x\n<!-- example:a -->\n<!-- /example -->\ny', of)).toBe(filled)
  expect(withExamples(filled.replace('say', 'shout'), of)).toBe(filled)
  expect(() => withExamples('<!-- example:b -->\n<!-- /example -->', of)).toThrow('no file "examples/b.ts"')
  expect(() => withExamples('<!-- example:a -->\n', of)).toThrow('no partner')
  expect(() => withExamples('<!-- /example -->\n', of)).toThrow('no partner')
})

test('an example that there is not is refused, with the names of those that there are', async () => {
  const ran = promisify(execFile)(process.execPath, ['scripts/example.mjs', 'zz'], { cwd: ROOT })
  await expect(ran).rejects.toMatchObject({ code: 64, stderr: expect.stringContaining('01-one-turn, 02-own-tool') })
})
