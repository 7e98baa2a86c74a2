import { spawnSync } from 'node:child_process'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'vite'
import { afterAll, beforeAll, expect, test } from 'vitest'

const root = fileURLToPath(new URL('../../..', import.meta.url))
let folder: string

beforeAll(async () => {
  await mkdir(join(root, '.cache'), { recursive: true })
  folder = await mkdtemp(join(root, '.cache', 'long-loop-')) // inside the project, so that the built file finds the packages
  const entry = fileURLToPath(new URL('./long-loop-child.ts', import.meta.url))
  await build({ root, configFile: false, logLevel: 'error', build: { ssr: entry, outDir: folder, target: 'node20' } })
}, 60_000)
afterAll(() => rm(folder, { recursive: true, force: true }))

function loop(mode: 'engine' | 'bare', count: number) {
  const args = ['--deopt-every-n-times=20000', join(folder, 'long-loop-child.js'), mode, String(count)]
  return spawnSync(process.execPath, args, { encoding: 'utf8', timeout: 100_000 })
}

test('12,000 decisions survive a V8 that deoptimises all the time, because its flag is set before the module loads [trap:cedar-wasm-inlining]', () => {
  const { status, stdout, stderr } = loop('engine', 12_000)
  expect([status, stderr]).toEqual([0, ''])
  expect(JSON.parse(stdout)).toEqual({
    allowed: 6_000,
    events: ['--no-turbo-inline-js-wasm-calls', expect.stringMatching(/^--wasm-tiering-budget=\d+$/), 'module loaded'],
  })
}, 112_000)

// The control: if this ever passes by itself, the loop above proves nothing and the flag may go.
test.runIf(/^v(?:20|22)\./.test(process.version))(
  'the same loop without the engine aborts the process',
  () => {
    const { status, signal, stderr } = loop('bare', 12_000)
    expect(status).not.toBe(0)
    expect(`${signal} ${stderr}`).toMatch(/SIGTRAP|SIGILL|SIGABRT|Fatal error/)
  },
  120_000,
)
