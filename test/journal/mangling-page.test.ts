import { expect, test } from 'vitest'
import { FOLDER_MANGLINGS } from '../support/mangling/folders.ts'
import { MANGLINGS } from '../support/mangling/manglings.ts'
import { manglingsPage } from '../support/mangling/page.ts'

test('docs/journal-manglings.md says what the tests hold the verifiers to', async () => {
  await expect(manglingsPage()).toMatchFileSnapshot('../../docs/journal-manglings.md')
})

test('each mangling has a name of its own', () => {
  const names = [...MANGLINGS, ...FOLDER_MANGLINGS].map(({ name }) => name)
  expect(new Set(names).size).toBe(names.length)
})
