import { spawnSync } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { argumentsOf, createProject, needsProject } from '../../scripts/start.mjs'
import { temporaryFolder } from '../support/folder.ts'
import { ROOT } from '../support/sources.ts'

describe('the arguments of npm start', () => {
  test('without a project name a folder of the clone', () => {
    expect(argumentsOf(['--port', '0', '--json'], '/clone')).toEqual({
      up: ['up', '--project', '/clone/.symbi-demo', '--port', '0', '--json'],
      project: '/clone/.symbi-demo',
    })
    expect(argumentsOf([], '/clone').up).toEqual(['up', '--project', '/clone/.symbi-demo'])
  })

  test.each([
    [['--project', '/mine'], '/mine'],
    [['--port', '0', '--project=/mine'], '/mine'],
    [['--project', '/first', '--project=/last'], '/last'],
    [['--project'], ''],
    [['--project='], ''],
  ])('%j go to up as they are', (args, project) => {
    expect(argumentsOf(args, '/clone')).toEqual({ up: ['up', ...args], project })
  })

  test('the folder of the clone is ignored by git', async () => {
    expect(await readFile(join(ROOT, '.gitignore'), 'utf8')).toMatch(/^\.symbi-demo\/?$/m)
  })
})

describe('the project', () => {
  test('is created when it is missing, and never when it is there, unnamed, or help was asked for', async () => {
    await using folder = await temporaryFolder()
    expect(needsProject([], folder.of('new'))).toBe(true)
    expect(needsProject(['--help'], folder.of('new'))).toBe(false)
    expect(needsProject(['-h'], folder.of('new'))).toBe(false)
    expect(needsProject(['--project'], '')).toBe(false)
    await mkdir(folder.of('old', '.symbiont'), { recursive: true })
    expect(needsProject([], folder.of('old')), 'its creation was interrupted').toBe(true)
    await writeFile(folder.of('old', 'symbiont.toml'), '')
    expect(needsProject([], folder.of('old'))).toBe(false)
  })

  test('is created by symbi init, whose words stay away from stdout', async () => {
    await using folder = await temporaryFolder()
    const program = folder.of('symbi.mjs')
    await writeFile(
      program,
      `import fs from 'node:fs'; console.log('words')
      fs.writeFileSync(${JSON.stringify(folder.of('args'))}, JSON.stringify(process.argv.slice(2)))`,
    )
    const done = runWithStart(`createProject(${JSON.stringify(program)}, '/some/project')`)
    expect([done.status, done.stdout, done.stderr]).toEqual([0, '', 'words\n'])
    expect(JSON.parse(await readFile(folder.of('args'), 'utf8'))).toEqual([
      'init',
      '--project',
      '/some/project',
      '--profile',
      'multi-agent',
      '--no-interact',
    ])
  })

  test('that cannot be created stops with the exit code of symbi init', async () => {
    await using folder = await temporaryFolder()
    const program = folder.of('symbi.mjs')
    await writeFile(program, 'process.exit(74)')
    expect(() => createProject(program, '/some/project')).toThrowError(
      expect.objectContaining({
        exit: 74,
        message: 'Cannot create the project in "/some/project": symbi init ended with 74',
      }),
    )
  })
})

test('npm start becomes the program: its arguments, its stdin, its stdout and its exit code', async () => {
  await using folder = await temporaryFolder()
  const program = folder.of('symbi.mjs')
  await writeFile(
    program,
    `import fs from 'node:fs'
    console.log(JSON.stringify([process.argv.slice(1), fs.readFileSync(0, 'utf8')]))
    process.exitCode = 3`,
  )
  const done = runWithStart(`await become(${JSON.stringify(program)}, ['up', '--json'])`, 'typed')
  expect([done.status, done.stderr]).toEqual([3, ''])
  expect(JSON.parse(done.stdout)).toEqual([[program, 'up', '--json'], 'typed'])
})

/** Runs a line of code in a process of its own, with the functions of start.mjs at hand. */
function runWithStart(code: string, input = '') {
  const start = JSON.stringify(join(ROOT, 'scripts', 'start.mjs'))
  const text = `import { become, createProject } from ${start}\nvoid [become, createProject]\n${code}`
  return spawnSync(process.execPath, ['--input-type=module', '--eval', text], { input, encoding: 'utf8' })
}
