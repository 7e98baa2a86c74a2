import { existsSync, readFileSync } from 'node:fs'
import { mkdir, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
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

test('the command line is built of the same sources, beside the one before, whose files stay for a day', async () => {
  await using clone = await smallClone()
  const place = clone.of('dist', 'symbi')
  const filesOf = async () => (await readdir(place)).filter((name) => name.endsWith('.js')).toSorted()
  const built = async () => {
    expect(buildWhenStale(clone.path, { stdout: 2 })).toBe(true)
    const [, chunk = ''] = /import\("\.\/(.+)"\)/.exec(await readFile(join(place, 'symbi.js'), 'utf8')) ?? []
    return { chunk, text: await readFile(join(place, chunk), 'utf8') }
  }
  const first = await built()
  expect(first.text).toContain('one = 1')
  expect(await filesOf()).toEqual([first.chunk, 'symbi.js'])

  await writeFile(clone.of('src', 'core', 'one.ts'), 'export const one: number = 2\n')
  const second = await built()
  expect(second.text).toContain('one = 2')
  expect(await filesOf()).toEqual([first.chunk, second.chunk, 'symbi.js'].toSorted())

  const yesterday = Date.now() / 1000 - 25 * 60 * 60
  for (const name of await readdir(place)) await utimes(join(place, name), yesterday, yesterday)
  await writeFile(clone.of('src', 'core', 'one.ts'), 'export const one: number = 3\n')
  const third = await built()
  expect(await filesOf()).toEqual([third.chunk, 'symbi.js'])
  expect((await readdir(clone.of('dist'))).toSorted()).toEqual(['.fingerprint', 'cli', 'core', 'symbi'])
}, 60_000)

test('a bundler that fails stops the build, which is not taken for a new one, and leaves the command line of before', async () => {
  await using clone = await smallClone()
  const build = () => buildWhenStale(clone.path, { stdout: 2 })
  expect(build()).toBe(true)
  const before = await readFile(clone.of('dist', 'symbi', 'symbi.js'), 'utf8')
  const settings = await readFile(clone.of('vite.config.ts'), 'utf8')
  await writeFile(clone.of('vite.config.ts'), `${settings}\nthrow new Error('no settings today')\n`)
  expect(build).toThrow(Stop)
  expect(build).toThrow('Cannot build the program: the bundler failed')
  expect(await readFile(clone.of('dist', 'symbi', 'symbi.js'), 'utf8')).toBe(before)
  expect((await readdir(clone.of('dist'))).toSorted()).toEqual(['cli', 'core', 'symbi'])
  await writeFile(clone.of('vite.config.ts'), settings)
  expect(build()).toBe(true)
}, 60_000)

describe('the command line that is built', () => {
  const folder = join(ROOT, 'dist', 'symbi')
  let texts: ReadonlyMap<string, string> = new Map()
  beforeAll(async () => {
    const files = (await readdir(folder)).filter((name) => name.endsWith('.js'))
    texts = new Map(
      await Promise.all(files.map(async (name) => [name, await readFile(join(folder, name), 'utf8')] as const)),
    )
  })
  const reach = (name: string, seen: Set<string>): ReadonlySet<string> => {
    if (seen.has(name)) return seen
    seen.add(name)
    for (const [, next = ''] of (texts.get(name) ?? '').matchAll(/^(?:import|export) .*"\.\/(.+)";$/gm))
      reach(next, seen)
    return seen
  }

  test('is at most 45 files of it for each command', () => {
    const rows = [...(texts.get('symbi.js') ?? '').matchAll(/^\t(\w+): \(\) => import\("\.\/(.+)"\)/gm)]
    const source = readFileSync(join(ROOT, 'src/cli/program.ts'), 'utf8')
    expect(rows.map(([, command]) => command)).toEqual(
      [...source.matchAll(/^ {2}(\w+): \(\) => import\(/gm)].map(([, command]) => command),
    )
    expect(rows.length).toBeGreaterThan(10)
    for (const [, command, file = ''] of rows) {
      expect(texts.has(file), command).toBe(true)
      expect(reach('symbi.js', new Set(reach(file, new Set()))).size, command).toBeLessThanOrEqual(45)
    }
  })

  test('comes from our sources alone, and no package is in it', async () => {
    const mapped = [...texts].filter(([, text]) => text.includes('sourceMappingURL='))
    const maps = await Promise.all(mapped.map(([name]) => readFile(join(folder, `${name}.map`), 'utf8')))
    const sources = maps.flatMap((map): readonly string[] => JSON.parse(map).sources)
    expect(sources).toContain('../../src/cli/up/up.ts')
    expect(sources.filter((source) => !source.startsWith('../../src/'))).toEqual([])
    // what has no map only hands on what others export
    for (const [name, text] of texts) {
      if (text.includes('sourceMappingURL=')) continue
      expect(text.replace(/^(?:import|export) .*;$/gm, '').trim(), name).toBe('')
    }
  })
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
