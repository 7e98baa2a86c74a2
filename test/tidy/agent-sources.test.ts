/** What a page shows in the language of agents is in order, and what it shows as wrong is refused with the code that it names. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { format } from '../../src/dsl/index.ts'
import { inProcess, jsonLines } from '../support/cli.ts'
import { type TemporaryFolder, temporaryFolder } from '../support/folder.ts'
import { ROOT } from '../support/sources.ts'

const PAGES = ['README.md', ...readdirSync(join(ROOT, 'docs')).map((name) => `docs/${name}`)].filter((name) =>
  name.endsWith('.md'),
)

/** `[page, first line of the block, its kind, its text]` */
const BLOCKS = PAGES.flatMap((page) => blocksOf(page, readFileSync(join(ROOT, page), 'utf8')))

let project: TemporaryFolder
beforeAll(async () => {
  project = await temporaryFolder()
  const { code } = await inProcess(['init', '--project', project.path, '--profile', 'multi-agent'])
  expect(code).toBe(0)
})
afterAll(() => project[Symbol.asyncDispose]())

test('pages show agents', () => {
  expect(BLOCKS.filter(({ kind }) => kind === 'symbi').length).toBeGreaterThan(3)
  expect(BLOCKS.filter(({ kind }) => kind === 'symbi-wrong').length).toBeGreaterThan(3)
})

test.each(BLOCKS)('$page:$line, a block of $kind, is what it is said to be', async ({ kind, text }) => {
  const { code, stdout } = await inProcess(['dsl', '--check', '--json', '--project', project.path, '-c', text])
  const found = jsonLines(stdout).flatMap(({ diagnostics }) =>
    (diagnostics as readonly { readonly code: string }[]).map((one) => one.code),
  )
  if (kind === 'symbi') expect([code, found, format(text)]).toEqual([0, [], text])
  else expect([code, [...new Set(found)]]).toEqual([1, [/^# ([EW]\d{3})\n/.exec(text)?.[1]]])
})

function blocksOf(page: string, text: string) {
  return [...text.matchAll(/^```(symbi|symbi-wrong)\n([\s\S]*?)^```$/gm)].map(
    ({ index, 1: kind = '', 2: block = '' }) => {
      return { page, line: text.slice(0, index).split('\n').length + 1, kind, text: block }
    },
  )
}
