/** What `editors/` tells people to copy does what it says. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse, showDiagnostic } from '../../src/dsl/index.ts'
import { ROOT } from '../support/sources.ts'

const read = (name: string): string => readFileSync(join(ROOT, 'editors', name), 'utf8')

test('the problem matcher of the README finds the place, the code and the message of a diagnostic', () => {
  const [, block = ''] = /```json\n([^`]+)```/.exec(read('README.md')) ?? []
  const { pattern } = JSON.parse(block).tasks[0].problemMatcher
  const text = 'agent a {}\n  agnet b {}\n'
  const [diagnostic] = parse(text).diagnostics
  const lines = diagnostic === undefined ? [] : showDiagnostic(diagnostic, text, 'agents/my reader.symbi')
  const matches = lines.map((line) => new RegExp(pattern.regexp).exec(line)).filter((match) => match !== null)
  expect(matches).toHaveLength(1) // the source line, the caret and the hint are no further problems
  expect(matches[0]?.[pattern.file]).toBe('agents/my reader.symbi')
  expect([matches[0]?.[pattern.line], matches[0]?.[pattern.column], matches[0]?.[pattern.code]]).toEqual([
    '2',
    '3',
    'E110',
  ])
  expect(matches[0]?.[pattern.message]).toBe(diagnostic?.message)
})

test('the extension names files that exist, the scope of the grammar, and an ending of agent sources', () => {
  const { contributes } = JSON.parse(read('package.json'))
  const [language] = contributes.languages
  const [grammar] = contributes.grammars
  for (const path of [language.configuration, grammar.path]) expect(existsSync(join(ROOT, 'editors', path))).toBe(true)
  expect(grammar.scopeName).toBe(JSON.parse(read(grammar.path)).scopeName)
  expect([grammar.language, language.extensions]).toEqual([language.id, ['.symbi']])
  expect(JSON.parse(read(language.configuration)).comments.lineComment).toBe('//')
})

test('the package brings the folder along', () => {
  expect(JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).files).toContain('editors')
})
