import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { defaultContract } from '../../src/calls/index.ts'
import { ApprovalQueue, type Approver } from '../../src/policy/index.ts'
import type { Tool } from '../../src/runtime/index.ts'
import { type RecordedTool, recordedTool } from '../../src/testing/index.ts'
import { nodeWorld } from '../../src/world/index.ts'
import { type TemporaryFolder, temporaryFolder } from '../support/folder.ts'
import { type Brokered, brokered, expectAccounted, type ToolAnswer, textOf } from '../support/mcp-client.ts'

const PERSON: Approver = { surface: 'rest', id: 'key:admin', display: 'admin' }

let folder: TemporaryFolder
let queue: ApprovalQueue
beforeAll(async () => {
  folder = await temporaryFolder()
  queue = await ApprovalQueue.open(nodeWorld(), join(folder.path, 'approvals'))
})
afterAll(async () => {
  await queue[Symbol.asyncDispose]()
  await folder[Symbol.asyncDispose]()
})

/** A broker whose tool "pay" needs an approval. */
async function careful(): Promise<Brokered & { readonly pay: RecordedTool }> {
  const pay = recordedTool('pay')
  const tool: Tool = { ...pay, contract: { ...defaultContract(pay.definition), requires_approval: true } }
  const client = { transport: 'http', key_id: 'desk' }
  const broker = await brokered({ tools: [tool], queue, held: queue, client })
  await broker.raw.greet()
  return { ...broker, pay }
}

async function hold(broker: Brokered, id: string, args: object): Promise<string> {
  broker.raw.call(id, 'pay', args)
  const { structuredContent } = await broker.raw.result(id)
  expect(structuredContent).toMatchObject({ status: 'pending', code: 'APPROVAL_PENDING' })
  return String(structuredContent?.approval_id)
}

const codeOf = ({ structuredContent }: ToolAnswer): unknown => structuredContent?.code

describe('a held call', () => {
  test('is answered at once with a handle, is no success, and takes no effect', async () => {
    await using broker = await careful()
    broker.raw.call(1, 'pay', { amount: 3 })
    const result = await broker.raw.result(1)
    expect(result.isError).toBe(true)
    expect(textOf(result)).toContain('APPROVAL_PENDING: not executed')
    expect(result.structuredContent).toEqual({
      status: 'pending',
      code: 'APPROVAL_PENDING',
      approval_id: expect.stringMatching(/^[0-9a-f]{16}$/),
      expires_at: expect.any(String),
    })
    expect(queue.list().at(-1)?.asked_by).toEqual({ agent: 'clerk', transport: 'http', key_id: 'desk' })
    expect(broker.pay.ran).toEqual([])
  })

  test('is made once it was approved and comes back with its handle, and only once', async () => {
    await using broker = await careful()
    const approval_id = await hold(broker, 'a', { amount: 3 })
    broker.raw.call('b', 'approval_status', { approval_id })
    expect((await broker.raw.result('b')).structuredContent).toMatchObject({ status: 'pending', approval_id })
    broker.raw.call('c', 'call_with_approval', { approval_id, name: 'pay', arguments: { amount: 3 } })
    expect(codeOf(await broker.raw.result('c'))).toBe('APPROVAL_PENDING') // nobody decided yet
    await queue.resolve(approval_id, { decision: 'approve' }, PERSON)
    broker.raw.call('d', 'approval_status', { approval_id })
    expect((await broker.raw.result('d')).structuredContent).toMatchObject({ status: 'approved' })
    broker.raw.call('e', 'call_with_approval', { approval_id, name: 'pay', arguments: { amount: 3 } })
    expect((await broker.raw.result('e')).isError).toBe(false)
    broker.raw.call('f', 'call_with_approval', { approval_id, name: 'pay', arguments: { amount: 3 } })
    expect((await broker.raw.result('f')).structuredContent).toMatchObject({
      code: 'POLICY_DENIED',
      message: 'the approval was used already',
      hint: expect.stringMatching(/An approval is good once.* make the call without the approval_id$/),
    })
    broker.raw.call('g', 'approval_status', { approval_id })
    expect((await broker.raw.result('g')).structuredContent).toMatchObject({ status: 'used', approval_id })
    expect(broker.pay.ran).toEqual([{ amount: 3 }])
    expect(await broker.hangUp()).toBeNull()
    expectAccounted(await broker.entries(), 1)
  })

  test('may bring its handle in _meta as well', async () => {
    await using broker = await careful()
    const handle = await hold(broker, 'a', { amount: 4 })
    await queue.resolve(handle, { decision: 'approve' }, PERSON)
    broker.raw.call('b', 'pay', { amount: 4 }, { 'symbi/approval': handle })
    expect((await broker.raw.result('b')).isError).toBe(false)
    expect(broker.pay.ran).toEqual([{ amount: 4 }])
  })

  test('cannot come back as another call: neither with other arguments nor as another tool', async () => {
    await using broker = await careful()
    const approval_id = await hold(broker, 'a', { amount: 5 })
    await queue.resolve(approval_id, { decision: 'approve' }, PERSON)
    broker.raw.call('b', 'call_with_approval', { approval_id, name: 'pay', arguments: { amount: 5000 } })
    expect(textOf(await broker.raw.result('b'))).toContain('the approval handle is for another call')
    broker.raw.call('c', 'call_with_approval', { approval_id, name: 'call_with_approval', arguments: { amount: 5 } })
    expect(codeOf(await broker.raw.result('c'))).toBe('TOOL_UNKNOWN')
    expect(broker.pay.ran).toEqual([])
  })

  test('that was denied stays so, and says so', async () => {
    await using broker = await careful()
    const approval_id = await hold(broker, 'a', { amount: 6 })
    await queue.resolve(approval_id, { decision: 'deny', reason: 'too much' }, PERSON)
    broker.raw.call('b', 'approval_status', { approval_id })
    expect((await broker.raw.result('b')).structuredContent).toMatchObject({ status: 'denied' })
    broker.raw.call('c', 'call_with_approval', { approval_id, name: 'pay', arguments: { amount: 6 } })
    expect(codeOf(await broker.raw.result('c'))).toBe('POLICY_DENIED')
    expect(broker.pay.ran).toEqual([])
  })

  test('is nothing to another session, even with the right handle and the same call', async () => {
    await using broker = await careful()
    await using thief = await careful()
    const approval_id = await hold(broker, 'a', { amount: 7 })
    await queue.resolve(approval_id, { decision: 'approve' }, PERSON)
    thief.raw.call('a', 'approval_status', { approval_id })
    expect(codeOf(await thief.raw.result('a'))).toBe('APPROVAL_UNKNOWN')
    thief.raw.call('b', 'call_with_approval', { approval_id, name: 'pay', arguments: { amount: 7 } })
    expect(textOf(await thief.raw.result('b'))).toContain('not known in this session')
    expect(thief.pay.ran).toEqual([])
  })

  test('is withdrawn with its session, so that nobody is asked in vain', async () => {
    await using broker = await careful()
    const handle = await hold(broker, 'a', { amount: 8 })
    expect(queue.list().map(({ id }) => id)).toContain(handle)
    await broker.hangUp()
    expect(queue.list().map(({ id }) => id)).not.toContain(handle)
  })
})

test('a call for which nobody can give an approval says that, and does not blame policy', async () => {
  const pay = recordedTool('pay')
  const tool: Tool = { ...pay, contract: { ...defaultContract(pay.definition), requires_approval: true } }
  await using broker = await brokered({ tools: [tool] })
  await broker.raw.greet()
  broker.raw.call(1, 'pay')
  expect((await broker.raw.result(1)).structuredContent).toMatchObject({
    message: 'the tool "pay" requires human approval, and no approver is configured',
    hint: 'Nothing was executed. The call needs an approval, and the reason says why there is none',
  })
})

test('the tools for held calls are strict about what they are given, and reach no session with it', async () => {
  await using broker = await careful()
  const bad: readonly [string, object][] = [
    ['approval_status', {}],
    ['approval_status', { approval_id: 'ZZ' }],
    ['approval_status', { approval_id: '0123456789abcdef', decision: 'approve' }],
    ['call_with_approval', { approval_id: '0123456789abcdef' }],
    ['call_with_approval', { approval_id: '0123456789abcdef', name: 'pay', arguments: [] }],
    ['call_with_approval', { approval_id: '0123456789abcdef', name: 'pay', arguments: {}, approved: true }],
  ]
  for (const [index, [name, args]] of bad.entries()) {
    broker.raw.call(index, name, args)
    expect(codeOf(await broker.raw.result(index))).toBe('CALL_INVALID')
  }
  expect(broker.session.attempts).toBe(0)
  expect(broker.pay.ran).toEqual([])
})

test('a client that can be held sees the tools to follow that up with, and is told how', async () => {
  await using broker = await careful()
  broker.raw.send({ jsonrpc: '2.0', id: 1, method: 'tools/list' })
  const tools = (await broker.raw.answer(1)).result?.tools ?? []
  const names = (tools as { name: string }[]).map(({ name }) => name)
  expect(names).toContain('pay')
  expect(names.slice(-2)).toEqual(['approval_status', 'call_with_approval'])
})
