/** A small life of the real runtime on a real disk, watched by all laws: what they ask for is what the runtime does. */
import { readdirSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { digest, type Json, newId } from '../../../../src/core/index.ts'
import type { Conversation, InferenceOptions, Provider } from '../../../../src/providers/index.ts'
import { openRuntime } from '../../../../src/runtime/index.ts'
import { temporaryProject } from '../../../../src/testing/index.ts'
import { lawsOf } from '../../../../src/testing/simulation/laws/all.ts'
import type { DiskView } from '../../../../src/testing/simulation/laws/law.ts'
import type { Seen } from '../../../../src/testing/simulation/laws/seen.ts'
import { nodeWorld } from '../../../../src/world/index.ts'
import { callOf, modelOf } from '../../../support/scripted-model.ts'
import { toolOf } from '../../../support/tools.ts'

const world = nodeWorld()
const never = new AbortController().signal

/** On a disk that never fails, what is visible is durable as far as an observer can tell. */
const disk: DiskView = {
  durable: (path) => fileOrNull(path),
  visible: (path) => fileOrNull(path),
  durableNames: (folder) => namesIn(folder),
  visibleNames: (folder) => namesIn(folder),
}

function fileOrNull(path: string): Uint8Array | null {
  try {
    return readFileSync(path)
  } catch {
    return null
  }
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

test('a chat with a delegation, a session, a call with an id and a failing tool break no law', async () => {
  const project = temporaryProject({
    policies: { default: 'permit(principal, action, resource);' },
    agents: { reviewer: 'agent reviewer { }', clerk: 'agent clerk { }' },
  })
  onTestFinished(() => project[Symbol.dispose]())
  const laws = lawsOf({
    project: project.path,
    allows: (tool) => tool === 'pay',
    needsApproval: () => false,
    requestOf: (token) => token.split('/')[0] ?? null,
    bootMayFail: () => false,
  })
  const seen: Seen[] = []
  const complaints: (string | null)[] = []
  const see = (event: Seen): void => {
    seen.push(event)
    for (const law of laws) complaints.push(law.watch?.(event, disk) ?? null)
  }

  let effects = 0
  const pay = toolOf('pay', async (args) => {
    effects += 1
    const effect = effects
    const token = String(args.token)
    see({ kind: 'EffectBegan', life: 1, effect, tool: 'pay', token, args })
    see({ kind: 'EffectHappened', effect })
    const bad = token.includes('bad')
    see({ kind: 'EffectAnswered', effect, answer: bad ? 'error' : 'done', late: false })
    return bad ? { content: 'it broke', is_error: true } : `did ${token}`
  })
  const provider = watched(
    modelOf(
      callOf('c1', 'delegate', { agent: 'reviewer', task: 'look at r1' }),
      { content: 'the review is fine' },
      callOf('c2', 'pay', { token: 'r1/a' }),
      { content: 'all is fine' },
      callOf('c3', 'pay', { token: 'r2/bad' }),
    ),
    see,
  )
  const runtime = await openRuntime({ project: project.path, provider, tools: [pay] })
  see({ kind: 'Booted', life: 1 })

  const id = newId('invocation', world.random)
  see({ kind: 'Asked', client: 'c1', surface: 'chat', id, request: 'r1', token: null })
  const { content, audit } = await runtime.ask('do r1', { id })
  see({ kind: 'Told', client: 'c1', surface: 'chat', id, answer: { kind: 'Opened', journal: basename(audit.path) } })
  see({ kind: 'Told', client: 'c1', surface: 'chat', id, answer: { kind: 'Done', content, replayed: false } })

  const other = newId('invocation', world.random)
  see({ kind: 'Asked', client: 'c2', surface: 'chat', id: other, request: 'r2', token: null })
  await expect(runtime.ask('do r2', { id: other })).rejects.toMatchObject({ code: 'INVOCATION_UNRESOLVED' })
  const unresolved = { kind: 'Unknown', code: 'INVOCATION_UNRESOLVED' } as const
  see({ kind: 'Told', client: 'c2', surface: 'chat', id: other, answer: unresolved })

  const target = runtime.agents.targets.find(({ name }) => name === 'clerk')
  if (target === undefined) throw new Error('the runtime found the agent')
  const session = await runtime.openToolSession(target, { only: ['pay'] }, never)
  see({ kind: 'Asked', client: 'c3', surface: 'mcp', id: null, request: 'r3', token: 'r3/a' })
  const plain = await session.call({ call_id: 'm1', name: 'pay', arguments: { token: 'r3/a' } }, never)
  const done = { kind: 'Done', content: plain.content, replayed: false } as const
  see({ kind: 'Told', client: 'c3', surface: 'mcp', id: null, answer: done, token: 'r3/a' })
  const callId = newId('invocation', world.random)
  const identity = { id: callId, caller: digest('c3') }
  see({ kind: 'Asked', client: 'c3', surface: 'identified', id: callId, request: 'r4', token: 'r4/a' })
  const call = { call_id: 'm2', name: 'pay', arguments: { token: 'r4/a' } }
  const once = await session.callOnce(call, identity, never)
  if (once.kind !== 'Recorded') throw new Error(`recorded, and not ${once.kind}`)
  const recorded = { kind: 'Done', content: once.observation.content, replayed: false } as const
  see({ kind: 'Told', client: 'c3', surface: 'identified', id: callId, answer: recorded })
  await session.close()
  await runtime[Symbol.asyncDispose]()
  see({ kind: 'Closed', life: 1, held: {} })
  see({ kind: 'Settled', surface: 'chat', id, request: 'r1', answer: { kind: 'Done', content, replayed: true } })
  see({ kind: 'Settled', surface: 'chat', id: other, request: 'r2', answer: unresolved })
  see({ kind: 'Settled', surface: 'identified', id: callId, request: 'r4', answer: { ...recorded, replayed: true } })

  const life = { seen, disk, project: project.path, publicKey: audit.public_key }
  for (const law of laws) complaints.push((await law.settle?.(life)) ?? null)
  expect(complaints.filter((what) => what !== null)).toEqual([])
  expect(seen.filter(({ kind }) => kind === 'EffectBegan')).toHaveLength(4)
  expect(seen.filter(({ kind }) => kind === 'InferenceBegan')).toHaveLength(5)
})

/** A model that says what it is asked. What it is asked to count is what was hashed; later the options may have been cut. */
function watched(model: Provider, see: (event: Seen) => void): Provider {
  const hashes = new WeakMap<Conversation, string>()
  let inferences = 0
  return {
    ...model,
    countInput: (conversation: Conversation, options: InferenceOptions) => {
      hashes.set(conversation, digest({ conversation, options } as unknown as Json))
      return model.countInput(conversation, options)
    },
    complete: async (conversation, options, signal) => {
      inferences += 1
      const inference = inferences
      const requestHash = hashes.get(conversation)
      if (requestHash === undefined) throw new Error('a request is counted before it is made')
      const text = JSON.stringify(conversation)
      const subject =
        text.includes('look at r1') && !text.includes('do r1') ? 'r1/child' : (/do (r\d)/.exec(text)?.[1] ?? 'nobody')
      see({ kind: 'InferenceBegan', life: 1, inference, subject, requestHash })
      const reply = await model.complete(conversation, options, signal)
      const { total_tokens } = reply.usage
      see({ kind: 'InferenceEnded', inference, used: total_tokens, told: total_tokens })
      return reply
    },
  }
}
