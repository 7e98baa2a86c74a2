import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { buildWhenStale } from '../../scripts/build.mjs'
import { Stop } from '../../scripts/steps.mjs'
import { type TemporaryFolder, temporaryFolder } from '../support/folder.ts'
import { ROOT } from '../support/sources.ts'

const SETTINGS = {
  target: 'ES2023',
  lib: ['ES5', 'ES2015.Promise'],
  types: [],
  module: 'nodenext',
  verbatimModuleSyntax: true,
  rewriteRelativeImportExtensions: true,
}

/** A clone with a few small sources, and with as few types to read as can be. */
async function smallClone(): Promise<TemporaryFolder> {
  const folder = await temporaryFolder()
  await writeFile(folder.of('package.json'), '{ "type": "module" }')
  await writeFile(folder.of('package-lock.json'), '{}')
  await writeFile(folder.of('tsconfig.json'), JSON.stringify({ compilerOptions: { ...SETTINGS, noEmit: true } }))
  for (const name of ['tsconfig.build.json', 'vite.config.ts']) {
    await writeFile(folder.of(name), await readFile(join(ROOT, name)))
  }
  for (const name of ['core', 'cli']) await mkdir(folder.of('src', name), { recursive: true })
  await writeFile(folder.of('src', 'cli', 'main.ts'), "export const lazy = () => import('../core/index.ts')\n")
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

test('the command line is built of the same sources, and keeps none of its files of last time', async () => {
  await using clone = await smallClone()
  const texts = async () => {
    expect(buildWhenStale(clone.path, { stdout: 2 })).toBe(true)
    const names = (await readdir(clone.of('dist', 'symbi'))).filter((name) => name.endsWith('.js')).toSorted()
    return await Promise.all(names.map((name) => readFile(clone.of('dist', 'symbi', name), 'utf8')))
  }
  expect(await texts()).toEqual([expect.stringContaining('one = 1'), expect.stringContaining('import(')])
  await writeFile(clone.of('src', 'core', 'one.ts'), 'export const one: number = 2\n')
  expect(await texts()).toEqual([expect.stringContaining('one = 2'), expect.stringContaining('import(')])
  await writeFile(clone.of('src', 'cli', 'main.ts'), "export { one } from '../core/index.ts'\n")
  expect(await texts()).toEqual([expect.stringContaining('one = 2')])
}, 60_000)

test('a process that starts reads a few files of ours, and none of them holds a package', async () => {
  const folder = join(ROOT, 'dist', 'symbi')
  const files = (await readdir(folder)).filter((name) => name.endsWith('.js'))
  const texts = new Map(
    await Promise.all(files.map(async (name) => [name, await readFile(join(folder, name), 'utf8')] as const)),
  )
  const read = (name: string, seen = new Set<string>()): ReadonlySet<string> => {
    if (seen.has(name)) return seen
    seen.add(name)
    for (const [, next = ''] of (texts.get(name) ?? '').matchAll(/^import .*"\.\/(.+)";$/gm)) read(next, seen)
    return seen
  }
  const commands = [...(texts.get('symbi.js') ?? '').matchAll(/^\t(\w+): \(\) => import\("\.\/(.+)"\)/gm)]
  expect(commands.map(([, command]) => command)).toContain('up')
  for (const [, command, file = ''] of commands) {
    expect(texts.has(file), command).toBe(true)
    expect(read('symbi.js', new Set(read(file))).size, command).toBeLessThan(60)
  }
  const maps = await Promise.all(
    [...texts]
      .filter(([, text]) => text.includes('sourceMappingURL='))
      .map(([name]) => readFile(join(folder, `${name}.map`), 'utf8')),
  )
  const sources = maps.flatMap((map): readonly string[] => JSON.parse(map).sources)
  expect(sources).toContain('../../src/cli/up/up.ts')
  expect(sources.filter((source) => !source.startsWith('../../src/'))).toEqual([])
})

test('a build with errors stops, and is no program the next time either', async () => {
  await using clone = await smallClone()
  const build = () => buildWhenStale(clone.path, { stdout: 2 })
  await writeFile(clone.of('src', 'core', 'one.ts'), "export const one: number = 'text'\n")
  expect(build).toThrow(Stop)
  expect(build).toThrow(Stop)
  await writeFile(clone.of('src', 'core', 'one.ts'), 'export const one: number = 1\n')
  expect(build()).toBe(true)
}, 60_000)
