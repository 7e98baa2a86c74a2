import { spawnSync } from 'node:child_process'
import { constants } from 'node:fs'
import { access, cp, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { nodeProblem } from '../../bin/node-version.js'
import { type TemporaryFolder, temporaryFolder } from '../support/folder.ts'
import { ROOT } from '../support/sources.ts'

describe('bin/symbi.js', () => {
  test('can be executed, and asks the environment for Node', async () => {
    await access(join(ROOT, 'bin', 'symbi.js'), constants.X_OK)
    expect(await readFile(join(ROOT, 'bin', 'symbi.js'), 'utf8')).toMatch(/^#!\/usr\/bin\/env node\n/)
  })

  test('says what to run when the program is not built', async () => {
    await using clone = await bareClone()
    const done = spawnSync(clone.of('bin', 'symbi.js'), ['chat'], { encoding: 'utf8' })
    expect([done.status, done.stdout]).toEqual([70, ''])
    expect(done.stderr).toContain('Cannot start symbi: the program is not built yet\n')
    expect(done.stderr).toContain('hint: Run "npm start" or "npm run build"')
  })

  test('hands over to the built program, with its arguments and its exit code', async () => {
    await using clone = await bareClone()
    await mkdir(clone.of('dist', 'symbi'), { recursive: true })
    const program = 'console.log(process.argv.slice(2).join(" ")); process.exitCode = 2'
    await writeFile(clone.of('dist', 'symbi', 'symbi.js'), program)
    const done = spawnSync(clone.of('bin', 'symbi.js'), ['chat', '--json'], { encoding: 'utf8' })
    expect([done.status, done.stdout, done.stderr]).toEqual([2, 'chat --json\n', ''])
  })

  test('refuses a Node that is too old, before anything else is loaded', async () => {
    await using clone = await bareClone('>=999.1')
    const done = spawnSync(clone.of('bin', 'symbi.js'), [], { encoding: 'utf8' })
    expect([done.status, done.stdout]).toEqual([69, ''])
    expect(done.stderr).toContain(`this is Node ${process.versions.node}, and Node 999.1 or newer is needed`)
  })

  test('is what npx finds from the folder of the clone, without any network', async () => {
    await using clone = await bareClone()
    await mkdir(clone.of('dist', 'symbi'), { recursive: true })
    await writeFile(clone.of('dist', 'symbi', 'symbi.js'), 'console.log("symbi", process.argv[2])')
    const done = spawnSync('npx', ['--no-install', 'symbi', 'doctor'], {
      cwd: clone.path,
      encoding: 'utf8',
      env: { ...process.env, npm_config_offline: 'true', npm_config_cache: clone.of('cache') },
    })
    expect([done.status, done.stdout]).toEqual([0, 'symbi doctor\n'])
  })
})

test.each([
  ['20.19.0', null],
  ['20.20.2', null],
  ['22.0.0', null],
  ['100.0.0', null],
  ['20.18.9', 'Cannot start: this is Node 20.18.9, and Node 20.19 or newer is needed'],
  ['18.20.0', 'Cannot start: this is Node 18.20.0, and Node 20.19 or newer is needed'],
])('Node %s', (version, problem) => {
  expect(nodeProblem(version, '>=20.19')).toBe(problem)
})

test('the range of Node in package.json is one that the check understands', async () => {
  const { engines } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'))
  expect(nodeProblem('999.0.0', engines.node)).toBeNull()
  expect(nodeProblem('999.0.0', '^20')).toContain('not understood')
})

/** A clone before its first build: the package, the doors, and nothing else. */
async function bareClone(range?: string): Promise<TemporaryFolder> {
  const folder = await temporaryFolder()
  await cp(join(ROOT, 'bin'), folder.of('bin'), { recursive: true })
  const manifest = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'))
  if (range !== undefined) manifest.engines.node = range
  await writeFile(folder.of('package.json'), JSON.stringify(manifest))
  return folder
}
