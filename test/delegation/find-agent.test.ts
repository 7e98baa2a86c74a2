import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type FoundSource, findAgentSource } from '../../src/delegation/index.ts'
import { nodeWorld, type World } from '../../src/world/index.ts'
import { scratch } from '../support/scratch.ts'

const places = scratch()
const world = nodeWorld()

/** A project with these files, each declaring an agent that is called for its file. */
function projectWith(...files: readonly string[]): string {
  const root = places.folder()
  mkdirSync(join(root, 'agents'))
  for (const file of files) writeFileSync(join(root, file), textOf(file))
  return root
}

const textOf = (file: string): string => `agent in_${file.replace(/\W/g, '_')} {}\n`
const find = (root: string, name: string, eyes = world): Promise<FoundSource> => findAgentSource(eyes, root, name)

const IN_ORDER = ['x', 'x.symbi', 'x.dsl', 'agents/x', 'agents/x.symbi', 'agents/x.dsl']

test.each(IN_ORDER.map((file, at) => [file, IN_ORDER.slice(at)] as const))(
  'a name is looked up in one order, here down to %s',
  async (file, there) => {
    const found = await find(projectWith(...there, 'agents/other.symbi'), 'x')
    expect(found).toEqual({ file, text: textOf(file), selector: 'x' })
  },
)

test('a name that ends in an agent extension is taken as it is, and under agents', async () => {
  const root = projectWith('agents/x.symbi', 'agents/x.symbi.symbi', 'x.symbi.dsl')
  expect(await find(root, 'x.symbi')).toMatchObject({ file: 'agents/x.symbi', selector: 'x' })
})

test('a path is relative to the current folder, and an absolute one is what it says', async () => {
  const root = projectWith('desk.symbi')
  const elsewhere = projectWith()
  const path = join(root, 'desk.symbi')
  expect(await find(elsewhere, path)).toMatchObject({ file: path, text: textOf('desk.symbi'), selector: 'desk' })
  const typed = relative(process.cwd(), path)
  expect(await find(elsewhere, typed)).toMatchObject({ file: typed, text: textOf('desk.symbi') })
  expect(await find(elsewhere, typed.replace(/\.symbi$/, ''))).toMatchObject({ file: typed })
})

test('a path that somebody typed may be a link; a file that is found in agents may not', async () => {
  const root = projectWith('real.symbi')
  symlinkSync(join(root, 'real.symbi'), join(root, 'agents', 'linked.symbi'))
  expect(await find(root, join(root, 'agents', 'linked.symbi'))).toMatchObject({ text: textOf('real.symbi') })
  await expect(find(root, 'linked')).rejects.toMatchObject({
    code: 'AGENT_UNAVAILABLE',
    message: expect.stringContaining('agents/linked.symbi: the name is a symbolic link'),
  })
})

test('a folder of agents that is a link is not looked into', async () => {
  const root = places.folder()
  symlinkSync(join(projectWith('agents/x.symbi'), 'agents'), join(root, 'agents'))
  await expect(find(root, 'x')).rejects.toMatchObject({ code: 'STORAGE_UNSAFE' })
})

test('a folder with the name of an agent does not stand in its way', async () => {
  const root = projectWith('agents/x.dsl')
  mkdirSync(join(root, 'x'))
  mkdirSync(join(root, 'agents', 'x.symbi'))
  expect(await find(root, 'x')).toMatchObject({ file: 'agents/x.dsl' })
})

test('a declared name is found whatever its file is called', async () => {
  const root = projectWith()
  writeFileSync(join(root, 'agents', 'desk.symbi'), 'agent reader {}\nagent writer {}\n')
  expect(await find(root, 'writer')).toMatchObject({ file: 'agents/desk.symbi', selector: 'writer' })
})

test('a declared name that two files have is ambiguous', async () => {
  const root = projectWith()
  for (const file of ['a', 'b']) writeFileSync(join(root, 'agents', `${file}.symbi`), 'agent twin {}')
  await expect(find(root, 'twin')).rejects.toMatchObject({
    code: 'AGENT_AMBIGUOUS',
    hint: 'Name one of the files: agents/a.symbi, agents/b.symbi',
  })
})

test('a name that nobody has lists what the project declares, and says that files could not be read', async () => {
  const root = projectWith('agents/one.symbi', 'agents/two.dsl')
  writeFileSync(join(root, 'agents', 'bad.symbi'), Uint8Array.of(0xff))
  await expect(find(root, 'three')).rejects.toMatchObject({
    code: 'AGENT_UNKNOWN',
    hint: 'The project declares: in_agents_one_symbi, in_agents_two_dsl. 1 of its files cannot be read; "symbi doctor" says why',
  })
})

test.each(['../x', 'no/such/x.symbi', 'x'.repeat(5000), '', '.', '..', '/', 'agents'])(
  'the name %j is unknown and not a failure of the system',
  async (name) => {
    await expect(find(projectWith('agents/y.symbi'), name)).rejects.toMatchObject({ code: 'AGENT_UNKNOWN' })
  },
)

test.each([
  ['no text', Uint8Array.of(0x61, 0xff), /x\.symbi:1:2: E102/],
  ['too long', new Uint8Array(1024 * 1024 + 1), /1048577 bytes/],
])('a file that is %s is refused, wherever it is', async (_, bytes, reason) => {
  const root = projectWith()
  writeFileSync(join(root, 'agents', 'x.symbi'), bytes)
  for (const name of ['x', join(root, 'agents', 'x.symbi')]) {
    const refusal = expect.objectContaining({ code: 'AGENT_UNAVAILABLE', message: expect.stringMatching(reason) })
    await expect(find(root, name)).rejects.toEqual(refusal)
  }
})

describe('a folder with too many entries', () => {
  /** Sees so many notes before the files of the folder that none of them fits any more, but `!first.symbi`. */
  const crowded: World = {
    ...world,
    files: {
      ...world.files,
      list: async (path) => [
        ...Array.from({ length: 1023 }, (_, at) => `"${at}.md`),
        ...((await world.files.list(path)) ?? []),
      ],
    },
  }

  test.each([
    ['its file', 'late'],
    ['its file with the ending', 'late.symbi'],
    ['its declaration', 'in_agents_late_symbi'],
  ])('leaves an agent out under the name of %s, and says why and what to do', async (_, name) => {
    const root = projectWith('agents/!first.symbi', 'agents/late.symbi')
    await expect(find(root, name, crowded)).rejects.toMatchObject({
      code: 'AGENT_UNAVAILABLE',
      message: expect.stringMatching(
        /: agents\/late\.symbi: .*\(REGISTRY_LIMIT\): .* 1025 entries and the first 1024 by name/,
      ),
      hint: expect.stringMatching(/^Move .*; or name the file by its path$/),
    })
    expect(await find(root, 'in_agents__first_symbi', crowded)).toMatchObject({ file: 'agents/!first.symbi' })
    const path = join(root, 'agents', 'late.symbi')
    expect(await find(root, path, crowded)).toMatchObject({ text: textOf('agents/late.symbi') })
  })

  test('makes no name clear that is not clear without it', async () => {
    const root = projectWith()
    for (const file of ['!first', 'late']) writeFileSync(join(root, 'agents', `${file}.symbi`), 'agent twin {}')
    await expect(find(root, 'twin', crowded)).rejects.toMatchObject({ code: 'AGENT_AMBIGUOUS' })
  })

  test('of which not all could be looked through has no name that is certain', async () => {
    const root = projectWith('agents/one.symbi', 'agents/~late.symbi')
    const names = Array.from({ length: 8192 }, (_, at) => `a${at}.symbi`)
    const list = async (): Promise<string[]> => [...names, 'one.symbi', '~late.symbi']
    const open: World['files']['open'] = async (path, how) =>
      /a\d+\.symbi$/.test(path) ? null : await world.files.open(path, how)
    const eyes = { ...world, files: { ...world.files, list, open } }
    for (const name of ['one', '~late', 'nobody']) {
      await expect(find(root, name, eyes)).rejects.toMatchObject({
        code: 'AGENT_UNAVAILABLE',
        message: expect.stringContaining('(REGISTRY_LIMIT): it has more than 8192 files'),
      })
    }
    expect(await find(root, join(root, 'agents', 'one.symbi'), eyes)).toMatchObject({ selector: 'one' })
  })
})
