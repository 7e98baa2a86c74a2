/**
 * One whole chat message: claim, journal, one tool call, reply, recorded result. Its floor makes the very same files with
 * the very same bytes and syncs, signs as often, and asks Cedar as often; nothing is read or checked.
 */
import { generateKeyPairSync, sign } from 'node:crypto'
import { closeSync, fsync, openSync } from 'node:fs'
import { join } from 'node:path'
import { assert, newId } from '../src/core/index.ts'
import { openRuntime, type Runtime } from '../src/runtime/index.ts'
import { nodeWorld, type World } from '../src/world/index.ts'
import { type Bench, type Context, freshFolder } from './bench.ts'
import { countingWorld, type DiskUse } from './counting-world.ts'
import { hash, openFloorFile, preparedCedar, syncData, WRITES_SYNC, writeAll } from './floor.ts'
import { chatProject } from './project.ts'
import { type Result, resultOf } from './result.ts'
import { compare, median, timed } from './rounds.ts'
import { record } from './script.ts'
import { chatModel } from './workload.ts'

export const chatMessage: Bench = { name: 'chat message', measure }

async function measure(context: Context): Promise<readonly Result[]> {
  const counted = countingWorld(nodeWorld())
  const uses = await usesOfOneMessage(context, counted)
  const { questions } = await cedarQuestions()
  const { privateKey } = generateKeyPairSync('ed25519')
  const folder = freshFolder(context, 'chat-floor')
  const messages = context.quick ? 1 : 20
  await using runtime = await openChat(context, nodeWorld())
  const ours = async (): Promise<number> => {
    const spent: number[] = []
    for (let message = 0; message < messages; message += 1) spent.push((await timed(() => ask(runtime))).wallMs)
    return median(spent)
  }
  const bare = async (): Promise<number> => {
    const spent: number[] = []
    for (let message = 0; message < messages; message += 1) {
      const at = `${folder}/${newId('run', counted.random)}`
      spent.push((await timed(() => replay(uses, at, folder, privateKey, questions))).wallMs)
    }
    return median(spent)
  }
  const compared = await compare(context, ours, bare)
  return [
    resultOf({ name: 'chat message, one tool call', ...compared, unit: 'ms' }),
    resultOf({
      name: 'chat message, syncs',
      value: uses.filter(({ kind }) => kind.startsWith('sync')).length,
      unit: 'syncs',
    }),
  ]
}

async function openChat(context: Context, world: World): Promise<Runtime> {
  return await openRuntime({ project: chatProject(freshFolder(context, 'chat')), provider: chatModel(), world })
}

async function ask(runtime: Runtime): Promise<void> {
  const { content } = await runtime.ask('Inspect system health')
  assert(content === 'All is well.', 'a measured message is answered')
}

/** The second message of a project: the first one also makes its folders and its key. */
async function usesOfOneMessage(
  context: Context,
  world: ReturnType<typeof countingWorld>,
): Promise<readonly DiskUse[]> {
  await using runtime = await openChat(context, world)
  await ask(runtime)
  world.uses.length = 0
  await ask(runtime)
  return [...world.uses]
}

async function cedarQuestions(): Promise<{ questions: (() => void)[] }> {
  const script = await record((work, log) => work.run(log, 1))
  const cedar = preparedCedar(script)
  const questions = script.steps.flatMap((step) => step.questions)
  return {
    questions: questions.map(
      (question) => () => void cedar.statefulIsAuthorized({ ...question, preparsedPolicySetId: 'floor' }),
    ),
  }
}

async function replay(
  uses: readonly DiskUse[],
  at: string,
  folder: string,
  key: Parameters<typeof sign>[2],
  questions: readonly (() => void)[],
): Promise<void> {
  const fds = new Map<number, number>()
  const synced = new Set<number>() // files whose writes are durable, where the system does that in one call
  for (const question of questions) question()
  for (const use of uses) {
    if (use.kind === 'syncDirectory') await syncFolder(folder)
    else {
      const path = `${at}-${use.file}`
      const isSynced = use.kind === 'create' && use.synced && WRITES_SYNC
      if (isSynced) synced.add(use.file)
      const fd = fds.get(use.file) ?? (isSynced ? openFloorFile(path) : openSync(path, 'ax', 0o600))
      fds.set(use.file, fd)
      if (use.kind === 'append') {
        for (const line of linesOf(use.bytes)) {
          hash(line)
          if (line.includes('"signature":')) sign(null, line, key)
        }
        await writeAll(fd, Buffer.from(use.bytes))
      } else if (use.kind === 'syncData' && !synced.has(use.file)) await syncData(fd)
      else if (use.kind === 'syncAll') await syncAll(fd)
    }
  }
  for (const fd of fds.values()) closeSync(fd)
}

function linesOf(bytes: Uint8Array): readonly Buffer[] {
  return Buffer.from(bytes)
    .toString('utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => Buffer.from(line))
}

async function syncFolder(folder: string): Promise<void> {
  const fd = openSync(join(folder), 'r')
  await syncAll(fd)
  closeSync(fd)
}

function syncAll(fd: number): Promise<void> {
  return new Promise((resolve, reject) => {
    fsync(fd, (error) => (error === null ? resolve() : reject(error)))
  })
}
