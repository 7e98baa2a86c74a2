import { link, mkdir, rename, symlink, writeFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { nodeWorld, type Place } from '../../src/world/index.ts'
import { temporaryFolder } from '../support/folder.ts'

const { files } = nodeWorld()

async function placeAt(path: string): Promise<Place> {
  const place = await files.place(path)
  if (place === null) throw new Error('there is nothing')
  return place
}

async function textIn(folder: Place, name: string): Promise<string> {
  await using place = await folder.step(name)
  await using file = await place?.open()
  return Buffer.from((await file?.readAll(100)) ?? []).toString()
}

test('a folder that is held stays the same whatever its name leads to, and so does what lies in it', async () => {
  await using folder = await temporaryFolder()
  await mkdir(folder.of('held'))
  await writeFile(folder.of('held', 'file'), 'mine')
  await mkdir(folder.of('other'))
  await writeFile(folder.of('other', 'file'), 'yours')
  await using place = await placeAt(folder.of('held'))
  await rename(folder.of('held'), folder.of('moved'))
  await symlink(folder.of('other'), folder.of('held'))
  expect(await textIn(place, 'file')).toBe('mine')
  expect(await place.list(10)).toEqual({ names: ['file'], more: false })
  await using file = await place.step('file')
  await rename(folder.of('other', 'file'), folder.of('moved', 'file'))
  await using opened = await file?.open()
  expect(Buffer.from((await opened?.readAll(100)) ?? []).toString()).toBe('mine')
})

test('a link is a place of its own, and no way to anywhere; what is not there is null', async () => {
  await using folder = await temporaryFolder()
  await mkdir(folder.of('real'))
  await symlink(folder.of('real'), folder.of('link'))
  await writeFile(folder.of('file'), 'x')
  await link(folder.of('file'), folder.of('second'))
  await using place = await placeAt(folder.path)
  await using linked = await place.step('link')
  expect(linked?.facts.kind).toBe('link')
  expect(() => linked?.step('x')).toThrow('only a folder')
  expect(() => linked?.open()).toThrow('only a regular file')
  expect(await place.step('none')).toBeNull()
  for (const path of ['none', 'none/x', 'link/x', 'file/x']) expect(await files.place(folder.of(path))).toBeNull()
  await using twice = await place.step('second')
  expect(twice?.facts).toMatchObject({ kind: 'file', links: 2 })
})

test.each(['', '.', '..', 'a/b', '/', 'a\u0000b'])('%j is no step downwards', async (name) => {
  await using folder = await temporaryFolder()
  await using place = await placeAt(folder.path)
  expect(() => place.step(name)).toThrow('a step is one name')
})

test('a list ends at its bound and says that there is more', async () => {
  await using folder = await temporaryFolder()
  for (const name of ['a', 'b', 'c']) await writeFile(folder.of(name), '')
  await using place = await placeAt(folder.path)
  const { names, more } = await place.list(2)
  expect([names.length, more]).toEqual([2, true])
  expect([...(await place.list(3)).names].sort()).toEqual(['a', 'b', 'c'])
})

test('letting go waits for what was asked, and afterwards nothing can be asked', async () => {
  await using folder = await temporaryFolder()
  await writeFile(folder.of('a'), '')
  const place = await placeAt(folder.path)
  const asked = place.list(10)
  await place.close()
  expect((await asked).names).toEqual(['a'])
  expect(() => place.list(10)).toThrow('let go')
  await place.close()
})

test('what lies in a folder is of its mount, and a mount below it is another', async () => {
  await using folder = await temporaryFolder()
  await writeFile(folder.of('file'), 'x')
  await using place = await placeAt(folder.path)
  await using file = await place.step('file')
  expect(file?.mount).toBe(place.mount)
  await using root = await placeAt('/')
  await using mounted = await root.step('proc')
  expect(root.mount).toMatch(/^\d+$/)
  expect(mounted?.mount).not.toBe(root.mount)
})
