/** Real files, real links, real pipes, and another process that exchanges one for the other while they are read. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { link, mkdir, readFile, symlink, truncate, writeFile } from 'node:fs/promises'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { nameMatches } from '../../src/tools/files/name-pattern.ts'
import { type FileRoot, fileTools } from '../../src/tools/index.ts'
import { nodeWorld, type Place, toFault, type World } from '../../src/world/index.ts'

import { type TemporaryFolder, temporaryFolder } from '../support/folder.ts'
import { asked } from './support.ts'

/** A root "docs" with a few files, and beside it what nobody may see. */
async function library(parts: Partial<FileRoot> = {}) {
  const folder = await temporaryFolder()
  await mkdir(folder.of('docs', 'guide'), { recursive: true })
  await writeFile(folder.of('docs', 'a.md'), 'first line\nsecond line\n')
  await writeFile(folder.of('docs', 'guide', 'b.md'), 'Second thoughts\r\nthird\n')
  await mkdir(folder.of('outside'))
  await writeFile(folder.of('outside', 'a.md'), 'SECRET')
  const root: FileRoot = { name: 'docs', path: folder.of('docs'), ...parts }
  return Object.assign(folder, { ask: asked(fileTools([root], nodeWorld())) })
}

const REFUSED = 'FILE_REFUSED'
const ABSENT = 'FILE_NOT_FOUND'

describe('what policy judges', () => {
  test('is the root as the resource, the path in one form, and every argument with its default', async () => {
    await using folder = await library()
    const { call } = await folder.ask('read_file', { path: 'docs/guide/b.md' })
    expect(call.arguments).toEqual({ path: 'docs/guide/b.md', offset: 0, limit: 32_768 })
    expect(call.resolved).toEqual({ file_root: 'docs', file_path: 'guide/b.md' })
    expect(call.contract).toMatchObject({
      action_id: 'tool_call::read_file',
      resource_type: 'FileRoot',
      resource_id: 'docs',
      requires_approval: false,
    })
    const listed = await folder.ask('list_files', { path: 'docs/guide/' })
    expect(listed.call.arguments).toEqual({ path: 'docs/guide', depth: 1 })
    const searched = await folder.ask('search_files', { path: 'docs', text: 'x' })
    expect(searched.call.arguments).toEqual({ path: 'docs', text: 'x', ignore_case: false })
  })

  test('changes its digest when the root means another folder, and says nothing of where that is', async () => {
    await using folder = await library()
    await using other = await library()
    const [one, two] = await Promise.all([folder, other].map(({ ask }) => ask('list_files', { path: 'docs' })))
    expect(one?.call.contract?.digest).not.toBe(two?.call.contract?.digest)
    expect(JSON.stringify([one?.call, one?.content])).not.toContain(folder.path)
  })

  test.each([
    '..',
    '../outside/a.md',
    'docs/../outside/a.md',
    'docs/guide/../../outside/a.md',
    'docs//a.md',
    'docs/./a.md',
    '/docs/a.md',
    'docs/a.md//',
    'docs\\a.md',
    'docs/a\\b',
    'docs/a\u0000b',
    'docs/a\nb',
    'other/a.md',
    'DOCS/a.md',
    'docs/.env',
    'docs/.git/config',
    'docs/guide/.hidden/x',
    'docs/.symbiont',
    './docs/a.md',
    'docs/..',
    ' docs/a.md',
    `docs/${'x'.repeat(256)}`,
  ])('the path %j is refused before policy', async (path) => {
    await using folder = await library()
    for (const [name, more] of [
      ['read_file', {}],
      ['list_files', {}],
      ['search_files', { text: 'S' }],
    ] as const) {
      await expect(folder.ask(name, { path, ...more })).rejects.toMatchObject({ code: 'CALL_INVALID' })
    }
  })
})

describe('read_file', () => {
  test('gives the text, and says where it was cut and how to go on', async () => {
    await using folder = await library()
    const whole = await folder.ask('read_file', { path: 'docs/a.md' })
    expect(whole.said).toEqual({
      path: 'docs/a.md',
      size: 23,
      offset: 0,
      bytes: 23,
      cut: false,
      text: 'first line\nsecond line\n',
    })
    const { said } = await folder.ask('read_file', { path: 'docs/a.md', limit: 16 })
    expect(said).toMatchObject({ bytes: 16, cut: true, next_offset: 16, text: 'first line\nsecon' })
    const beyond = await folder.ask('read_file', { path: 'docs/a.md', offset: 99 })
    expect(beyond.said).toMatchObject({ bytes: 0, cut: false, text: '' })
  })

  test('a text that is read piece by piece is the text, whatever its characters and the size of the pieces', async () => {
    await using folder = await library()
    await fc.assert(
      fc.asyncProperty(
        fc.string({ unit: fc.constantFrom('a', 'é', '€', '😀', '\u0000', '"', '\n'), minLength: 1, maxLength: 80 }),
        fc.integer({ min: 16, max: 40 }),
        async (text, limit) => {
          await writeFile(folder.of('docs', 'text'), text)
          let read = ''
          for (let offset: number | undefined = 0; offset !== undefined; ) {
            const { said } = await folder.ask('read_file', { path: 'docs/text', offset, limit })
            read += said.text
            offset = said.next_offset
          }
          expect(read).toBe(text)
          const inside = await folder.ask('read_file', { path: 'docs/text', offset: 1, limit })
          expect(Buffer.from(text).includes(inside.said.text)).toBe(true)
        },
      ),
      { numRuns: 60 },
    )
  })

  test('the longest piece of the worst text fits into a journal entry', async () => {
    await using folder = await library()
    await writeFile(folder.of('docs', 'worst'), Buffer.alloc(100_000))
    const { is_error, said } = await folder.ask('read_file', { path: 'docs/worst', limit: 65_536 })
    expect(is_error).toBe(false)
    expect(said).toMatchObject({ bytes: 65_536, cut: true, size: 100_000 })
  })

  test('what is no text, no file, or not there is a known answer, and the run goes on', async () => {
    await using folder = await library()
    await writeFile(folder.of('docs', 'binary'), Buffer.from([0xff, 0xfe, 0x80]))
    const rows = [
      ['docs/binary', REFUSED, 'not UTF-8'],
      ['docs/guide', REFUSED, 'a folder'],
      ['docs', REFUSED, 'a folder'],
      ['docs/none', ABSENT, 'no such file'],
      ['docs/none/deep', ABSENT, 'no such file'],
      ['docs/a.md/deep', REFUSED, 'not a folder'],
    ] as const
    for (const [path, code, reason] of rows) {
      const { is_error, said } = await folder.ask('read_file', { path })
      expect({ is_error, ...said }).toMatchObject({ is_error: false, code, reason: expect.stringContaining(reason) })
    }
  })

  test('a root whose folder is gone is told as absent, and becomes readable when it is back', async () => {
    await using folder = await library({ path: '/nonexistent-root-of-a-test' })
    expect((await folder.ask('read_file', { path: 'docs/a.md' })).said).toMatchObject({ code: ABSENT })
  })

  test('links are followed nowhere: not as the file, not on the way, not as the root', async () => {
    await using folder = await library()
    await symlink(folder.of('outside', 'a.md'), folder.of('docs', 'file-link'))
    await symlink('a.md', folder.of('docs', 'inner-link'))
    await symlink(folder.of('outside'), folder.of('docs', 'folder-link'))
    for (const path of ['docs/file-link', 'docs/inner-link', 'docs/folder-link/a.md']) {
      const { said, content } = await folder.ask('read_file', { path })
      expect(said).toMatchObject({ code: REFUSED, reason: expect.stringContaining('link') })
      expect(content).not.toContain('SECRET')
    }
    await symlink(folder.of('docs'), folder.of('root-link'))
    const linked = asked(fileTools([{ name: 'docs', path: folder.of('root-link') }], nodeWorld()))
    expect((await linked('read_file', { path: 'docs/a.md' })).said).toMatchObject({ code: ABSENT })
  })

  test('a file with a second name is not read, because that name may lie anywhere', async () => {
    await using folder = await library()
    await link(folder.of('outside', 'a.md'), folder.of('docs', 'hard'))
    const { said, content } = await folder.ask('read_file', { path: 'docs/hard' })
    expect(said).toMatchObject({ code: REFUSED, reason: expect.stringContaining('more than one name') })
    expect(content).not.toContain('SECRET')
    const listed = (await folder.ask('list_files', { path: 'docs', name: 'hard' })).said
    expect(listed).toMatchObject({
      entries: [{ path: 'docs/hard', kind: 'file', not_read: expect.stringContaining('more than one name') }],
    })
  })

  test('a path that begins with no root is told which roots there are', async () => {
    await using folder = await library()
    await expect(folder.ask('read_file', { path: '../x' })).rejects.toThrow(/the name of a root \((\w+, )*docs/)
  })

  test('a pipe and a device are refused at once, and nobody waits for their other end', async () => {
    await using folder = await library()
    expect(spawnSync('mkfifo', [folder.of('docs', 'pipe')]).status).toBe(0)
    expect((await folder.ask('read_file', { path: 'docs/pipe' })).said).toMatchObject({ code: REFUSED })
    const devices = asked(fileTools([{ name: 'dev', path: '/dev' }], nodeWorld()))
    expect((await devices('read_file', { path: 'dev/zero' })).said).toMatchObject({ code: REFUSED })
  })

  test('another file system below a root is not entered', async () => {
    const machine = asked(fileTools([{ name: 'all', path: '/' }], nodeWorld()))
    const { said } = await machine('read_file', { path: 'all/proc/self/environ' })
    expect(said).toMatchObject({ code: REFUSED, reason: expect.stringContaining('another file system') })
  })

  test('what the user of the runtime may not read is a known answer', async () => {
    await using folder = await library()
    const denied = nodeWorld()
    const files = { ...denied.files, place: async (path: string) => closed(await denied.files.place(path)) }
    const { said } = await asked(fileTools([{ name: 'docs', path: folder.of('docs') }], { files }))('read_file', {
      path: 'docs/a.md',
    })
    expect(said).toMatchObject({ code: REFUSED, reason: expect.stringContaining('may not read') })
  })

  test('a folder that may not be listed is passed over and counted, and is itself a known answer', async () => {
    await using folder = await library()
    const shut = changedBelow('guide', 'list', () => Promise.reject(refusedBySystem()))
    const ask = asked(fileTools([{ name: 'docs', path: folder.of('docs') }], { files: shut }))
    expect((await ask('list_files', { path: 'docs', depth: 2 })).said).toMatchObject({ not_entered: 1, cut: false })
    const { said } = await ask('search_files', { path: 'docs', text: 'line' })
    expect(said).toMatchObject({ not_entered: 1, matches: [{ line: 1 }, { line: 2 }] })
    expect((await ask('list_files', { path: 'docs/guide' })).said).toMatchObject({ code: REFUSED })
  })

  test.each(['guide', 'a.md'])('%s is not looked into where it is a mount of its own', async (name) => {
    await using folder = await library()
    const mounted = changedBelow(name, 'mount', 'another')
    const ask = asked(fileTools([{ name: 'docs', path: folder.of('docs') }], { files: mounted }))
    const path = name === 'guide' ? 'docs/guide/b.md' : 'docs/a.md'
    const reason = expect.stringContaining('another file system')
    expect((await ask('read_file', { path })).said).toMatchObject({ code: REFUSED, reason })
    expect((await ask('search_files', { path, text: 'e' })).said).toMatchObject({ code: REFUSED, reason })
    const { said } = await ask('search_files', { path: 'docs', text: 'e' })
    expect(said.matches.map((match: { path: string }) => match.path)).not.toContain(path)
  })

  test('hidden names are read where the root says so, and evidence and repositories never', async () => {
    await using folder = await library({ hidden: true })
    await mkdir(folder.of('docs', '.symbiont'))
    await writeFile(folder.of('docs', '.profile'), 'mine')
    expect((await folder.ask('read_file', { path: 'docs/.profile' })).said).toMatchObject({ text: 'mine' })
    await expect(folder.ask('read_file', { path: 'docs/.symbiont/x' })).rejects.toMatchObject({ code: 'CALL_INVALID' })
    await expect(folder.ask('read_file', { path: 'docs/.GIT/config' })).rejects.toMatchObject({ code: 'CALL_INVALID' })
  })
})

/** The same place, with a step that the system refuses. A user other than root would meet that; the tests may run as root. */
function closed<T extends { step(name: string): Promise<unknown> } | null>(place: T): T {
  if (place === null) return place
  return new Proxy(place, {
    get: (target, name) => {
      if (name === 'step') return () => Promise.reject(refusedBySystem())
      const member = Reflect.get(target, name)
      return typeof member === 'function' ? member.bind(target) : member
    },
  })
}

/** Files in which one member of whatever has this name is another. */
function changedBelow(name: string, member: 'list' | 'mount', value: unknown): World['files'] {
  const { files } = nodeWorld()
  const changed = (place: Place | null, own: string): Place | null =>
    place === null
      ? null
      : new Proxy(place, {
          get: (target, key) => {
            if (key === member && own === name) return value
            if (key === 'step') return async (below: string) => changed(await target.step(below), below)
            const found = Reflect.get(target, key, target)
            return typeof found === 'function' ? found.bind(target) : found
          },
        })
  return { ...files, place: async (path: string) => changed(await files.place(path), '') }
}

function refusedBySystem(): unknown {
  return toFault(Object.assign(new Error('EACCES'), { code: 'EACCES' }))
}

describe('while another process exchanges folders and files for links', () => {
  const SWAPPER = `
    const fs = require('node:fs'), [root, outside] = process.argv.slice(1)
    const swap = (name) => {
      fs.renameSync(root + '/' + name, root + '/kept-' + name)
      fs.symlinkSync(outside + '/' + name, root + '/' + name)
      for (let i = 0; i < 20; i += 1) fs.lstatSync(root)
      fs.unlinkSync(root + '/' + name)
      fs.renameSync(root + '/kept-' + name, root + '/' + name)
    }
    const on = () => {
      for (let i = 0; i < 100; i += 1) { swap('dir'); swap('file') }
      setImmediate(on)
    }
    process.stdin.resume().on('close', () => process.exit()) // whoever started it is gone
    process.stdout.write('on')
    on()`

  test.each(['read_file', 'list_files', 'search_files'])('%s never tells a byte from outside', async (name) => {
    await using folder = await swapped()
    const { ask } = folder
    const child = spawn(process.execPath, ['-e', SWAPPER, folder.of('docs'), folder.of('outside')])
    try {
      await once(child.stdout, 'data')
      let fooled = 0
      let answered = 0
      for (let round = 0; round < 20_000 && (fooled < 5 || answered < 200); round += 1) {
        // Somebody who opens by name meets the secret: so the exchange really happens between his steps.
        fooled += (await naive(folder)).includes('SECRET') ? 1 : 0
        for (const path of name === 'read_file' ? ['docs/dir/a', 'docs/file'] : ['docs/dir', 'docs']) {
          const { is_error, content, said } = await ask(name, { path, ...MORE[name] })
          expect(is_error).toBe(false)
          expect(content).not.toMatch(/SECRET|outsider/)
          if (said.code === undefined) answered += 1
        }
      }
      expect(fooled).toBeGreaterThan(0)
      expect(answered).toBeGreaterThan(0)
    } finally {
      child.kill('SIGKILL')
      await once(child, 'close')
    }
  })

  const MORE: Readonly<Record<string, object>> = { list_files: { depth: 4 }, search_files: { text: 'E' } }

  async function swapped() {
    const folder = await library()
    for (const [place, text] of [
      ['docs', 'INSIDE'],
      ['outside', 'SECRET'],
    ] as const) {
      await mkdir(folder.of(place, 'dir'))
      await writeFile(folder.of(place, 'dir', 'a'), text)
      await writeFile(folder.of(place, 'file'), text)
    }
    await writeFile(folder.of('outside', 'dir', 'outsider'), 'SECRET')
    return folder
  }

  async function naive(folder: TemporaryFolder): Promise<string> {
    const reads = [['dir', 'a'], ['file']].map((names) => readFile(folder.of('docs', ...names), 'utf8').catch(() => ''))
    return (await Promise.all(reads)).join(' ')
  }
})

describe('list_files', () => {
  test('tells names, kinds and sizes in order, and goes as deep as it was asked to', async () => {
    await using folder = await library()
    await symlink('/etc', folder.of('docs', 'etc'))
    await writeFile(folder.of('docs', '.env'), 'KEY=1')
    const flat = await folder.ask('list_files', { path: 'docs' })
    expect(flat.said).toEqual({
      path: 'docs',
      entries: [
        { path: 'docs/a.md', kind: 'file', bytes: 23 },
        { path: 'docs/etc', kind: 'link' },
        { path: 'docs/guide', kind: 'folder' },
      ],
      cut: true,
      cuts: ['folders below level 1 are not entered'],
      not_entered: 0,
    })
    const deep = await folder.ask('list_files', { path: 'docs', depth: 2, name: '*.md' })
    expect(deep.said.entries.map(({ path }: { path: string }) => path)).toEqual(['docs/a.md', 'docs/guide/b.md'])
    expect(deep.said.cut).toBe(false)
  })

  test('says that it was cut when there are more entries than an answer may hold', async () => {
    await using folder = await library()
    await Promise.all(
      Array.from({ length: 2_100 }, (_, index) => writeFile(folder.of('docs', 'guide', `f${index}`), '')),
    )
    const { is_error, said, content } = await folder.ask('list_files', { path: 'docs', depth: 3 })
    expect(is_error).toBe(false)
    expect(said.cut).toBe(true)
    expect(said.entries.length).toBeLessThanOrEqual(2_000)
    expect(Buffer.byteLength(content)).toBeLessThan(70_000)
  })

  test('stops when the call is over', async () => {
    await using folder = await library()
    const [tool] = fileTools([{ name: 'docs', path: folder.of('docs') }], nodeWorld()).slice(1)
    const over = AbortSignal.abort(new Error('over'))
    const call = { signal: over, effects: { record: async () => undefined }, deadlineMs: 0 }
    await expect(tool?.run({ path: 'docs', depth: 1 }, call)).rejects.toThrow('over')
  })
})

describe('search_files', () => {
  test('tells each line that holds the text, with or without regard to case', async () => {
    await using folder = await library()
    const { said } = await folder.ask('search_files', { path: 'docs', text: 'second' })
    expect(said).toEqual({
      path: 'docs',
      matches: [{ path: 'docs/a.md', line: 2, text: 'second line' }],
      cut: false,
      files_searched: 2,
      files_passed_over: 0,
      not_entered: 0,
    })
    const folded = await folder.ask('search_files', { path: 'docs', text: 'SECOND', ignore_case: true })
    expect(folded.said.matches).toHaveLength(2)
    const one = await folder.ask('search_files', { path: 'docs/guide/b.md', text: 'Second', name: '*.txt' })
    expect(one.said.matches).toEqual([{ path: 'docs/guide/b.md', line: 1, text: 'Second thoughts' }])
  })

  test('takes the text for a text: what would be an expression finds itself and nothing else', async () => {
    await using folder = await library()
    await writeFile(folder.of('docs', 'p'), 'a (a+)+$ b\naaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!')
    const { said } = await folder.ask('search_files', { path: 'docs/p', text: '(a+)+$' })
    expect(said.matches).toEqual([{ path: 'docs/p', line: 1, text: 'a (a+)+$ b' }])
  })

  test('passes over what it does not read, and says how much', async () => {
    await using folder = await library()
    await writeFile(folder.of('docs', 'binary'), Buffer.from('needle\xff', 'latin1'))
    await writeFile(folder.of('docs', 'large'), 'needle')
    await truncate(folder.of('docs', 'large'), 1024 * 1024 + 1)
    await link(folder.of('docs', 'a.md'), folder.of('docs', 'hard'))
    await symlink('a.md', folder.of('docs', 'soft'))
    const { said } = await folder.ask('search_files', { path: 'docs', text: 'needle' })
    expect(said).toMatchObject({ matches: [], files_searched: 1, files_passed_over: 5 })
  })

  test('is cut, and says so, at too many matches and at too many bytes', async () => {
    await using folder = await library()
    await writeFile(folder.of('docs', 'many'), 'hit\n'.repeat(500))
    const many = await folder.ask('search_files', { path: 'docs', text: 'hit' })
    expect(many.said.matches).toHaveLength(200)
    expect(many.said.cuts).toEqual(['there are more lines than an answer may hold'])
    for (let index = 0; index < 9; index += 1) {
      await writeFile(folder.of('docs', `big${index}`), Buffer.alloc(1024 * 1024, 'x\n'))
    }
    const big = await folder.ask('search_files', { path: 'docs', text: 'nowhere' })
    expect(big.said.cut).toBe(true)
    expect(big.said.files_searched).toBeLessThan(12)
  })

  test('shows a piece of a long line, around what was found', async () => {
    await using folder = await library()
    await writeFile(folder.of('docs', 'long'), `${'x'.repeat(5_000)}needle${'y'.repeat(5_000)}`)
    const { said } = await folder.ask('search_files', { path: 'docs', text: 'needle' })
    expect(said.matches[0].text).toContain('needle')
    expect(said.matches[0].text.length).toBeLessThan(300)
  })
})

describe('the roots', () => {
  const world = nodeWorld()
  test.each<[string, readonly FileRoot[]]>([
    ['a name with a slash', [{ name: 'a/b', path: '/tmp' }]],
    ['no name', [{ name: '', path: '/tmp' }]],
    [
      'two equal names',
      [
        { name: 'a', path: '/tmp' },
        { name: 'a', path: '/usr' },
      ],
    ],
    ['a relative path', [{ name: 'a', path: 'docs' }]],
    ['a path that goes up', [{ name: 'a', path: '/tmp/../etc' }]],
    ['the state of a runtime', [{ name: 'a', path: '/srv/project/.symbiont/governed' }]],
    ['too many', Array.from({ length: 65 }, (_, index) => ({ name: `r${index}`, path: '/tmp' }))],
  ])('%s is refused', (_what, roots) => {
    expect(() => fileTools(roots, world)).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }))
  })

  test('without one there is no tool', () => {
    expect(fileTools([], world)).toEqual([])
  })
})

test('a pattern of names means what a naive reading of it means, and takes no longer for being wild', () => {
  const naive = (pattern: string, name: string): boolean => {
    const [first, ...rest] = [...pattern]
    if (first === undefined) return name === ''
    if (first === '*') return naive(rest.join(''), name) || (name !== '' && naive(pattern, name.slice(1)))
    return name !== '' && (first === '?' || first === name[0]) && naive(rest.join(''), name.slice(1))
  }
  const word = (...units: readonly string[]) => fc.string({ unit: fc.constantFrom(...units), maxLength: 7 })
  fc.assert(
    fc.property(word('a', 'b', '*', '?'), word('a', 'b'), (pattern, name) => {
      expect(nameMatches(pattern, name)).toBe(naive(pattern, name))
    }),
  )
  expect(nameMatches('*a'.repeat(60), 'a'.repeat(255))).toBe(true)
  expect(nameMatches(`${'*a'.repeat(60)}b`, 'a'.repeat(255))).toBe(false)
})
