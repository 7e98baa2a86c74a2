/** Documents are true today: every path of this repository that a page names exists. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { LAW_NAMES } from '../../src/testing/simulation/laws/law.ts'
import { TARGETS } from '../fuzz/targets.ts'
import { ROOT } from '../support/sources.ts'

/** Decisions are dated: they name what was there on their day. */
const PAGES = [
  'ARCHITECTURE.md',
  'README.md',
  'CONTRIBUTING.md',
  ...readdirSync(join(ROOT, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
]
const FOLDERS = 'bench|bin|console|docs|examples|scripts|src|test'

test.each(PAGES)('%s names no path that does not exist', (page) => {
  const text = readFileSync(join(ROOT, page), 'utf8')
  expect([...pathsIn(text), ...stepsIn(text)].filter((path) => !existsSync(join(ROOT, path)))).toEqual([])
})

test.each(PAGES)('no table of %s has two rows of one name', (page) => {
  const lines = readFileSync(join(ROOT, page), 'utf8').split('\n')
  const twice = lines.filter((line, index) => {
    const start = lines.slice(0, index).findLastIndex((above) => !above.startsWith('|')) + 1
    return nameIn(line) !== null && lines.slice(start, index).some((above) => nameIn(above) === nameIn(line))
  })
  expect(twice).toEqual([])
})

/** The first cell of a row, when it is one code span. */
function nameIn(line: string): string | null {
  return /^\| (`[^`|]+`) \|/.exec(line)?.[1] ?? null
}

test('paths are read from code spans, and from the steps of a life', () => {
  expect(pathsIn('see `src/core/ids.ts`, `docs/decisions/`, `npm test`, `test/x.ts a` and src/no.ts')).toEqual([
    'src/core/ids.ts',
    'docs/decisions/',
  ])
  expect(stepsIn('```\nloop    one inference   reason.ts\n        the tool        act.ts, tools/run.ts\n```')).toEqual([
    'src/loop/reason.ts',
    'src/loop/act.ts',
    'src/tools/run.ts',
  ])
})

/** Code spans that are a path of this repository and nothing else. */
function pathsIn(text: string): readonly string[] {
  return [...text.matchAll(new RegExp(`\`((?:${FOLDERS})/[\\w./-]*)\``, 'g'))].map(([, path = '']) => path)
}

/** In a block of steps a line begins with its folder, or goes on with the one above, and ends with files of it. */
function stepsIn(text: string): readonly string[] {
  const found: string[] = []
  for (const [, block = ''] of text.matchAll(/```\n([\s\S]*?)```/g)) {
    let folder = ''
    for (const line of block.split('\n')) {
      folder = /^\w+/.exec(line)?.[0] ?? folder
      const files = / ((?:[\w/-]+\.ts(?:, )?)+)$/.exec(line)?.[1] ?? ''
      for (const file of files.split(', ').filter((name) => name !== '')) {
        found.push(file.includes('/') ? `src/${file}` : `src/${folder}/${file}`)
      }
    }
  }
  return found
}

test('the page of the simulator has a row for each law, under its name', () => {
  const page = readFileSync(join(ROOT, 'docs', 'simulation.md'), 'utf8')
  const table = page.slice(page.indexOf('## The laws'), page.indexOf('## When a seed'))
  const rows = [...table.matchAll(/^\| ([^|]+) \|/gm)]
    .map(([, name = '']) => name)
    .filter((name) => !/^law$|---/.test(name))
  expect(rows.toSorted()).toEqual(LAW_NAMES.toSorted())
})

test('the page of the fuzzer names every target', () => {
  const page = readFileSync(join(ROOT, 'docs', 'fuzzing.md'), 'utf8')
  expect(TARGETS.map(({ name }) => name).filter((name) => !page.includes(`\`${name}\``))).toEqual([])
})
