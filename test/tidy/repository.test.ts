/** What must be true of the repository as a whole: its documents, its lockfile, and what no file may hold. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { configurationPage, errorsPage, languagePage } from '../../scripts/docs.mjs'
import { SETTINGS } from '../../src/cli/settings/settings.ts'
import { CODES } from '../../src/core/index.ts'
import { DIAGNOSTIC_CODES } from '../../src/dsl/index.ts'
import { pathsIn, ROOT } from '../support/sources.ts'

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')
const manifest = JSON.parse(read('package.json'))
const lock: {
  readonly lockfileVersion: number
  readonly packages: Readonly<Record<string, { readonly resolved?: string; readonly hasInstallScript?: boolean }>>
} = JSON.parse(read('package-lock.json'))
const declared: Readonly<Record<string, string>> = { ...manifest.dependencies, ...manifest.devDependencies }

test('docs/errors.md says what the table of codes says', () => {
  expect(read('docs/errors.md'), 'run "npm run docs"').toBe(errorsPage(CODES))
})

test('docs/configuration.md lists every setting with its option, variable, member and default, and no other', () => {
  const page = read('docs/configuration.md')
  expect(page, 'run "npm run docs"').toBe(configurationPage(page, SETTINGS))
  const listed = new Set([...page.matchAll(/`(SYMB\w+|[A-Z]+_(?:API_KEY|BASE_URL|MODEL))`/g)].map(([, name]) => name))
  const known = new Set(Object.values<{ readonly env?: string }>(SETTINGS).map(({ env }) => env))
  expect([...listed].filter((name) => !known.has(name) && name !== 'SYMBIONT_MASTER_KEY')).toEqual([])
})

test('docs/language.md says what the table of diagnostics says', () => {
  const page = read('docs/language.md')
  expect(page, 'run "npm run docs"').toBe(languagePage(page, DIAGNOSTIC_CODES))
})

test('docs/dependencies.md lists every dependency with its version and licence, and nothing else', () => {
  const rows = [...read('docs/dependencies.md').matchAll(/^\| `([^`]+)` \| (\S+) \| ([^|]+?) \| (.+) \|$/gm)]
  const listed = Object.fromEntries(rows.map(([, name, version, licence]) => [name, `${version} ${licence}`]))
  const wanted = Object.fromEntries(
    Object.entries(declared).map(([name, version]) => {
      const { license } = JSON.parse(read(`node_modules/${name}/package.json`))
      return [name, `${version} ${license}`]
    }),
  )
  expect(listed).toEqual(wanted)
  for (const [, name, , , spares] of rows) expect(spares?.length, name).toBeGreaterThan(10)
})

test('every dependency is pinned to one version', () => {
  for (const [name, version] of Object.entries(declared)) expect(version, name).toMatch(/^\d+\.\d+\.\d+$/)
})

test('the lockfile names no registry and no package that runs a script when it is installed', () => {
  expect(lock.lockfileVersion).toBe(3)
  const packages = Object.entries(lock.packages)
  expect(packages.length).toBeGreaterThan(Object.keys(declared).length)
  expect(packages.filter(([, row]) => row.resolved !== undefined).map(([path]) => path)).toEqual([])
  expect(packages.filter(([, row]) => row.hasInstallScript === true).map(([path]) => path)).toEqual([])
})

test('no file holds a path of the machine it was written on', () => {
  const machine = /(?<![\w.-])\/(?:work|root|home\/\w+|Users\/\w+)\//
  expect(`see ${['', 'root', 'notes'].join('/')} and /usr/lib`).toMatch(machine)
  const holders = pathsIn('.').filter((path) => path !== 'package-lock.json' && machine.test(read(path)))
  expect(holders).toEqual([])
})

test('the licence is Apache 2.0, here and in package.json', () => {
  expect(manifest.license).toBe('Apache-2.0')
  expect(read('LICENSE')).toMatch(/^\s+Apache License\n\s+Version 2\.0, January 2004\n/)
})
