import { existsSync } from 'node:fs'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { installMissing } from '../../scripts/install.mjs'
import { type TemporaryFolder, temporaryFolder } from '../support/folder.ts'

/** A package that npm installs without any network: it has no dependencies, or one in a file beside it. */
async function smallPackage(folder: TemporaryFolder, version: string, archive?: string): Promise<void> {
  const needs = archive === undefined ? {} : { dependencies: { needed: `file:${archive}` } }
  const root = { name: 'small', version, license: 'MIT', ...needs }
  const inside =
    archive === undefined ? {} : { 'node_modules/needed': { version: '1.0.0', resolved: `file:${archive}` } }
  const lock = { name: 'small', version, lockfileVersion: 3, requires: true, packages: { '': root, ...inside } }
  await writeFile(folder.of('package.json'), JSON.stringify(root))
  await writeFile(folder.of('package-lock.json'), JSON.stringify(lock))
}

test('a clone is installed once, and again when its lockfile, its Node or its node_modules changed', async () => {
  await using folder = await temporaryFolder()
  const marker = folder.of('node_modules', '.symbi-installed')
  await smallPackage(folder, '1.0.0')
  expect(installMissing(folder.path)).toBe(true)
  expect(installMissing(folder.path)).toBe(false)

  await smallPackage(folder, '2.0.0')
  expect(installMissing(folder.path)).toBe(true)

  const mine = await readFile(marker, 'utf8')
  expect(mine).toContain(` node-${process.versions.node.split('.')[0]} ${process.platform}-${process.arch}`)
  await writeFile(marker, mine.replace(/node-\d+/, 'node-1'))
  expect(installMissing(folder.path)).toBe(true)

  await rm(folder.of('node_modules'), { recursive: true })
  expect(installMissing(folder.path)).toBe(true)
  expect(installMissing(folder.path)).toBe(false)
}, 60_000)

test('an installation that fails stops with a hint, and leaves nothing that looks complete', async () => {
  await using folder = await temporaryFolder()
  const marker = folder.of('node_modules', '.symbi-installed')
  await smallPackage(folder, '1.0.0', 'not-there.tgz')
  await mkdir(folder.of('node_modules'))
  await writeFile(marker, 'of an earlier lockfile')
  const failed = expect.objectContaining({
    message: expect.stringMatching(/^Cannot install the dependencies: npm ended with \d+$/),
    hint: expect.stringContaining('registry'),
    exit: 1,
  })
  expect(() => installMissing(folder.path)).toThrowError(failed)
  expect(existsSync(marker)).toBe(false)
}, 60_000)
