/**
 * A disk that fails at each stage of a chat: before the claim and while it is made, at the intent, at the receipt, at the
 * terminal record, at the result. Whatever the stage: no success that was not recorded, no effect without its intent, no
 * second effect under one id, and the next server on the project tells the truth.
 */
import { randomUUID } from 'node:crypto'
import { closeSync, openSync, rmSync, statSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { ServerMessage } from '../../src/coordinator/index.ts'
import type { RunId } from '../../src/core/index.ts'
import type { AuditReference } from '../../src/events/index.ts'
import { verifyRunPrefix } from '../../src/journal/index.ts'
import { openSigningKey } from '../../src/journal/signing-key-file.ts'
import { listGate, recordedTool, type TemporaryProject, temporaryProject } from '../../src/testing/index.ts'
import { nodeWorld } from '../../src/world/index.ts'
import type { ChatClient } from '../support/coordinator-fixture.ts'
import { faultyWorld, type Trouble } from '../support/faulty-world.ts'
import { callOf, modelOf } from '../support/scripted-model.ts'
import { type Served, served } from '../support/served.ts'
import { tinyDisk, whyNoTinyDisk } from '../support/tiny-disk.ts'

/** Asks for one effect, then answers. `meanwhile` happens before each answer of the model. */
const model = (meanwhile: (inference: number) => void = () => undefined) =>
  modelOf(async ({ messages }) => {
    const done = messages.some(({ role }) => role === 'tool')
    meanwhile(done ? 2 : 1)
    return done ? { content: 'it is done' } : callOf('call-1', 'transfer', { note: 'x'.repeat(6000) })
  })
const gate = listGate({ allow: ['transfer', 'respond'] })

interface Outcome {
  /** What the client of the failing server was told last. */
  readonly final: ServerMessage
  readonly audit: AuditReference | null
  readonly effects: number
  /** What the next server says about the id, and again when the message is sent a second time. */
  readonly later: ServerMessage
  readonly effectsLater: number
}

type Stage = {
  readonly name: string
  readonly trouble: Omit<Trouble, 'errno'>
  /** The effect of the first attempt. */
  readonly effects: 0 | 1
  readonly told: readonly string[]
  readonly later: readonly string[]
}

const CLAIM = '/.symbiont/invocations/'
const JOURNAL = '/.symbiont/governed/'
const UNAVAILABLE = ['AUDIT_UNAVAILABLE']
const UNRESOLVED = ['INVOCATION_UNRESOLVED']
/** The run ended well, and its result could not be written: that is said, and is no success. */
const UNRECORDED = ['LOOP_ERROR']

const STAGES: readonly Stage[] = [
  {
    name: 'before the claim: its lock',
    trouble: { on: 'tryLock', path: 'store.lock' },
    effects: 0,
    told: UNAVAILABLE,
    later: ['fresh'],
  },
  {
    name: 'before the claim: its file',
    trouble: { on: 'create', path: CLAIM, nth: 2 },
    effects: 0,
    told: UNAVAILABLE,
    later: ['fresh'],
  },
  {
    name: 'in the claim: its first line',
    trouble: { on: 'append', path: CLAIM, nth: 1 },
    effects: 0,
    told: UNAVAILABLE,
    later: UNRESOLVED,
  },
  {
    name: 'in the claim: half of its first line',
    trouble: { on: 'append', path: CLAIM, nth: 1, shortBytes: 20 },
    effects: 0,
    told: UNAVAILABLE,
    later: UNRESOLVED,
  },
  {
    name: 'in the claim: the name of its file',
    trouble: { on: 'syncDirectory', path: 'invocations' },
    effects: 0,
    told: UNAVAILABLE,
    later: UNRESOLVED,
  },
  {
    name: 'in the claim: the journal',
    trouble: { on: 'create', path: JOURNAL },
    effects: 0,
    told: UNAVAILABLE,
    later: UNRESOLVED,
  },
  {
    name: 'in the claim: the line that names the journal',
    trouble: { on: 'append', path: CLAIM, nth: 2 },
    effects: 0,
    told: UNAVAILABLE,
    later: UNRESOLVED,
  },
  {
    name: 'in the claim: its sync',
    trouble: { on: 'syncData', path: CLAIM },
    effects: 0,
    told: UNAVAILABLE,
    later: UNRESOLVED,
  },
  {
    name: 'at the start',
    trouble: { on: 'append', path: JOURNAL, nth: 1 },
    effects: 0,
    told: UNRESOLVED,
    later: UNRESOLVED,
  },
  {
    name: 'at the start, in its sync',
    trouble: { on: 'syncData', path: JOURNAL, nth: 1 },
    effects: 0,
    told: UNRESOLVED,
    later: UNRESOLVED,
  },
  {
    name: 'at the intent',
    trouble: { on: 'append', path: JOURNAL, nth: 2 },
    effects: 0,
    told: UNRESOLVED,
    later: UNRESOLVED,
  },
  {
    name: 'at the intent, in the middle of it',
    trouble: { on: 'append', path: JOURNAL, nth: 2, shortBytes: 333 },
    effects: 0,
    told: UNRESOLVED,
    later: UNRESOLVED,
  },
  {
    name: 'at the intent, in its sync',
    trouble: { on: 'syncData', path: JOURNAL, nth: 2 },
    effects: 0,
    told: UNRESOLVED,
    later: UNRESOLVED,
  },
  {
    name: 'at the receipt',
    trouble: { on: 'append', path: JOURNAL, nth: 3 },
    effects: 1,
    told: UNRESOLVED,
    later: UNRESOLVED,
  },
  {
    name: 'at the receipt, in the middle of it',
    trouble: { on: 'append', path: JOURNAL, nth: 3, shortBytes: 333 },
    effects: 1,
    told: UNRESOLVED,
    later: UNRESOLVED,
  },
  {
    name: 'at the receipt, in its sync',
    trouble: { on: 'syncData', path: JOURNAL, nth: 3 },
    effects: 1,
    told: UNRESOLVED,
    later: UNRESOLVED,
  },
  {
    name: 'at the terminal record',
    trouble: { on: 'append', path: JOURNAL, nth: 4 },
    effects: 1,
    told: UNRESOLVED,
    later: UNRESOLVED,
  },
  {
    name: 'at the terminal record, in its sync',
    trouble: { on: 'syncData', path: JOURNAL, nth: 4 },
    effects: 1,
    told: UNRESOLVED,
    later: UNRESOLVED,
  },
  {
    name: 'at the result',
    trouble: { on: 'append', path: CLAIM, nth: 3 },
    effects: 1,
    told: UNRECORDED,
    later: UNRESOLVED,
  },
  {
    name: 'at the result, in the middle of it',
    trouble: { on: 'append', path: CLAIM, nth: 3, shortBytes: 40 },
    effects: 1,
    told: UNRECORDED,
    later: UNRESOLVED,
  },
  {
    name: 'at the result, in its sync',
    trouble: { on: 'syncData', path: CLAIM, nth: 2 },
    effects: 1,
    told: UNRECORDED,
    later: [...UNRESOLVED, 'ChatChunk'],
  },
]

describe.each(['ENOSPC', 'EROFS'])('a disk that answers %s', (errno) => {
  test.each(STAGES)('$name', async ({ trouble, effects, told, later }) => {
    using project = temporaryProject()
    const outcome = await chatOn(project, { ...trouble, errno })
    expect(told).toContain(kindOf(outcome.final))
    expect(outcome.effects).toBe(effects)
    expect(later).toContain(kindOf(outcome.later))
    expect(outcome.effectsLater).toBe(1 - (later.includes('fresh') ? 0 : 1 - effects))
  })
})

function kindOf(message: ServerMessage): string {
  if (message.type === 'Error') return message.code
  return message.type === 'ChatChunk' && !message.replayed ? 'fresh' : message.type
}

/** One chat on a disk that will fail, the end of that server, and the same id on a disk that is well. */
async function chatOn(project: TemporaryProject, trouble: Trouble): Promise<Outcome> {
  const world = faultyWorld(nodeWorld())
  const transfer = recordedTool('transfer')
  const parts = { project, tools: [transfer], gate, withKey: false }
  const id = randomUUID()
  await openSigningKey(nodeWorld(), join(project.path, '.symbiont', 'governed')) // as a project has it after its first chat
  let final: ServerMessage
  let audit: AuditReference | null
  {
    await using home = await served({ ...parts, provider: model(), world })
    world.add(trouble)
    ;({ final, audit } = await ask(home, id))
    expect(JSON.stringify(final)).not.toContain(project.path)
    await home.service.close({ drainMs: 0 })
    expect(home.runtime.coordinator.holders).toBe(0)
  }
  const effects = transfer.ran.length
  await using next = await served({ ...parts, provider: model() })
  const client = await next.connect()
  client.inspect(id, 'do it')
  const inspected = await lastOf(client)
  client.chat(id, 'do it')
  const later = await lastOf(client)
  if (!(inspected.type === 'Error' && inspected.code === 'INVOCATION_NOT_FOUND')) expect(later).toEqual(inspected)
  if (audit !== null) await expectTruth(project, audit, transfer.ran.length)
  client.chat(randomUUID(), 'do it') // the project goes on
  expect(await client.final()).toMatchObject({ type: 'ChatChunk', content: 'it is done' })
  await client.close()
  return { final, audit, effects, later, effectsLater: transfer.ran.length - 1 }
}

async function ask(home: Served, id: string): Promise<{ final: ServerMessage; audit: AuditReference | null }> {
  const client = await home.connect()
  client.chat(id, 'do it')
  const first = await client.next()
  const audit = first.type === 'AuditOpened' ? first.audit : null
  const final = audit === null ? first : await client.final()
  await client.close()
  return { final, audit }
}

async function lastOf(client: ChatClient): Promise<ServerMessage> {
  const message = await client.next()
  return message.type === 'AuditOpened' ? await client.final() : message
}

/** The journal verifies as a prefix, and holds an intent for each effect. An empty one says that nothing began. */
async function expectTruth(project: TemporaryProject, audit: AuditReference, effects: number): Promise<void> {
  if (statSync(audit.path).size === 0) return expect(effects).toBe(0)
  const key = await openSigningKey(nodeWorld(), join(project.path, '.symbiont', 'governed'))
  const { entries } = await verifyRunPrefix(nodeWorld(), audit.path, key.publicKey, audit.run_id as RunId)
  const intents = entries.filter(({ event }) => event.kind === 'ToolDispatchStarted').length
  expect(intents).toBeGreaterThanOrEqual(effects)
}

describe.skipIf(whyNoTinyDisk() !== null)(`a real disk (${whyNoTinyDisk() ?? 'mounted'})`, () => {
  /** Takes every page that is left, and gives them back. */
  function filler(disk: string): { fill(): void; empty(): void } {
    const path = join(disk, 'filler')
    return {
      fill: () => {
        const file = openSync(path, 'a')
        try {
          for (;;) writeSync(file, Buffer.alloc(4096))
        } catch (error) {
          expect(error).toMatchObject({ code: 'ENOSPC' })
        } finally {
          closeSync(file)
        }
      },
      empty: () => rmSync(path),
    }
  }

  test.each([
    ['before the claim', 0, 0],
    ['during the first inference, before the intent', 1, 0],
    ['during the second inference, after the receipt', 2, 1],
  ] as const)('that is full %s', async (_name, at, effects) => {
    using disk = tinyDisk(512)
    const { fill, empty } = filler(disk.path)
    const project = { path: disk.path, policy: () => undefined } as unknown as TemporaryProject
    const transfer = recordedTool('transfer')
    let isFull = false
    const provider = model((inference) => {
      if (inference === at && !isFull) fill()
      isFull ||= inference === at
    })
    await using home = await served({ project, provider, tools: [transfer], gate, withKey: false })
    if (at === 0) {
      expect((await ask(home, randomUUID())).final).toMatchObject({ type: 'ChatChunk' }) // makes the folders
      fill()
    }
    const before = transfer.ran.length
    const id = randomUUID()
    const { final } = await ask(home, id)
    expect(transfer.ran.length - before).toBe(effects)
    if (at === 0) {
      expect(final).toMatchObject({ type: 'Error', code: 'AUDIT_UNAVAILABLE' })
      expect(final.type === 'Error' && final.message).toMatch(/no room/)
    } else expect(kindOf(final)).toBe('INVOCATION_UNRESOLVED')
    empty()
    const again = await ask(home, id)
    expect(transfer.ran.length - before).toBe(effects) // a claim that lost its disk never runs
    expect(kindOf(again.final)).toBe('INVOCATION_UNRESOLVED')
    expect((await ask(home, randomUUID())).final).toMatchObject({ type: 'ChatChunk' })
  })

  test('that is read-only starts no server, and what was recorded on it can be verified', async () => {
    using disk = tinyDisk(512)
    const project = { path: disk.path, policy: () => undefined } as unknown as TemporaryProject
    const transfer = recordedTool('transfer')
    const asked = model()
    const parts = { project, provider: asked, tools: [transfer], gate, withKey: false }
    const home = await served(parts)
    const { final, audit } = await ask(home, randomUUID())
    expect(final).toMatchObject({ type: 'ChatChunk' })
    await home.finish()
    disk.remountReadOnly()
    await expect(served(parts)).rejects.toMatchObject({ code: 'STORAGE_FAILED', facts: { errno: 'EROFS' } })
    expect(asked.asked).toHaveLength(2)
    expect(transfer.ran).toHaveLength(1)
    expect((await home.entries(audit as AuditReference)).at(-1)?.event.kind).toBe('Terminated')
  })
})
