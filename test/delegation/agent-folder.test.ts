import { execFile } from 'node:child_process'
import { appendFileSync, chmodSync, linkSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { type AgentFolder, type AgentRegistry, buildRegistry, readAgentFolder } from '../../src/delegation/index.ts'
import { nodeWorld, type World } from '../../src/world/index.ts'
import { faultyWorld } from '../support/faulty-world.ts'
import { scratch } from '../support/scratch.ts'

const places = scratch()
const world = nodeWorld()
const FINE = 'agent fine {}\n'

interface Folder {
  readonly path: string
  write(name: string, content: string | Uint8Array): string
}

/** An agents folder with one good file. */
function agentsFolder(): Folder {
  const path = join(places.folder(), 'agents')
  mkdirSync(path, { mode: 0o755 })
  const write = (name: string, content: string | Uint8Array): string => {
    writeFileSync(join(path, name), content, { mode: 0o644 })
    return join(path, name)
  }
  write('fine.symbi', FINE)
  return { path, write }
}

const read = (folder: Folder, eyes: World = world): Promise<AgentFolder> => readAgentFolder(eyes, folder.path)

async function rejectionOf(folder: Folder, name: string, eyes: World = world): Promise<string> {
  const { files, unread } = await read(folder, eyes)
  const found = files.find(({ file }) => file === name)
  if (found === undefined || !('rejection' in found))
    throw new Error(`"${name}" was not rejected: ${JSON.stringify(files)}`)
  expect(found.rejection).not.toContain(folder.path)
  expect(files).toContainEqual({ file: 'fine.symbi', text: FINE })
  const registry = buildRegistry({ files, unread })
  expect(registry.resolve('fine').kind).toBe('Target')
  expect(registry.resolve(name.replace(/\.symbi$/, ''))).toEqual({ kind: 'Unavailable', reason: found.rejection })
  return found.rejection
}

test('a project without agents has an empty folder of them', async () => {
  expect(await readAgentFolder(world, join(places.folder(), 'agents'))).toEqual({ files: [], unread: null })
})

test('only files with an agent extension directly in the folder are read, in the order of their names', async () => {
  const folder = agentsFolder()
  for (const name of ['b.dsl', 'a.symbi', 'notes.md', 'c.SYMBI', 'd.symbi.bak', '.symbi', 'e.Dsl'])
    folder.write(name, '')
  mkdirSync(join(folder.path, 'deeper'))
  writeFileSync(join(folder.path, 'deeper', 'f.symbi'), FINE)
  const names = await world.files.list(folder.path)
  for (const order of [names, names?.toSorted(), names?.toSorted().toReversed()]) {
    const eyes = { ...world, files: { ...world.files, list: async () => order ?? null } }
    expect((await read(folder, eyes)).files.map(({ file }) => file)).toEqual(['a.symbi', 'b.dsl', 'fine.symbi'])
  }
})

test('a byte order mark is no part of the text, and line ends stay as they are', async () => {
  const folder = agentsFolder()
  folder.write('bom.symbi', '\ufeffagent bom {}\r\n')
  expect((await read(folder)).files[0]).toEqual({ file: 'bom.symbi', text: 'agent bom {}\r\n' })
})

test.each<[string, (folder: Folder) => unknown, RegExp]>([
  ['a symbolic link', ({ path }) => symlinkSync(join(path, 'fine.symbi'), join(path, 'x.symbi')), /symbolic link/],
  ['a link that leads nowhere', ({ path }) => symlinkSync('nowhere', join(path, 'x.symbi')), /symbolic link/],
  ['a folder', ({ path }) => mkdirSync(join(path, 'x.symbi')), /it is no regular file/],
  [
    'open to everybody',
    ({ write }) => chmodSync(write('x.symbi', FINE), 0o646),
    /everybody may write to it \(mode 0646\)/,
  ],
  [
    'too long',
    ({ write }) => write('x.symbi', ' '.repeat(1024 * 1024 + 1)),
    /holds 1048577 bytes and 1048576 are allowed/,
  ],
  ['no UTF-8', ({ write }) => write('x.symbi', Uint8Array.of(0x0a, 0x23, 0x80)), /^agents\/x\.symbi:2:2: E102/],
  ['text with a NUL', ({ write }) => write('x.symbi', 'agent x {}\n\n \0'), /^agents\/x\.symbi:3:2: E102/],
])('a file that is %s makes its own name unavailable, and no other [X1]', async (_, make, reason) => {
  const folder = agentsFolder()
  make(folder)
  const rejection = await rejectionOf(folder, 'x.symbi')
  expect(rejection).toMatch(reason)
  expect(rejection).toMatch(/^agents\/x\.symbi:/)
})

test('a file with a second name is refused wherever that name is [X1]', async () => {
  const folder = agentsFolder()
  linkSync(folder.write('x.symbi', FINE), join(folder.path, '..', 'elsewhere'))
  expect(await rejectionOf(folder, 'x.symbi')).toContain('it has 2 links')
})

test('a pipe is refused and not waited for', async () => {
  const folder = agentsFolder()
  await promisify(execFile)('mkfifo', [join(folder.path, 'x.symbi')])
  expect(await rejectionOf(folder, 'x.symbi')).toContain('it is no regular file')
})

test('a file that cannot be opened is refused with the answer of the system', async () => {
  const folder = agentsFolder()
  folder.write('x.symbi', FINE)
  const eyes = faultyWorld(world, [{ on: 'open', path: 'x.symbi', errno: 'EACCES' }])
  expect(await rejectionOf(folder, 'x.symbi', eyes)).toContain('EACCES')
})

test('a file that fails while it is read is refused', async () => {
  const folder = agentsFolder()
  folder.write('x.symbi', FINE)
  const eyes = faultyWorld(world, [{ on: 'read', path: 'x.symbi', errno: 'EIO' }])
  expect(await rejectionOf(folder, 'x.symbi', eyes)).toContain('EIO')
})

test.each<[string, (path: string) => void]>([
  ['longer', (path) => appendFileSync(path, '# more')],
  ['another of the same length', (path) => writeFileSync(path, 'agent evil {}\n')],
])('a file that becomes %s while it is read is refused [X1]', async (_, change) => {
  const folder = agentsFolder()
  const path = folder.write('x.symbi', FINE)
  const eyes = faultyWorld(world, [{ on: 'read', nth: 2, path: 'x.symbi', before: () => change(path) }])
  expect(await rejectionOf(folder, 'x.symbi', eyes)).toContain('it changed while it was read')
})

test.each<[string, (path: string) => void]>([
  ['longer', (path) => appendFileSync(path, '# more')],
  ['another of the same length', (path) => writeFileSync(path, 'agent evil {}\n')],
])('a file that becomes %s within one stamp of the file system is refused', async (_, change) => {
  const folder = agentsFolder()
  const path = folder.write('x.symbi', FINE)
  const eyes = faultyWorld(coarseWorld(), [{ on: 'read', nth: 2, path: 'x.symbi', before: () => change(path) }])
  expect(await rejectionOf(folder, 'x.symbi', eyes)).toContain('it changed while it was read')
})

/** A file system that stamps everything alike. */
function coarseWorld(): World {
  const open: World['files']['open'] = async (path, how) => {
    const file = await world.files.open(path, how)
    if (file === null) return null
    return { ...file, facts: async () => ({ ...(await file.facts()), modifiedNs: 0n, changedNs: 0n }) }
  }
  return { ...world, files: { ...world.files, open } }
}

test('a file that goes away between the list and its reading is refused', async () => {
  const folder = agentsFolder()
  const path = folder.write('x.symbi', FINE)
  const eyes = faultyWorld(world, [{ on: 'open', path: 'x.symbi', before: () => renameSync(path, `${path}.old`) }])
  expect(await rejectionOf(folder, 'x.symbi', eyes)).toContain('it went away')
})

test('a hidden file is refused unread, and says so', async () => {
  const folder = agentsFolder()
  folder.write('.x.symbi', FINE)
  expect(await rejectionOf(folder, '.x.symbi')).toContain('hidden files are not read')
})

test('a name that would move a cursor is shown as marks', async () => {
  const folder = agentsFolder()
  folder.write('x\u001b[2J\u202e.symbi', Uint8Array.of(0x80))
  expect(await rejectionOf(folder, 'x\u001b[2J\u202e.symbi')).toMatch(/^agents\/x\ufffd\[2J\ufffd\.symbi:1:1: E102/)
})

const reasonOf = (registry: AgentRegistry, name: string): string => {
  const resolved = registry.resolve(name)
  return resolved.kind === 'Unavailable' ? resolved.reason : resolved.kind
}

describe('a folder that exceeds its limits', () => {
  test('with 2,000 files keeps the first 1,024 by name, and every other name says why it is not there [X1]', async () => {
    const path = join(places.folder(), 'agents')
    mkdirSync(path)
    const nameOf = (at: number): string => `f${String(at).padStart(4, '0')}`
    const texts = new Map([
      [1, 'agent twin {}'],
      [2, 'agent f1900 {}'],
      [1500, 'agent hidden {} agent deeper(x: String) {}'],
      [1600, 'agent broken {'],
      [1999, 'agent twin {}'],
    ])
    for (let at = 0; at < 2000; at += 1) {
      writeFileSync(join(path, `${nameOf(at)}.symbi`), texts.get(at) ?? `agent ${nameOf(at)} {}`, { mode: 0o644 })
    }
    const registry = buildRegistry(await readAgentFolder(world, path))
    const available = Array.from({ length: 1024 }, (_, at) => nameOf(at)).filter((name) => !/000[12]$/.test(name))
    expect(registry.targets.map(({ name }) => name)).toEqual(available)
    const why = 'the folder has 2000 entries and the first 1024 by name are taken; move files out of the folder'
    expect(reasonOf(registry, 'f1024')).toBe(`agents/f1024.symbi: it is left out (REGISTRY_LIMIT): ${why}`)
    for (const name of ['hidden', 'deeper', 'f1500'])
      expect(reasonOf(registry, name)).toMatch(/^agents\/f1500\.symbi: .*REG/)
    for (const name of ['broken', 'f1600']) expect(reasonOf(registry, name)).toMatch(/^agents\/f1600\.symbi: .*REG/)
    // what two files declare stands for neither, also where one of them is left out
    for (const name of ['twin', 'f1900']) expect(reasonOf(registry, name)).toContain(`the name "${name}" stands for 2 `)
    for (const name of ['f0001', 'f0002']) expect(reasonOf(registry, name)).toContain('so has something else')
    expect(reasonOf(registry, 'nobody')).toBe('Unknown')
    expect(registry.problem).toMatchObject({
      code: 'REGISTRY_LIMIT',
      message: 'Cannot take every file of the folder "agents": 976 left out, first agents/f1024.symbi',
    })
  })

  test('counts what is no agent, and the order of the list decides nothing', async () => {
    const folder = agentsFolder()
    const listed = (order: (names: string[]) => string[]): World => {
      const fillers = Array.from({ length: 1024 }, (_, at) => `a${at}.md`)
      return { ...world, files: { ...world.files, list: async () => order([...fillers, 'fine.symbi']) } }
    }
    for (const order of [(names: string[]) => names, (names: string[]) => names.toReversed()]) {
      expect((await read(folder, listed(order))).files).toEqual([
        { file: 'fine.symbi', leftOut: expect.stringContaining('has 1025 entries'), declares: ['fine'] },
      ])
    }
  })

  test('leaves out the file that makes more than 16 MiB of it, and keeps what still fits', async () => {
    const folder = agentsFolder()
    folder.write('0.symbi', 'agent first {}')
    for (let at = 10; at < 26; at += 1) folder.write(`a${at}.symbi`, ' '.repeat(1024 * 1024))
    folder.write('a25.symbi', `agent late {}${' '.repeat(1024 * 1024 - 13)}`)
    const registry = buildRegistry(await read(folder))
    expect(registry.targets.map(({ name }) => name)).toEqual(['fine', 'first'])
    for (const name of ['late', 'a25']) {
      expect(reasonOf(registry, name)).toMatch(
        /^agents\/a25\.symbi: .*\(REGISTRY_LIMIT\).* 16777230 bytes and 16777216 are/,
      )
    }
    expect(reasonOf(registry, 'a24')).toBe('agents/a24.symbi: it declares no agent')
  })

  test('and is too large to be looked through has no certain name, so that none can be used', async () => {
    const folder = agentsFolder()
    for (let at = 10; at < 42; at += 1) folder.write(`a${at}.symbi`, ' '.repeat(1024 * 1024))
    const read32 = await read(folder)
    expect(read32.unread).toContain('33554432 bytes')
    const registry = buildRegistry(read32)
    expect([registry.targets, registry.problem?.code]).toEqual([[], 'REGISTRY_LIMIT'])
    for (const name of ['a10', 'fine', 'anybody']) expect(reasonOf(registry, name)).toMatch(/REGISTRY_LIMIT.*no name/)
  })

  test('and has more than 8,192 files of agents is not looked through', async () => {
    const folder = agentsFolder()
    const names = Array.from({ length: 8192 }, (_, at) => `a${at}.symbi`)
    const eyes = {
      ...world,
      files: { ...world.files, list: async () => [...names, 'fine.symbi'], open: async () => null },
    }
    const found = await read(folder, eyes)
    expect([found.files.length, found.unread]).toEqual([8192, expect.stringContaining('more than 8192 files')])
    expect(buildRegistry(found).targets).toEqual([])
  })
})

test('1,024 entries are read', async () => {
  const folder = agentsFolder()
  for (let at = 0; at < 1_023; at += 1) folder.write(`a${at}.md`, '')
  expect((await read(folder)).files).toHaveLength(1)
})

test.each<[string, (path: string) => void]>([
  ['a link', (path) => symlinkSync(places.folder(), path)],
  ['a file', (path) => writeFileSync(path, '')],
])('a folder of agents that is %s is refused as a whole', async (_, make) => {
  const path = join(places.folder(), 'agents')
  make(path)
  await expect(readAgentFolder(world, path)).rejects.toMatchObject({ code: 'STORAGE_UNSAFE' })
})

test('a folder of agents that everybody may write to is refused as a whole', async () => {
  const folder = agentsFolder()
  chmodSync(folder.path, 0o777)
  await expect(read(folder)).rejects.toMatchObject({ code: 'STORAGE_UNSAFE', message: expect.stringContaining('0777') })
})

test('a folder that is replaced while it is read is refused as a whole', async () => {
  const folder = agentsFolder()
  const replace = (): void => {
    renameSync(folder.path, `${folder.path}.old`)
    mkdirSync(folder.path)
  }
  const eyes = faultyWorld(world, [{ on: 'open', path: 'fine.symbi', before: replace }])
  await expect(read(folder, eyes)).rejects.toMatchObject({ message: expect.stringContaining('it was replaced') })
})

test('what is edited after the registry was made has no effect on it [X1]', async () => {
  const folder = agentsFolder()
  const registry = buildRegistry(await read(folder))
  const before = registry.resolve('fine')
  folder.write('fine.symbi', 'agent fine { policy open { allow: true } }')
  folder.write('late.symbi', 'agent late {}')
  expect(registry.resolve('fine')).toEqual(before)
  expect(before).toMatchObject({ kind: 'Target', target: { declaration: 'agent fine {}' } })
  expect(registry.resolve('late').kind).toBe('Unknown')
})
