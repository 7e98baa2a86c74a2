import { chmod, link, mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { nodeWorld, type World } from '../../src/world/index.ts'
import { inProcess, jsonLines, start, symbi } from '../support/cli.ts'
import { faultyWorld } from '../support/faulty-world.ts'
import { type TemporaryFolder, temporaryFolder } from '../support/folder.ts'

const LOOSE = 'agent a{capabilities=["x"]}'
const CLEAN = 'agent a {\n    capabilities = ["x"]\n}\n'
const BROKEN = 'agent a {\n  capabilities ["x"]\n'

async function folderOf(files: Readonly<Record<string, string | Uint8Array>>): Promise<TemporaryFolder> {
  const folder = await temporaryFolder()
  await mkdir(folder.of('agents'))
  for (const [name, text] of Object.entries(files)) await writeFile(folder.of('agents', name), text)
  return folder
}

describe('fmt', () => {
  test('formats files in place, says which, and exits 0', async () => {
    await using folder = await folderOf({ 'a.symbi': LOOSE, 'b.symbi': CLEAN })
    const [a, b] = [folder.of('agents', 'a.symbi'), folder.of('agents', 'b.symbi')]
    const done = await inProcess(['fmt', a, b])
    expect([done.code, done.stdout, done.stderr]).toEqual([0, `formatted ${a}\n`, '2 files: 1 formatted, 1 clean\n'])
    expect(await readFile(a, 'utf8')).toBe(CLEAN)
    expect(await readdir(folder.of('agents'))).toEqual(['a.symbi', 'b.symbi']) // no temporary file is left
    expect((await inProcess(['fmt', '--check', a, b])).code).toBe(0)
  })

  test('--check changes nothing, names what is not formatted, and exits 2', async () => {
    await using folder = await folderOf({ 'a.symbi': LOOSE, 'b.symbi': CLEAN })
    const [a, b] = [folder.of('agents', 'a.symbi'), folder.of('agents', 'b.symbi')]
    const done = await inProcess(['fmt', '--check', a, b])
    expect([done.code, done.stdout, done.stderr]).toEqual([2, `would format ${a}\n`, '2 files: 1 to format, 1 clean\n'])
    expect(await readFile(a, 'utf8')).toBe(LOOSE)
  })

  test('a folder stands for the sources directly in it, by name', async () => {
    await using folder = await folderOf({ 'b.dsl': LOOSE, 'a.symbi': LOOSE, 'notes.txt': LOOSE, '.symbi': LOOSE })
    await mkdir(folder.of('agents', 'deeper'))
    await writeFile(folder.of('agents', 'deeper', 'c.symbi'), LOOSE)
    const done = await inProcess(['fmt', folder.of('agents')])
    const at = (name: string): string => folder.of('agents', name)
    expect([done.code, done.stdout]).toEqual([0, `formatted ${at('a.symbi')}\nformatted ${at('b.dsl')}\n`])
    for (const name of ['notes.txt', '.symbi', 'deeper/c.symbi']) expect(await readFile(at(name), 'utf8')).toBe(LOOSE)
  })

  test('the order of a folder is that of its names, whatever the disk says', async () => {
    await using folder = await folderOf({ 'a.symbi': CLEAN, 'b.symbi': CLEAN, 'c.symbi': CLEAN })
    const real = nodeWorld()
    const list: World['files']['list'] = async () => ['c.symbi', 'a.symbi', 'b.symbi']
    const world = { ...real, files: { ...real.files, list } }
    const done = await inProcess(['fmt', '--json', `${folder.of('agents')}/`], { world })
    const names = ['a.symbi', 'b.symbi', 'c.symbi']
    expect(jsonLines(done.stdout).map(({ file }) => file)).toEqual(names.map((name) => folder.of('agents', name)))
  })

  test('a folder that cannot be read is told, and what else is named is formatted', async () => {
    await using folder = await folderOf({ 'a.symbi': LOOSE })
    await mkdir(folder.of('locked'))
    const world = faultyWorld(nodeWorld(), [{ on: 'list', path: 'locked', errno: 'EACCES' }])
    const done = await inProcess(['fmt', folder.of('locked'), folder.of('agents')], { world })
    expect([done.code, done.stdout]).toEqual([1, `formatted ${folder.of('agents', 'a.symbi')}\n`])
    expect(done.stderr).toContain(`Cannot format "${folder.of('locked')}": `)
  })

  test.each(['assistant', 'multi-agent'])(
    'the agents that init writes for the profile %s are formatted',
    async (profile) => {
      await using folder = await temporaryFolder()
      const made = await inProcess(['init', '--project', folder.of('new'), '--profile', profile, '--no-interact'])
      expect(made.code).toBe(0)
      const done = await inProcess(['fmt', '--check', folder.of('new', 'agents')])
      expect([done.code, done.stdout]).toEqual([0, ''])
      expect(done.stderr).toMatch(/^\d files?: \d clean\n$/)
    },
  )

  test('a folder without sources is told, and is no error', async () => {
    await using folder = await folderOf({})
    const done = await inProcess(['fmt', folder.of('agents')])
    expect([done.code, done.stdout]).toEqual([0, ''])
    expect(done.stderr).toBe(`"${folder.of('agents')}" holds no agent source\n0 files\n`)
  })

  test('a file with errors stays byte for byte as it was, its problems are shown, and the others are formatted', async () => {
    const broken = Buffer.from(`\ufeff${BROKEN}\r\n`)
    await using folder = await folderOf({ 'a.symbi': broken, 'b.symbi': LOOSE })
    const a = folder.of('agents', 'a.symbi')
    const done = await inProcess(['fmt', folder.of('agents')])
    expect([done.code, done.stdout]).toEqual([1, `formatted ${folder.of('agents', 'b.symbi')}\n`])
    expect(done.stderr).toContain(`${a}:2:16: E100 `)
    expect(done.stderr).toContain(`Cannot format "${a}": it has errors\nhint: `)
    expect(done.stderr).toMatch(/^2 files: 1 formatted, 1 failed$/m)
    expect(await readFile(a)).toEqual(broken)
  })

  test('--check exits 1 when a file has errors, also where another is not formatted', async () => {
    await using folder = await folderOf({ 'a.symbi': BROKEN, 'b.symbi': LOOSE })
    expect((await inProcess(['fmt', '--check', folder.of('agents')])).code).toBe(1)
  })

  test.each([
    ['no UTF-8', Buffer.from([0x61, 0xff, 0x62])],
    ['a NUL', 'agent a {}\n\u0000'],
    ['more than 1 MiB', ' '.repeat(1024 * 1024 + 1)],
  ])('a file that holds %s is refused and stays as it was', async (_what, content) => {
    await using folder = await folderOf({ 'a.symbi': content })
    const a = folder.of('agents', 'a.symbi')
    const before = await readFile(a)
    const done = await inProcess(['fmt', a])
    expect([done.code, done.stdout]).toEqual([1, ''])
    expect(done.stderr).toContain(`Cannot format "${a}": it `)
    expect((await readFile(a)).equals(before)).toBe(true)
  })

  test('a byte order mark stays, CR LF goes outside of strings, and a mark alone makes no file unclean', async () => {
    await using folder = await folderOf({
      'a.symbi': '\ufeffmetadata {\r\n  note: "two\r\nlines",\r\n}\r\n',
      'b.symbi': `\ufeff${CLEAN}`,
    })
    const done = await inProcess(['fmt', '--json', folder.of('agents')])
    expect(jsonLines(done.stdout).map(({ status }) => status)).toEqual(['formatted', 'clean'])
    const text = await readFile(folder.of('agents', 'a.symbi'), 'utf8')
    expect(text).toBe('\ufeffmetadata {\n    note: "two\r\nlines",\n}\n')
  })

  test('a formatted file keeps its mode, also where the mask of the user would not give it', async () => {
    await using folder = await folderOf({ 'a.symbi': LOOSE })
    const a = folder.of('agents', 'a.symbi')
    for (const mode of [0o600, 0o666, 0o755]) {
      await writeFile(a, LOOSE)
      await chmod(a, mode)
      expect((await inProcess(['fmt', a])).code).toBe(0)
      expect((await stat(a)).mode & 0o777).toBe(mode)
    }
  })

  test('a link is refused, and what it leads to stays as it was', async () => {
    await using folder = await folderOf({ 'real.txt': LOOSE })
    const a = folder.of('agents', 'a.symbi')
    await symlink(folder.of('agents', 'real.txt'), a)
    for (const flags of [[], ['--check']]) {
      const done = await inProcess(['fmt', ...flags, a])
      expect([done.code, done.stdout]).toEqual([1, ''])
      expect(done.stderr).toContain(`Cannot format "${a}": it is a link\nhint: Name the file that it leads to\n`)
    }
    expect(await readFile(a, 'utf8')).toBe(LOOSE)
  })

  test('a file with a second name is refused, because the other name would keep the old text', async () => {
    await using folder = await folderOf({ 'a.symbi': LOOSE, 'clean.symbi': CLEAN })
    const a = folder.of('agents', 'a.symbi')
    await link(a, folder.of('twin'))
    await link(folder.of('agents', 'clean.symbi'), folder.of('clean-twin'))
    const done = await inProcess(['fmt', folder.of('agents')])
    expect(done.code).toBe(1)
    expect(done.stderr).toContain(`Cannot format "${a}": it has further names`)
    expect(done.stderr).toContain('2 files: 1 clean, 1 failed')
    expect(await readFile(a, 'utf8')).toBe(LOOSE)
  })

  test.each([
    ['something that is not there', 'none.symbi', 'it does not exist'],
    ['a name that is nothing but an ending', '.symbi', 'its name ends neither in .symbi nor in .dsl'],
    ['another kind of file', 'notes.txt', 'its name ends neither in .symbi nor in .dsl'],
  ])('%s is refused', async (_what, name, state) => {
    await using folder = await folderOf({ 'notes.txt': LOOSE, '.symbi': LOOSE })
    const path = folder.of('agents', name)
    const done = await inProcess(['fmt', path])
    expect([done.code, done.stdout]).toEqual([1, ''])
    expect(done.stderr).toContain(`Cannot format "${path}": ${state}\n`)
    expect(await readFile(folder.of('agents', 'notes.txt'), 'utf8')).toBe(LOOSE)
  })

  test('a file of another user is refused, because it would change its owner', async () => {
    await using folder = await folderOf({ 'a.symbi': LOOSE })
    const real = nodeWorld()
    const world: World = { ...real, files: { ...real.files, uid: real.files.uid + 1 } }
    const done = await inProcess(['fmt', folder.of('agents')], { world })
    expect([done.code, await readFile(folder.of('agents', 'a.symbi'), 'utf8')]).toEqual([1, LOOSE])
    expect(done.stderr).toContain('it belongs to another user\n')
  })

  test('a file that is changed while it is read keeps what was written into it', async () => {
    await using folder = await folderOf({ 'a.symbi': LOOSE })
    const a = folder.of('agents', 'a.symbi')
    const before = (): Promise<void> => writeFile(a, 'agent other{}')
    const done = await inProcess(['fmt', a], { world: faultyWorld(nodeWorld(), [{ on: 'read', before }]) })
    expect([done.code, await readFile(a, 'utf8')]).toEqual([1, 'agent other{}'])
    expect(done.stderr).toContain('it was changed while it was read\n')
  })

  test('a failing disk leaves the file as it was, is told, and the next file is formatted', async () => {
    await using folder = await folderOf({ 'a.symbi': LOOSE, 'b.symbi': LOOSE })
    const world = faultyWorld(nodeWorld(), [{ on: 'append', errno: 'ENOSPC', path: 'a.symbi' }])
    const done = await inProcess(['fmt', folder.of('agents')], { world })
    expect([done.code, done.stdout]).toEqual([1, `formatted ${folder.of('agents', 'b.symbi')}\n`])
    expect(await readFile(folder.of('agents', 'a.symbi'), 'utf8')).toBe(LOOSE)
  })

  test('with --json prints an object a line, with the diagnostics of a file that has errors', async () => {
    await using folder = await folderOf({ 'a.symbi': LOOSE, 'b.symbi': BROKEN, 'c.symbi': CLEAN })
    const at = (name: string): string => folder.of('agents', name)
    const checked = await inProcess(['fmt', '--json', '--check', folder.of('agents')])
    expect([checked.code, checked.stderr]).toEqual([1, ''])
    expect(jsonLines(checked.stdout)).toMatchObject([
      { file: at('a.symbi'), status: 'would_format' },
      { file: at('b.symbi'), status: 'error', diagnostics: [{ kind: 'syntax', code: 'E101', line: 1 }, { line: 2 }] },
      { file: at('c.symbi'), status: 'clean' },
    ])
    const done = await inProcess(['fmt', '--json', at('a.symbi')])
    expect(jsonLines(done.stdout)).toEqual([{ file: at('a.symbi'), status: 'formatted' }])
  })

  test('without a file means the agents of the project, and a project without any is in order', async () => {
    await using folder = await folderOf({ 'a.symbi': LOOSE })
    await using empty = await temporaryFolder()
    const a = folder.of('agents', 'a.symbi')
    const checked = await inProcess(['fmt', '--check', '--project', folder.path])
    expect([checked.code, checked.stdout]).toEqual([2, `would format ${a}\n`])
    expect((await inProcess(['fmt', '--project', folder.path])).stdout).toBe(`formatted ${a}\n`)
    expect(await inProcess(['fmt', '--check', '--project', empty.path])).toMatchObject({ code: 0, stderr: '0 files\n' })
    expect((await inProcess(['fmt', '--project', empty.of('none')])).stderr).toMatch(/^PROJECT_MISSING: /)
  })

  test.each([[['--stdin', 'a.symbi']], [['--nonsense', 'a.symbi']]])(
    'with two places to read from, or with an unknown flag, exits 64: %s',
    async (args) => {
      const done = await inProcess(['fmt', ...args])
      expect([done.code, done.stdout]).toEqual([64, ''])
      expect(done.stderr).toMatch(/^USAGE: Cannot /)
    },
  )
})

describe('fmt --stdin', () => {
  test('prints the formatted source and nothing else', async () => {
    expect(await symbi(['fmt', '--stdin'], { input: LOOSE })).toMatchObject({ code: 0, stdout: CLEAN, stderr: '' })
  })

  test('with --check prints nothing, and exits 2 when the source is not formatted', async () => {
    expect(await symbi(['fmt', '--stdin', '--check'], { input: LOOSE })).toMatchObject({ code: 2, stdout: '' })
    expect(await symbi(['fmt', '--stdin', '--check'], { input: CLEAN })).toMatchObject({ code: 0, stdout: '' })
  })

  test('with errors prints them on stderr, nothing on stdout, and exits 1', async () => {
    const done = await symbi(['fmt', '--stdin'], { input: BROKEN })
    expect([done.code, done.stdout]).toEqual([1, ''])
    expect(done.stderr).toContain('<stdin>:1:9: E101 ')
  })

  test('with --json prints one object that holds the text', async () => {
    const done = await symbi(['fmt', '--stdin', '--json'], { input: LOOSE })
    expect(jsonLines(done.stdout)).toEqual([{ file: '<stdin>', status: 'formatted', text: CLEAN }])
  })

  test('refuses what is too long without waiting for its end', async () => {
    const running = start(['fmt', '--stdin'])
    running.child.stdin.write(' '.repeat(3 * 1024 * 1024))
    const done = await running.ended
    expect([done.code, done.stdout]).toEqual([1, ''])
    expect(done.stderr).toContain('E102')
  })
})
