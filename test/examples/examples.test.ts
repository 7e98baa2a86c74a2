/**
 * The examples run as a reader would run them: against the built package, through its public subpaths. The README shows
 * their text, and a block that drifted from its file is an error.
 */
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import ts from 'typescript'
import { afterAll, expect, test } from 'vitest'
import { buildWhenStale } from '../../scripts/build.mjs'
import { pathsIn, ROOT } from '../support/sources.ts'

const EXAMPLES = pathsIn('examples').filter((path) => path.endsWith('.ts'))
/** Inside the clone, where the package finds itself by its name. */
const COMPILED = join(ROOT, '.cache', `examples-${process.pid}`)

afterAll(() => rmSync(COMPILED, { recursive: true, force: true }))

test('there are examples, numbered in the order of reading', () => {
  expect(EXAMPLES.length).toBeGreaterThan(0)
  EXAMPLES.forEach((path, index) => {
    expect(path).toMatch(new RegExp(`^examples/${String(index + 1).padStart(2, '0')}-[a-z-]+\\.ts$`))
  })
})

test.each(EXAMPLES)(
  '%s uses the public subpaths only, runs, and agrees with itself',
  { timeout: 60_000 },
  async (path) => {
    buildWhenStale(ROOT, { stdout: 2 })
    const source = readFileSync(join(ROOT, path), 'utf8')
    const imported = ts.preProcessFile(source).importedFiles.map(({ fileName }) => fileName)
    expect(imported.filter((name) => !/^(node:|symbi-runtime(\/(journal|testing))?$)/.test(name))).toEqual([])
    expect(source).toContain('assert') // it checks its own result
    mkdirSync(COMPILED, { recursive: true })
    const script = join(COMPILED, `${basename(path, '.ts')}.mjs`)
    const options = { target: ts.ScriptTarget.ES2023, module: ts.ModuleKind.ESNext }
    writeFileSync(script, ts.transpileModule(source, { compilerOptions: options }).outputText)
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [script])
    expect(stderr).toBe('')
    expect(stdout).not.toBe('')
  },
)

const README_BLOCK = /<!-- example:([\w-]+) -->\n```ts\n([\s\S]*?)```\n<!-- \/example -->/g

/** What is wrong with the examples that a document shows. */
function driftIn(text: string, fileOf: (name: string) => string | null): readonly string[] {
  const opened = [...text.matchAll(/<!-- example:/g)].length
  const blocks = [...text.matchAll(README_BLOCK)]
  const found = blocks.flatMap(([, name = '', shown]) => {
    const file = fileOf(name)
    if (file === null) return [`there is no example "${name}"`]
    return file === shown ? [] : [`the block of "${name}" differs from its file`]
  })
  return opened === blocks.length ? found : [...found, 'a block is not closed, or not in its form']
}

const README = join(ROOT, 'README.md')

test.skipIf(!existsSync(README))('the README shows the first example, to the letter', () => {
  const readme = readFileSync(README, 'utf8')
  expect(readme).toContain('<!-- example:01-one-turn -->')
  const fileOf = (name: string): string | null =>
    EXAMPLES.includes(`examples/${name}.ts`) ? readFileSync(join(ROOT, 'examples', `${name}.ts`), 'utf8') : null
  expect(driftIn(readme, fileOf)).toEqual([])
})

test('a block that drifted, names nothing, or is not closed is found', () => {
  const fileOf = (name: string): string | null => (name === 'a' ? 'run()\n' : null)
  const block = (name: string, code: string): string =>
    `<!-- example:${name} -->\n\`\`\`ts\n${code}\`\`\`\n<!-- /example -->\n`
  expect(driftIn(block('a', 'run()\n'), fileOf)).toEqual([])
  expect(driftIn(block('a', 'run( )\n'), fileOf)).toHaveLength(1)
  expect(driftIn(block('b', 'run()\n'), fileOf)).toHaveLength(1)
  expect(driftIn('<!-- example:a -->\n```ts\nrun()\n```\n', fileOf)).toHaveLength(1)
})
