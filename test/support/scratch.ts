/** A private folder for one test file, removed when its tests are over. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'

export interface Scratch {
  /** A fresh name inside; nothing is made there. */
  path(name?: string): string
  /** A fresh folder inside, mode 0700. */
  folder(): string
}

export function scratch(): Scratch {
  const root = mkdtempSync(join(tmpdir(), 'symbi-test-'))
  afterAll(() => rmSync(root, { recursive: true, force: true }))
  let count = 0
  const path = (name = 'entry'): string => join(root, `${(count++).toString().padStart(4, '0')}-${name}`)
  return {
    path,
    folder: () => {
      const folder = path('folder')
      mkdirSync(folder, { mode: 0o700 })
      return folder
    },
  }
}
