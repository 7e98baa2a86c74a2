import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { defaultContract } from '../../src/calls/index.ts'
import { digest } from '../../src/core/index.ts'
import { parsePublicKey, runsOf, treeHolds, verifyTree } from '../../src/journal/index.ts'
import { ApprovalQueue } from '../../src/policy/index.ts'
import type { Tool } from '../../src/runtime/index.ts'
import { recordedTool, type TemporaryProject } from '../../src/testing/index.ts'
import { nodeWorld } from '../../src/world/index.ts'
import { type Brokered, brokered, projectOf, type ToolAnswer, textOf } from '../support/mcp-client.ts'

let project: TemporaryProject
beforeAll(() => {
  project = projectOf()
})
afterAll(() => project[Symbol.dispose]())

let ids = 0
/** An id that no other test uses. */
const freshId = (): string => {
  ids += 1
  return `00000000-0000-4000-8000-${String(ids).padStart(12, '0')}`
}

const counter = () => {
  let count = 0
  return recordedTool('count', {
    answer: async () => {
      count += 1
      return `number ${count}`
    },
  })
}

async function say(broker: Brokered, id: string | number, args: object, meta: object): Promise<ToolAnswer> {
  broker.raw.call(id, 'count', args, meta)
  return await broker.raw.result(id)
}

describe('a call with an id of its caller', () => {
  test('is made once, and asked again gives what was recorded, also in another session', async () => {
    const count = counter()
    const meta = { 'symbi/invocationId': freshId() }
    await using broker = await brokered({ tools: [count], project })
    await broker.raw.greet()
    const first = await say(broker, 1, { a: 1 }, meta)
    expect([textOf(first), first._meta?.['symbi/replayed']]).toEqual(['number 1', false])
    const again = await say(broker, 2, { a: 1 }, meta)
    expect([textOf(again), again._meta?.['symbi/replayed']]).toEqual(['number 1', true])
    await using later = await brokered({ tools: [count], project })
    await later.raw.greet()
    expect((await say(later, 1, { a: 1 }, meta))._meta).toEqual({ ...first._meta, 'symbi/replayed': true })
    expect(count.ran).toHaveLength(1)
  })

  test('gives what was recorded also in a session that does not have its tool, and is unknown there under a fresh id', async () => {
    const meta = { 'symbi/invocationId': freshId() }
    await using broker = await brokered({ tools: [counter()], project })
    await broker.raw.greet()
    const first = await say(broker, 1, { a: 1 }, meta)
    await using later = await brokered({ tools: [recordedTool('other')], project })
    await later.raw.greet()
    const again = await say(later, 1, { a: 1 }, meta)
    expect([textOf(again), again._meta]).toEqual([textOf(first), { ...first._meta, 'symbi/replayed': true }])
    for (const asked of [1, 2]) {
      const unknown = await say(
        later,
        1 + asked,
        { a: 2 },
        { 'symbi/invocationId': '00000000-0000-4000-8000-00000000fade' },
      )
      expect(unknown.structuredContent).toMatchObject({ code: 'TOOL_UNKNOWN' })
    }
  })

  test('is refused under the same id with other arguments, and to another caller', async () => {
    const count = counter()
    const meta = { 'symbi/invocationId': freshId() }
    await using broker = await brokered({ tools: [count], project })
    await broker.raw.greet()
    await say(broker, 1, { a: 1 }, meta)
    expect((await say(broker, 2, { a: 2 }, meta)).structuredContent).toMatchObject({ code: 'INVOCATION_CONFLICT' })
    await using other = await brokered({ tools: [count], project, caller: digest('another caller') })
    await other.raw.greet()
    expect((await say(other, 1, { a: 1 }, meta)).structuredContent).toMatchObject({ code: 'INVOCATION_CONFLICT' })
    expect(count.ran).toHaveLength(1)
  })

  test('is a run of its own that an auditor finds behind the session', async () => {
    await using broker = await brokered({ tools: [counter()], project })
    await broker.raw.greet()
    const { _meta: meta } = await say(broker, 1, {}, { 'symbi/invocationId': freshId() })
    expect(await broker.hangUp()).toBeNull()
    const kinds = await broker.kinds()
    expect(kinds).toEqual(['Started', 'DelegationStarted', 'DelegationFinished', 'Terminated'])
    const { run_id, public_key, path } = broker.session.audit
    const tree = await verifyTree(nodeWorld(), { path, runId: run_id, key: parsePublicKey(public_key) })
    expect(treeHolds(tree)).toBe(true)
    expect(runsOf(tree.root).map(({ node }) => node.run_id)).toEqual([run_id, meta?.['symbi/run']])
  })
})

describe('ids that agent CLIs send by themselves', () => {
  test('name one call inside their session, and another one in another session', async () => {
    const count = counter()
    const meta = { 'claudecode/toolUseId': 'toolu_01A09q90qw90lq917835lq9' }
    await using broker = await brokered({ tools: [count], project })
    await broker.raw.greet()
    expect(textOf(await say(broker, 1, {}, meta))).toBe('number 1')
    expect(textOf(await say(broker, 2, {}, meta))).toBe('number 1')
    await using other = await brokered({ tools: [count], project })
    await other.raw.greet()
    expect(textOf(await say(other, 1, {}, meta))).toBe('number 2')
    expect(count.ran).toHaveLength(2)
  })

  test.each([
    { callId: '1' },
    { callId: 7 },
    { callId: '' },
    { 'claudecode/toolUseId': null },
    { callId: 'has a space in it, see' },
  ])('are passed over where they cannot be unique: %j', async (meta) => {
    const count = counter()
    await using broker = await brokered({ tools: [count], project })
    await broker.raw.greet()
    for (const id of [1, 2]) expect(textOf(await say(broker, id, {}, meta))).toBe(`number ${id}`)
    expect((await say(broker, 3, {}, meta))._meta).toBeUndefined()
  })
})

test('a call that was held under an id is made under a new one, once it was approved', async () => {
  await using queue = await ApprovalQueue.open(nodeWorld(), join(project.path, '.symbiont', 'approvals'))
  const count = counter()
  const tool: Tool = { ...count, contract: { ...defaultContract(count.definition), requires_approval: true } }
  await using broker = await brokered({ tools: [tool], project, queue, held: queue })
  await broker.raw.greet()
  const first = { 'symbi/invocationId': freshId() }
  const held = await say(broker, 1, { a: 1 }, first)
  expect(held.structuredContent).toMatchObject({ status: 'pending' })
  expect(textOf(held)).toContain('under a new invocation id')
  const handle = String(held.structuredContent?.approval_id)
  await queue.resolve(handle, { decision: 'approve' }, { surface: 'rest', id: 'key:admin', display: 'admin' })
  const approved = { 'symbi/approval': handle }
  expect((await say(broker, 2, { a: 1 }, { ...first, ...approved })).structuredContent).toMatchObject({
    status: 'pending',
  })
  expect(textOf(await say(broker, 3, { a: 1 }, { 'symbi/invocationId': freshId(), ...approved }))).toBe('number 1')
  expect(count.ran).toHaveLength(1)
})
