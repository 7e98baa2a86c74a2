import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { expect, test } from 'vitest'
import { folderOfRun } from '../../scripts/steps.mjs'

test('a run removes the folder of one that was interrupted, and leaves that of one that still runs', () => {
  const parent = mkdtempSync(join(tmpdir(), 'symbi-steps-'))
  try {
    const { pid: gone } = spawnSync(process.execPath, ['--version'])
    const others = [`coverage-${process.ppid}-aaaaaa`, 'coverage-notes', `bench-${gone}-aaaaaa`]
    for (const name of [...others, `coverage-${gone}-aaaaaa`]) mkdirSync(join(parent, name))
    const folder = folderOfRun('coverage', parent)
    expect(readdirSync(parent).sort()).toEqual([...others, basename(folder)].sort())
  } finally {
    rmSync(parent, { recursive: true })
  }
})
