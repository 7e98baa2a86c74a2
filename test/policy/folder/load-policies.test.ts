import { chmod, mkdir, symlink } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { Fault } from '../../../src/core/index.ts'
import { CedarEngine } from '../../../src/policy/cedar/cedar-engine.ts'
import { readPolicyFolder } from '../../../src/policy/folder/policy-folder.ts'
import { cedarGate, loadPolicies, readPolicyFile } from '../../../src/policy/index.ts'
import { nodeWorld } from '../../../src/world/index.ts'
import { bareQuestion, decide, PolicyFolder, RESPOND, toolQuestion } from '../support.ts'

const world = nodeWorld()
const PERMIT_ALL = 'permit(principal, action, resource);'
const permitTool = (name: string): string => `permit(principal, action == Action::"tool_call::${name}", resource);`
const load = (folder: PolicyFolder, surface = 'coordinator') => loadPolicies(world, { folder: folder.path, surface })
const isRoot = process.geteuid?.() === 0

test('shared policies hold for every surface, and a surface’s own only for it', async () => {
  await using folder = await PolicyFolder.make({
    'default.cedar': permitTool('shared'),
    'coordinator/default.cedar': permitTool('chat'),
    'run/default.cedar': permitTool('run'),
    'notes.txt': 'not policy',
  })
  const { gate } = await load(folder)
  expect(await decide(gate, toolQuestion('shared'))).toEqual({ kind: 'Allow', policies: ['default'] })
  expect(await decide(gate, toolQuestion('chat'))).toEqual({ kind: 'Allow', policies: ['coordinator/default'] })
  expect((await decide(gate, toolQuestion('run'))).kind).toBe('Deny')
  expect((await decide((await load(folder, 'run')).gate, toolQuestion('run'))).kind).toBe('Allow')
})

test('names come from the file, the position in it, or the @id annotation', async () => {
  await using folder = await PolicyFolder.make({
    'tools.cedar': `${permitTool('a')}\n// second\n${permitTool('b')}\n@id("named") ${permitTool('c')}\n${Array.from({ length: 9 }, (_, index) => permitTool(`x${index}`)).join('\n')}`,
  })
  const { gate } = await load(folder)
  const names = await Promise.all(
    ['a', 'b', 'c', 'x0', 'x8'].map(async (tool) => (await decide(gate, toolQuestion(tool))).policies),
  )
  expect(names).toEqual([['tools'], ['tools#2'], ['named'], ['tools#4'], ['tools#12']])
})

test('a JSON file brings entries, active and inactive', async () => {
  const entries = [
    { name: 'on', source: permitTool('on'), active: true },
    { name: 'off', source: 'nonsense', active: false },
  ]
  await using folder = await PolicyFolder.make({
    'bundle.cedar': `\n${JSON.stringify(entries)}`,
    'run/b.cedar': JSON.stringify(entries),
  })
  const { gate } = await load(folder)
  expect(await decide(gate, toolQuestion('on'))).toEqual({ kind: 'Allow', policies: ['on'] })
  expect(await decide((await load(folder, 'run')).gate, toolQuestion('on'))).toEqual({
    kind: 'Allow',
    policies: ['on', 'run/on'],
  })
})

describe('the ladder', () => {
  test('no folder, and a folder without policies: the fail-closed default', async () => {
    await using folder = await PolicyFolder.make({ 'notes.txt': 'x' })
    for (const path of [folder.path, folder.at('missing')]) {
      const { gate, problem } = await loadPolicies(world, { folder: path, surface: 'run' })
      expect([gate.name, problem]).toEqual(['fail-closed', null])
    }
  })

  test('any file, even one that holds only comments: Cedar with default deny, replies included', async () => {
    await using folder = await PolicyFolder.make({ 'empty.cedar': '// permit(principal, action, resource);\n' })
    const { gate } = await load(folder)
    expect(gate.name).toBe('cedar')
    expect((await decide(gate, bareQuestion(RESPOND))).kind).toBe('Deny')
  })

  test('the insecure opt-in: permissive, whatever the folder holds', async () => {
    await using folder = await PolicyFolder.make({ 'bad.cedar': 'nonsense' })
    const warnings: string[] = []
    const insecureAllowAll = { warn: (message: string) => void warnings.push(message) }
    const { gate } = await loadPolicies(world, { folder: folder.path, surface: 'run', insecureAllowAll })
    expect((await decide(gate, toolQuestion('rm'))).kind).toBe('Allow')
    expect(warnings).toHaveLength(1)
  })
})

describe('what cannot be used denies everything, replies included', () => {
  const bad: Record<string, (folder: PolicyFolder) => Promise<unknown>> = {
    'a syntax error': (folder) => folder.write('bad.cedar', 'permit(principal, action'),
    'an invalid policy in a surface file': (folder) =>
      folder.write('coordinator/bad.cedar', 'allow(principal, action, resource);'),
    'bytes that are not UTF-8': (folder) => folder.write('bad.cedar', Uint8Array.of(0x2f, 0x2f, 0xff, 0xfe)),
    'a byte order mark': (folder) => folder.write('bad.cedar', `\ufeff${PERMIT_ALL}`),
    'an empty list of entries': (folder) => folder.write('bad.cedar', '[]'),
    'an entry without a source': (folder) => folder.write('bad.cedar', '[{"name":"x","active":true}]'),
    'an entry with an unknown member': (folder) =>
      folder.write('bad.cedar', `[{"name":"x","source":"","active":true,"effect":1}]`),
    'JSON with a repeated member': (folder) =>
      folder.write('bad.cedar', '[{"name":"x","name":"y","source":"","active":true}]'),
    'an invalid active entry': (folder) =>
      folder.write('bad.cedar', '[{"name":"x","source":"nonsense","active":true}]'),
    'two policies with one name': (folder) => folder.write('again.cedar', `@id("good") ${PERMIT_ALL}`),
    'a link that leads nowhere': (folder) => symlink('/nonexistent/policy', folder.at('dangling.cedar')),
    'a link that leads to itself': (folder) => symlink(folder.at('loop.cedar'), folder.at('loop.cedar')),
    'a folder with the name of a file': (folder) => mkdir(folder.at('folder.cedar')),
    'a link to a folder': (folder) => symlink('/tmp', folder.at('folder.cedar')),
    'a surface folder that leads nowhere': (folder) => symlink('/nonexistent/folder', folder.at('coordinator')),
    'a surface folder that is a file': (folder) => folder.write('coordinator', 'x'),
    'a file beyond 1 MiB': (folder) => folder.write('bad.cedar', `// ${'x'.repeat(1024 * 1024)}`),
    'text that nests too deeply': (folder) =>
      folder.write(
        'bad.cedar',
        `permit(principal, action, resource) when { ${'('.repeat(200)}true${')'.repeat(200)} };`,
      ),
  }
  test.each(Object.entries(bad))('%s', async (_, spoil) => {
    await using folder = await PolicyFolder.make({ 'good.cedar': PERMIT_ALL })
    expect((await load(folder)).problem).toBeNull()
    await spoil(folder)
    const { gate, problem } = await load(folder)
    expect(problem?.code).toMatch(/^POLICY_(?:UNREADABLE|INVALID)$/)
    expect(problem?.message).not.toContain(folder.path)
    expect(await decide(gate, bareQuestion(RESPOND))).toMatchObject({
      kind: 'Deny',
      reason: 'the policies cannot be used, so no action is allowed',
      errors: [problem?.message],
    })
    expect((await decide(gate, toolQuestion('t'))).kind).toBe('Deny')
  })

  test.each(['', '.', '..', 'a/b', 'a\\b', '../policies', 'a\0b'])('the surface name %j', async (surface) => {
    await using folder = await PolicyFolder.make({ 'good.cedar': PERMIT_ALL })
    const { gate, problem } = await load(folder, surface)
    expect(problem).toMatchObject({ code: 'POLICY_UNREADABLE' })
    expect((await decide(gate, bareQuestion(RESPOND))).kind).toBe('Deny')
  })

  test.skipIf(isRoot)('a file and a folder that may not be read', async () => {
    await using folder = await PolicyFolder.make({ 'good.cedar': PERMIT_ALL })
    await chmod(folder.at('good.cedar'), 0)
    expect((await load(folder)).problem?.code).toBe('POLICY_UNREADABLE')
    await chmod(folder.path, 0)
    expect((await load(folder)).problem?.code).toBe('POLICY_UNREADABLE')
  })
})

test('a file that the system refuses to open denies everything, and its path stays here', async () => {
  await using folder = await PolicyFolder.make({ 'good.cedar': PERMIT_ALL })
  const refuses = async () => {
    throw new Fault('STORAGE_FAILED', {
      message: 'Cannot use storage: the system answered EACCES',
      facts: { errno: 'EACCES' },
    })
  }
  const { problem } = await loadPolicies(
    { ...world, files: { ...world.files, open: refuses } },
    { folder: folder.path, surface: 'run' },
  )
  expect(problem).toMatchObject({
    code: 'POLICY_UNREADABLE',
    message: expect.stringMatching(/"good.cedar": .*EACCES$/),
  })
})

test('a gate is reloaded from one file, and a bad or missing file changes nothing', async () => {
  await using folder = await PolicyFolder.make({
    'a.cedar': permitTool('a'),
    'bad.cedar': 'nonsense',
    'list.cedar': '[]',
  })
  using gate = cedarGate({ policies: [], default: 'deny' })
  await gate.reload(() => readPolicyFile(world, folder.at('a.cedar'), 'a.cedar'))
  expect(await decide(gate, toolQuestion('a'))).toEqual({ kind: 'Allow', policies: ['a'] })
  for (const name of ['bad.cedar', 'list.cedar', 'missing.cedar']) {
    await expect(gate.reload(() => readPolicyFile(world, folder.at(name), name))).rejects.toThrow(
      /^Cannot (?:use|read) the polic/,
    )
    expect((await decide(gate, toolQuestion('a'))).kind).toBe('Allow')
  }
})

test('links that lead to files are followed, as mounted configuration needs it', async () => {
  await using folder = await PolicyFolder.make({ '..data/real.txt': permitTool('mounted') })
  await symlink(folder.at('..data/real.txt'), folder.at('mounted.cedar'))
  expect(await decide((await load(folder)).gate, toolQuestion('mounted'))).toEqual({
    kind: 'Allow',
    policies: ['mounted'],
  })
})

test('a folder that changes while it is read is read again, so that halves of two versions never mix', async () => {
  await using folder = await PolicyFolder.make({ 'a.cedar': permitTool('old'), 'b.cedar': permitTool('b') })
  const files = nodeWorld().files
  let reads = 0
  const racing = {
    ...world,
    files: {
      ...files,
      open: async (path: string, how: 'read' | 'append' | 'lock') => {
        reads += 1
        const handle = await files.open(path, how)
        if (reads === 2) await folder.write('a.cedar', permitTool('changed'))
        return handle
      },
    },
  }
  const { gate } = await loadPolicies(racing, { folder: folder.path, surface: 'run' })
  expect((await decide(gate, toolQuestion('changed'))).kind).toBe('Allow')
  expect((await decide(gate, toolQuestion('old'))).kind).toBe('Deny')
  expect(reads).toBe(4)
})

test('a folder that never stands still denies everything, and is not read for ever', async () => {
  await using folder = await PolicyFolder.make({ 'a.cedar': PERMIT_ALL })
  const { files } = world
  let looks = 0
  let reads = 0
  const restless = {
    ...world,
    files: {
      ...files,
      factsNow: (path: string) => {
        const facts = files.factsNow(path)
        looks += 1
        return facts === null ? null : { ...facts, size: looks }
      },
      open: async (path: string, how: 'read' | 'append' | 'lock') => {
        reads += 1
        return await files.open(path, how)
      },
    },
  }
  const { gate, problem } = await loadPolicies(restless, { folder: folder.path, surface: 'run' })
  expect(problem).toMatchObject({ code: 'POLICY_UNREADABLE', message: expect.stringContaining('changes while') })
  expect((await decide(gate, bareQuestion(RESPOND))).kind).toBe('Deny')
  expect(reads).toBe(3)
})

test('a file that goes away between its name and its text denies everything', async () => {
  await using folder = await PolicyFolder.make({ 'a.cedar': PERMIT_ALL })
  const gone = { ...world, files: { ...world.files, open: async () => null } }
  const { problem } = await loadPolicies(gone, { folder: folder.path, surface: 'run' })
  expect(problem?.message).toContain('"a.cedar" went away while it was read')
})

test('a folder of too many files denies everything, and 1024 are not too many', async () => {
  await using folder = await PolicyFolder.make({ 'a.cedar': PERMIT_ALL })
  const names = (count: number) => Array.from({ length: count }, () => 'a.cedar')
  const problemOf = async (count: number) => {
    const crowded = { ...world, files: { ...world.files, list: async () => names(count) } }
    return (await readPolicyFolder(crowded, folder.path, null)).kind
  }
  expect([await problemOf(1024), await problemOf(1025)]).toEqual(['Found', 'Bad'])
})

test('a file whose whole name is the ending is an entry with that name', async () => {
  await using folder = await PolicyFolder.make({ '.cedar': permitTool('a'), 'run/.cedar': permitTool('b') })
  const { gate } = await load(folder, 'run')
  expect(await decide(gate, toolQuestion('a'))).toEqual({ kind: 'Allow', policies: ['.cedar'] })
  expect(await decide(gate, toolQuestion('b'))).toEqual({ kind: 'Allow', policies: ['run/.cedar'] })
})

test('the gate asks the engine that it was given', async () => {
  await using folder = await PolicyFolder.make({ 'a.cedar': permitTool('a') })
  const engine = new CedarEngine()
  const { gate } = await loadPolicies(world, { folder: folder.path, surface: 'run', engine })
  expect((await decide(gate, toolQuestion('a'))).kind).toBe('Allow')
  expect(engine.slotCount).toBeGreaterThan(0)
})
