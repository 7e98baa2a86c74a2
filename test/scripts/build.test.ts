import { existsSync } from 'node:fs'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { buildWhenStale } from '../../scripts/build.mjs'
import { Stop } from '../../scripts/steps.mjs'
import { type TemporaryFolder, temporaryFolder } from '../support/folder.ts'
import { ROOT } from '../support/sources.ts'

const SETTINGS = {
  target: 'ES2023',
  lib: ['ES5'],
  types: [],
  module: 'nodenext',
  verbatimModuleSyntax: true,
  rewriteRelativeImportExtensions: true,
}

/** A clone with two small sources, and with as few types to read as can be. */
async function smallClone(): Promise<TemporaryFolder> {
  const folder = await temporaryFolder()
  await writeFile(folder.of('package.json'), '{ "type": "module" }')
  await writeFile(folder.of('package-lock.json'), '{}')
  await writeFile(folder.of('tsconfig.json'), JSON.stringify({ compilerOptions: { ...SETTINGS, noEmit: true } }))
  await writeFile(folder.of('tsconfig.build.json'), await readFile(join(ROOT, 'tsconfig.build.json')))
  await mkdir(folder.of('src', 'core'), { recursive: true })
  await writeFile(folder.of('src', 'core', 'index.ts'), "export { one } from './one.ts'\n")
  await writeFile(folder.of('src', 'core', 'one.ts'), 'export const one: number = 1\n')
  return folder
}

test('dist is built when src changed and not otherwise, and keeps nothing of a source that is gone', async () => {
  await using clone = await smallClone()
  const build = () => buildWhenStale(clone.path, { stdout: 2 })
  const built = (name: string) => clone.of('dist', 'core', name)
  expect(build()).toBe(true)
  expect(await readFile(built('one.js'), 'utf8')).toContain('one = 1')
  expect(await readFile(built('index.js'), 'utf8')).toContain('./one.js')
  expect(existsSync(built('one.d.ts'))).toBe(true)
  expect(build()).toBe(false)

  await rm(clone.of('dist'), { recursive: true })
  expect(build()).toBe(true)
  expect(existsSync(built('one.js'))).toBe(true)

  // nothing of the last output is believed: not a file that somebody changed, and not one that is gone
  await rm(clone.of('dist', '.fingerprint'))
  await rm(built('one.js'))
  await writeFile(built('index.js'), 'strange')
  expect(build()).toBe(true)
  expect(await readFile(built('one.js'), 'utf8')).toContain('one = 1')
  expect(await readFile(built('index.js'), 'utf8')).toContain('./one.js')

  await rm(clone.of('src', 'core', 'one.ts'))
  await writeFile(clone.of('src', 'core', 'index.ts'), 'export const one = 3\n')
  expect(build()).toBe(true)
  expect(await readFile(built('index.js'), 'utf8')).toContain('one = 3')
  for (const ending of ['.js', '.d.ts', '.js.map']) expect(existsSync(built(`one${ending}`))).toBe(false)
}, 60_000)

test('a build with errors stops, and is no program the next time either', async () => {
  await using clone = await smallClone()
  const build = () => buildWhenStale(clone.path, { stdout: 2 })
  await writeFile(clone.of('src', 'core', 'one.ts'), "export const one: number = 'text'\n")
  expect(build).toThrow(Stop)
  expect(build).toThrow(Stop)
  await writeFile(clone.of('src', 'core', 'one.ts'), 'export const one: number = 1\n')
  expect(build()).toBe(true)
}, 60_000)
