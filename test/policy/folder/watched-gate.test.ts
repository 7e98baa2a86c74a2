import { appendFile, chmod, mkdir, rename, rm } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { timestampOf } from '../../../src/core/index.ts'
import { CedarEngine } from '../../../src/policy/cedar/cedar-engine.ts'
import { type PolicyNews, type WatchedGate, watchedGate } from '../../../src/policy/index.ts'
import { nodeWorld } from '../../../src/world/index.ts'
import { bareQuestion, decide, PolicyFolder, RESPOND, toolQuestion } from '../support.ts'

const world = nodeWorld()
const permitTool = (name: string): string => `permit(principal, action == Action::"tool_call::${name}", resource);`

async function watch(folder: PolicyFolder): Promise<{ gate: WatchedGate; news: PolicyNews[] }> {
  const news: PolicyNews[] = []
  const gate = await watchedGate(world, {
    folder: folder.path,
    surface: 'coordinator',
    report: (item) => void news.push(item),
  })
  return { gate, news }
}

const kindOf = async (gate: WatchedGate, tool: string): Promise<string> => (await decide(gate, toolQuestion(tool))).kind
const replies = async (gate: WatchedGate): Promise<string> => (await decide(gate, bareQuestion(RESPOND))).kind

test('an edit in place, a new file, a removed file and a replaced file are in force at the next decision', async () => {
  await using folder = await PolicyFolder.make({ 'a.cedar': permitTool('a') })
  const { gate, news } = await watch(folder)
  expect([await kindOf(gate, 'a'), await kindOf(gate, 'b')]).toEqual(['Allow', 'Deny'])
  await appendFile(folder.at('a.cedar'), permitTool('b'))
  expect([await kindOf(gate, 'a'), await kindOf(gate, 'b')]).toEqual(['Allow', 'Allow'])
  await folder.write('coordinator/c.cedar', permitTool('c'))
  expect(await kindOf(gate, 'c')).toBe('Allow')
  await rm(folder.at('a.cedar'))
  expect([await kindOf(gate, 'a'), await kindOf(gate, 'c')]).toEqual(['Deny', 'Allow'])
  await folder.write('d.txt', permitTool('d'))
  await rename(folder.at('d.txt'), folder.at('coordinator/c.cedar'))
  expect([await kindOf(gate, 'c'), await kindOf(gate, 'd')]).toEqual(['Deny', 'Allow'])
  expect(news.map(({ kind }) => kind)).toEqual(Array(5).fill('Loaded'))
  expect(news[1]).toMatchObject({ policies: 2, files: ['a.cedar'] })
})

describe('where all writes carry the same stamp', () => {
  /** A World whose file stamps stand still, as they do for writes within one tick of the kernel. */
  function tickless(onRead: () => Promise<void> = async () => undefined) {
    const files = nodeWorld().files
    const now = timestampOf(1_700_000_000_000_000)
    const stamp = 1_700_000_000_000_000_000n
    return {
      ...world,
      clock: { ...world.clock, wall: () => now },
      files: {
        ...files,
        factsNow: (path: string) => {
          const facts = files.factsNow(path)
          return facts === null ? null : { ...facts, modifiedNs: stamp, changedNs: stamp }
        },
        open: async (path: string, how: 'read' | 'append' | 'lock') => {
          const file = await files.open(path, how)
          if (file === null) return null
          const readAll = async (bytesMax: number): Promise<Uint8Array> => {
            const bytes = await file.readAll(bytesMax)
            await onRead()
            return bytes
          }
          return { ...file, readAll, [Symbol.asyncDispose]: () => file.close() }
        },
      },
    }
  }
  const options = (folder: PolicyFolder) => ({ folder: folder.path, surface: 'run', report: () => undefined })

  test('an edit of the same length is in force at the next decision', async () => {
    await using folder = await PolicyFolder.make({ 'a.cedar': permitTool('a') })
    const gate = await watchedGate(tickless(), options(folder))
    await folder.write('a.cedar', permitTool('b'))
    expect([await kindOf(gate, 'a'), await kindOf(gate, 'b')]).toEqual(['Deny', 'Allow'])
  })

  test('a decision does not trust a reading that began before it was asked', async () => {
    await using folder = await PolicyFolder.make({ 'a.cedar': permitTool('a') })
    let hold: Promise<void> | null = null
    let reached = (): void => undefined
    const gate = await watchedGate(
      tickless(async () => {
        reached()
        if (hold !== null) await hold
      }),
      options(folder),
    )
    let letGo = (): void => undefined
    hold = new Promise((resolve) => {
      letGo = resolve
    })
    const reading = new Promise<void>((resolve) => {
      reached = resolve
    })
    const early = kindOf(gate, 'a')
    await reading // the early question has read the old text, and is held
    await folder.write('a.cedar', permitTool('b'))
    const late = kindOf(gate, 'b')
    hold = null
    letGo()
    expect([await early, await late]).toEqual(['Allow', 'Allow'])
  })
})

test('an unchanged folder is not read again once its stamps have settled', async () => {
  await using folder = await PolicyFolder.make({ 'a.cedar': permitTool('a') })
  let lists = 0
  let stats = 0
  const files = nodeWorld().files
  const counting = {
    ...world,
    // A clock that is a second ahead: the stamps of the files are settled at the first look.
    clock: {
      ...world.clock,
      wall: () => new Date(Date.now() + 1000).toISOString() as ReturnType<typeof world.clock.wall>,
    },
    files: {
      ...files,
      list: (path: string) => {
        lists += 1
        return files.list(path)
      },
      factsNow: (path: string) => {
        stats += 1
        return files.factsNow(path)
      },
    },
  }
  const gate = await watchedGate(counting, { folder: folder.path, surface: 'coordinator', report: () => undefined })
  const [listsBefore, statsBefore] = [lists, stats]
  for (let round = 0; round < 10; round += 1) expect(await kindOf(gate, 'a')).toBe('Allow')
  expect(lists - listsBefore).toBe(0)
  expect(stats - statsBefore).toBe(30) // two folders and one file, ten times
})

describe('a bad folder', () => {
  test('at the start denies everything, until it is mended', async () => {
    await using folder = await PolicyFolder.make({ 'a.cedar': 'nonsense' })
    const { gate, news } = await watch(folder)
    expect([await kindOf(gate, 'a'), await replies(gate), gate.current]).toEqual(['Deny', 'Deny', 'deny-everything'])
    await folder.write('a.cedar', permitTool('a'))
    expect([await kindOf(gate, 'a'), gate.current]).toEqual(['Allow', 'cedar'])
    expect(news.map(({ kind }) => kind)).toEqual(['Refused', 'Loaded'])
  })

  test('after a good start changes nothing, and is reported once for each change', async () => {
    await using folder = await PolicyFolder.make({ 'a.cedar': permitTool('a') })
    const { gate, news } = await watch(folder)
    await folder.write('b.cedar', 'nonsense')
    for (let round = 0; round < 5; round += 1) {
      expect([await kindOf(gate, 'a'), await kindOf(gate, 'b')]).toEqual(['Allow', 'Deny'])
    }
    expect(news.map(({ kind }) => kind)).toEqual(['Loaded', 'Kept'])
    expect(news[1]).toMatchObject({
      problem: { code: 'POLICY_INVALID', message: expect.stringContaining('b.cedar:1:9') },
    })
    await folder.write('b.cedar', 'other nonsense')
    await kindOf(gate, 'a')
    await kindOf(gate, 'a')
    expect(news.map(({ kind }) => kind)).toEqual(['Loaded', 'Kept', 'Kept'])
    await folder.write('b.cedar', permitTool('b'))
    expect([await kindOf(gate, 'a'), await kindOf(gate, 'b')]).toEqual(['Allow', 'Allow'])
  })

  test.each<[string, (folder: PolicyFolder) => Promise<unknown>]>([
    ['a folder in the place of a file', (folder) => mkdir(folder.at('b.cedar'))],
    ['a text that would kill the engine', (folder) => folder.write('b.cedar', '('.repeat(5000))],
    ['an empty list', (folder) => folder.write('b.cedar', '[]')],
  ])('%s after a good start changes nothing', async (_, spoil) => {
    await using folder = await PolicyFolder.make({ 'a.cedar': permitTool('a') })
    const { gate, news } = await watch(folder)
    await spoil(folder)
    expect([await kindOf(gate, 'a'), await replies(gate)]).toEqual(['Allow', 'Deny'])
    expect(news.at(-1)?.kind).toBe('Kept')
  })

  test('a folder whose files may not be read any more keeps the old policies, and recovers', async () => {
    await using folder = await PolicyFolder.make({ 'a.cedar': permitTool('a') })
    const files = nodeWorld().files
    const { Fault } = await import('../../../src/core/index.ts')
    let locked = false
    const moody = {
      ...world,
      files: {
        ...files,
        list: async (path: string) => {
          if (locked)
            throw new Fault('STORAGE_FAILED', {
              message: 'Cannot use storage: the system answered EACCES',
              facts: { errno: 'EACCES' },
            })
          return files.list(path)
        },
      },
    }
    const news: PolicyNews[] = []
    const gate = await watchedGate(moody, {
      folder: folder.path,
      surface: 'run',
      report: (item) => void news.push(item),
    })
    locked = true
    await chmod(folder.path, 0o755) // a real chmod changes the mark in the same way
    expect(await kindOf(gate, 'a')).toBe('Allow')
    locked = false
    await chmod(folder.path, 0o700)
    await folder.write('a.cedar', permitTool('b'))
    expect(await kindOf(gate, 'b')).toBe('Allow')
    expect(news.map(({ kind }) => kind)).toEqual(['Loaded', 'Kept', 'Loaded'])
  })
})

test('a change that could not be read at once is in force as soon as it can, though nothing changes any more', async () => {
  await using folder = await PolicyFolder.make({ 'a.cedar': permitTool('a') })
  const files = nodeWorld().files
  const { Fault } = await import('../../../src/core/index.ts')
  let failures = 0
  const later = timestampOf((Date.now() + 3_600_000) * 1000) // all stamps have settled long ago
  const moody = {
    ...world,
    clock: { ...world.clock, wall: () => later },
    files: {
      ...files,
      list: async (path: string) => {
        failures -= 1
        if (failures >= 0)
          throw new Fault('STORAGE_FAILED', { message: 'Cannot use storage: EIO', facts: { errno: 'EIO' } })
        return files.list(path)
      },
    },
  }
  const news: PolicyNews[] = []
  const options = { folder: folder.path, surface: 'run', report: (item: PolicyNews) => void news.push(item) }
  const gate = await watchedGate(moody, options)
  await folder.write('a.cedar', permitTool('b'))
  failures = 1
  expect(await kindOf(gate, 'a')).toBe('Allow')
  expect(await kindOf(gate, 'a')).toBe('Deny')
  expect(await kindOf(gate, 'b')).toBe('Allow')
  failures = 1
  const other = await watchedGate(moody, options)
  expect(await kindOf(other, 'b')).toBe('Allow')
  expect(news.map(({ kind }) => kind)).toEqual(['Loaded', 'Kept', 'Loaded', 'Refused', 'Loaded'])
})

describe('policies that disappear', () => {
  test('deny everything, replies included, until they are back', async () => {
    await using folder = await PolicyFolder.make({
      'a.cedar': `${permitTool('a')} permit(principal, action == Action::"respond", resource);`,
    })
    const { gate, news } = await watch(folder)
    expect(await replies(gate)).toBe('Allow')
    await rename(folder.path, `${folder.path}-gone`)
    expect([await kindOf(gate, 'a'), await replies(gate)]).toEqual(['Deny', 'Deny'])
    await rename(`${folder.path}-gone`, folder.path)
    expect([await kindOf(gate, 'a'), await replies(gate)]).toEqual(['Allow', 'Allow'])
    expect(news.map(({ kind }) => kind)).toEqual(['Loaded', 'Emptied', 'Loaded'])
  })

  test('are not missed where there were none: that is the fail-closed default, and policies may come', async () => {
    await using folder = await PolicyFolder.make()
    const { gate, news } = await watch(folder)
    expect([await kindOf(gate, 'a'), await replies(gate), gate.current]).toEqual(['Deny', 'Allow', 'fail-closed'])
    await folder.write('a.cedar', permitTool('a'))
    expect([await kindOf(gate, 'a'), await replies(gate)]).toEqual(['Allow', 'Deny'])
    expect(news.map(({ kind }) => kind)).toEqual(['Loaded', 'Loaded'])
  })
})

test('many decisions at once share one reading, and all see the change', async () => {
  await using folder = await PolicyFolder.make({ 'a.cedar': permitTool('a') })
  const { gate, news } = await watch(folder)
  await folder.write('a.cedar', permitTool('b'))
  const kinds = await Promise.all(Array.from({ length: 50 }, () => kindOf(gate, 'b')))
  expect(kinds).toEqual(Array(50).fill('Allow'))
  expect(news).toHaveLength(2)
})

test('a hundred changes use no more prepared sets than one', async () => {
  await using folder = await PolicyFolder.make({ 'a.cedar': permitTool('t0') })
  const engine = new CedarEngine()
  const gate = await watchedGate(world, { folder: folder.path, surface: 'run', report: () => undefined, engine })
  for (let version = 1; version <= 100; version += 1) {
    await folder.write('a.cedar', permitTool(`t${version}`))
    expect([await kindOf(gate, `t${version}`), await kindOf(gate, `t${version - 1}`)]).toEqual(['Allow', 'Deny'])
  }
  expect(engine.slotCount).toBe(2)
  gate[Symbol.dispose]()
  expect(await replies(gate)).toBe('Deny')
})

test('a question that was cancelled while the folder was read is denied, and so is its preview', async () => {
  await using folder = await PolicyFolder.make({ 'a.cedar': permitTool('a') })
  const { gate } = await watch(folder)
  const cancelled = { kind: 'Deny', reason: 'the question was cancelled before policy answered' }
  expect(await gate.decide(toolQuestion('a'), AbortSignal.abort())).toMatchObject(cancelled)
  expect(await gate.preview?.(toolQuestion('a'), AbortSignal.abort())).toMatchObject(cancelled)
  expect(await gate.preview?.(toolQuestion('a'), new AbortController().signal)).toMatchObject({ kind: 'Allow' })
})

test('where policy is switched off, the folder is not read at all, and every action warns', async () => {
  await using folder = await PolicyFolder.make({ 'bad.cedar': 'nonsense' })
  const warnings: string[] = []
  const news: PolicyNews[] = []
  const gate = await watchedGate(world, {
    folder: folder.path,
    surface: 'run',
    report: (item) => void news.push(item),
    insecureAllowAll: { warn: (message) => void warnings.push(message) },
  })
  expect([await kindOf(gate, 'a'), await kindOf(gate, 'b'), gate.current]).toEqual(['Allow', 'Allow', 'permissive'])
  expect([warnings.length, news.length]).toEqual([2, 0])
})
