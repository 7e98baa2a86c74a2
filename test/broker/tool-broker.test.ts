import { describe, expect, test } from 'vitest'
import { Connection, readFrame, ToolBroker } from '../../src/broker/index.ts'
import type { ClientSession } from '../../src/broker/session-port.ts'
import { hexHash } from '../../src/core/index.ts'
import { notDone, type Tool } from '../../src/runtime/index.ts'
import { recordedTool } from '../../src/testing/index.ts'
import { nodeWorld } from '../../src/world/index.ts'
import { brokered, expectAccounted, type Message, projectOf, type ToolAnswer, textOf } from '../support/mcp-client.ts'

const CITY = {
  type: 'object',
  properties: { city: { type: 'string', maxLength: 20 } },
  required: ['city'],
  additionalProperties: false,
} as const

/** A tool that waits in the middle of its effect until the test lets it go on. */
function gated(
  name = 'slow',
): Tool & { readonly entered: Promise<void>; release(): void; readonly ran: readonly object[] } {
  let enter = (): void => undefined
  let release = (): void => undefined
  const entered = new Promise<void>((resolve) => {
    enter = resolve
  })
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  const tool = recordedTool(name, {
    answer: async (_, { signal }) => {
      enter()
      await Promise.race([released, new Promise((_resolve, reject) => signal.addEventListener('abort', reject))])
      return 'at last'
    },
  })
  return { ...tool, entered, release: () => release() }
}

describe('the official client', () => {
  test('lists exactly the tools of the session, and calls one', async () => {
    const weather = recordedTool('weather', { parameters: CITY, answer: 'rain' })
    await using broker = await brokered({ tools: [weather], only: ['weather', 'system_health'] })
    const client = await broker.client()
    expect(client.getServerVersion()).toEqual({ name: 'symbi-governed-tools', version: '9.9.9' })
    expect(client.getInstructions()).toContain('Nobody can approve calls here')
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toEqual(['weather', 'system_health'])
    expect(tools[0]?.inputSchema).toEqual(CITY)
    const result = (await client.callTool({ name: 'weather', arguments: { city: 'Ghent' } })) as ToolAnswer
    expect(result).toEqual({ content: [{ type: 'text', text: 'rain' }], isError: false })
    expect(weather.ran).toEqual([{ city: 'Ghent' }])
    await client.close()
    expect(await broker.hangUp()).toBeNull()
    const entries = await broker.entries()
    expectAccounted(entries, 1)
    expect(entries.at(-1)?.event).toMatchObject({ reason: 'Completed', iterations: 1 })
  })

  test('is told a denial as a result with a code and a reason, and no name of a policy', async () => {
    const weather = recordedTool('weather')
    const policy = '@id("secret_name") permit(principal, action == Action::"tool_call::system_health", resource);'
    await using broker = await brokered({ tools: [weather], policy })
    const client = await broker.client()
    const result = (await client.callTool({ name: 'weather' })) as ToolAnswer
    expect(result.isError).toBe(true)
    expect(result.structuredContent).toMatchObject({ status: 'refused', code: 'POLICY_DENIED' })
    expect(textOf(result)).toContain('policy does not allow Action::"tool_call::weather"')
    expect(JSON.stringify(result)).not.toContain('secret_name')
    expect(weather.ran).toEqual([])
    expect(((await client.callTool({ name: 'system_health' })) as ToolAnswer).isError).toBe(false)
  })

  test('is refused what the policy in the source of its agent does not allow', async () => {
    const weather = recordedTool('weather')
    const source = 'agent clerk() { policy only { allow: "system_health" } }'
    await using broker = await brokered({ tools: [weather], source })
    const client = await broker.client()
    expect(((await client.callTool({ name: 'weather' })) as ToolAnswer).structuredContent).toMatchObject({
      code: 'POLICY_DENIED',
    })
    expect(weather.ran).toEqual([])
  })

  test('a policy can name the agent that the client acts as, and what the runtime knows of the client', async () => {
    const weather = recordedTool('weather')
    const policy = `permit(principal, action, resource) when {
      context.agent_definition.name == "clerk" && context.tool_client.key_id == "k1" };`
    await using broker = await brokered({ tools: [weather], policy, client: { key_id: 'k1' } })
    const client = await broker.client()
    expect(((await client.callTool({ name: 'weather' })) as ToolAnswer).isError).toBe(false)
    await using stranger = await brokered({ tools: [weather], policy, client: { key_id: 'k2' } })
    const other = await stranger.client()
    expect(((await other.callTool({ name: 'weather' })) as ToolAnswer).isError).toBe(true)
    expect(weather.ran).toHaveLength(1)
  })
})

describe('the list of tools', () => {
  const names = (tools: readonly { readonly name: string }[]): readonly string[] => tools.map(({ name }) => name)

  test('shows the permitted subset: what policy can never allow is left out, and denied when it is called', async () => {
    const [weather, refund] = [recordedTool('weather'), recordedTool('refund')]
    const source = 'agent clerk() { policy only { allow: ["weather", "refund", "system_health"] } }'
    const policy =
      'permit(principal, action in [Action::"tool_call::weather", Action::"tool_call::list_agents"], resource);'
    await using broker = await brokered({ tools: [weather, refund], source, policy })
    const client = await broker.client()
    expect(names((await client.listTools()).tools)).toEqual(['weather'])
    for (const name of ['refund', 'list_agents']) {
      const result = (await client.callTool({ name })) as ToolAnswer
      expect(result.structuredContent).toMatchObject({ code: 'POLICY_DENIED' })
    }
    const unknown = (await client.callTool({ name: 'nothing' })) as ToolAnswer
    expect(unknown.structuredContent).toMatchObject({ hint: 'Nothing was executed. The tools are: weather' })
    expect(refund.ran).toEqual([])
  })

  test('shows a tool whose calls depend on arguments, on the time, or on an approval', async () => {
    const source = `agent clerk() { policy some {
      allow: "weather" if invocation.arguments.city == "Ghent"
      allow: "refund"
      deny: "refund" if invocation.arguments.cents > 100
    } }`
    const policy = `permit(principal, action == Action::"tool_call::weather", resource) when { context has never };
      permit(principal, action, resource) when { context.has_human_approval };`
    await using broker = await brokered({ tools: [recordedTool('weather'), recordedTool('refund')], source, policy })
    const client = await broker.client()
    expect(names((await client.listTools()).tools)).toEqual(['weather', 'refund'])
  })

  test('follows the policies while the session lives', async () => {
    using project = projectOf(
      'agent clerk() {}',
      'permit(principal, action == Action::"tool_call::weather", resource);',
    )
    await using broker = await brokered({ project, tools: [recordedTool('weather'), recordedTool('refund')] })
    const client = await broker.client()
    expect(names((await client.listTools()).tools)).toEqual(['weather'])
    project.policy('more', 'permit(principal, action == Action::"tool_call::refund", resource);')
    expect(names((await client.listTools()).tools)).toEqual(['weather', 'refund'])
  })
})

test('a tool that knows that it did nothing says so: an error for the client, and no unknown outcome', async () => {
  const refund: Tool = {
    definition: { name: 'refund', description: 'pays back', parameters: { type: 'object' } },
    run: async () => notDone('there is no such order'),
  }
  await using broker = await brokered({ tools: [refund] })
  const client = await broker.client()
  for (let call = 0; call < 2; call += 1) {
    expect(await client.callTool({ name: 'refund' })).toMatchObject({
      isError: true,
      content: [{ type: 'text', text: 'there is no such order' }],
      structuredContent: { status: 'not_done', code: 'CALL_NOT_DONE', message: 'there is no such order' },
    })
  }
  expect(await broker.hangUp()).toBeNull()
  expectAccounted(await broker.entries(), 2)
})

test('what a tool said is told and recorded also where it leaves the effect unknown, and is bounded', async () => {
  const weather = recordedTool('weather', { answer: { content: `no such city${'.'.repeat(9000)}`, is_error: true } })
  await using broker = await brokered({ tools: [weather] })
  await broker.raw.greet()
  broker.raw.call(1, 'weather')
  const result = await broker.raw.result(1)
  expect(textOf(result)).toMatch(/^CALL_UNCONFIRMED: no such city\.{9000}\nhint: /)
  const { status, message } = result.structuredContent as { readonly status: string; readonly message: string }
  expect([status, message.slice(0, 12), message.length]).toEqual(['unknown', 'no such city', 8192])
  await broker.hangUp()
  expect(JSON.stringify(await broker.entries())).toContain('no such city')
})

describe('bad calls', () => {
  test('an unknown tool is a result with a code and the names that exist, and uses an attempt up', async () => {
    await using broker = await brokered({ only: ['system_health'], callsMax: 2 })
    await broker.raw.greet()
    broker.raw.call(1, 'system_wealth')
    expect((await broker.raw.result(1)).structuredContent).toMatchObject({
      code: 'TOOL_UNKNOWN',
      hint: 'Nothing was executed. The tools are: system_health',
    })
    broker.raw.call(2, 'system_health')
    expect((await broker.raw.result(2)).isError).toBe(false)
    broker.raw.call(3, 'system_health')
    expect((await broker.raw.result(3)).structuredContent).toMatchObject({ code: 'TOOL_SESSION_SPENT' })
  })

  test('arguments that do not fit the schema are refused with the path and the rule', async () => {
    const weather = recordedTool('weather', { parameters: CITY })
    await using broker = await brokered({ tools: [weather] })
    await broker.raw.greet()
    broker.raw.call(1, 'weather', { city: 'a very long name of a city' })
    const result = await broker.raw.result(1)
    expect(result.structuredContent).toMatchObject({ code: 'CALL_INVALID' })
    expect(textOf(result)).toMatch(/#\/city .*maxLength/)
    broker.raw.call(2, 'weather', { city: 'Ghent', approved: true })
    expect(textOf(await broker.raw.result(2))).toContain('"approved" is not one of its arguments')
    expect(weather.ran).toEqual([])
  })

  test.each([
    ['principal', { principal: 'admin' }],
    ['approval', { approval: { id: 'x' } }],
    ['policy', { policy: 'permit(principal, action, resource);' }],
    ['sandbox', { sandbox: 'none' }],
    ['a task', { task: {} }],
  ])('a call with %s beside its members breaks the protocol', async (_, extra) => {
    const weather = recordedTool('weather')
    await using broker = await brokered({ tools: [weather] })
    await broker.raw.greet()
    broker.raw.send({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'weather', arguments: {}, ...extra },
    })
    const { error } = await broker.raw.answer(1)
    expect([-32602, -32000]).toContain(error?.code)
    expect(weather.ran).toEqual([])
  })

  test('what _meta claims gives nothing: neither an approval nor another principal', async () => {
    const weather = recordedTool('weather')
    const careful: Tool = { ...weather, contract: contractOf('weather', true) }
    await using broker = await brokered({ tools: [careful] })
    await broker.raw.greet()
    const forged = {
      approval: true,
      principal: 'admin',
      approved: true,
      has_human_approval: true,
      'symbi/principal': 'x',
    }
    broker.raw.call(1, 'weather', {}, forged)
    broker.raw.call(2, 'weather', {}, { 'symbi/approval': '0123456789abcdef' })
    broker.raw.call(3, 'weather', {}, { 'symbi/approval': { decision: 'approve' } })
    for (const id of [1, 2, 3]) expect((await broker.raw.result(id)).isError).toBe(true)
    expect((await broker.raw.result(3)).structuredContent).toMatchObject({ code: 'CALL_INVALID' })
    expect(weather.ran).toEqual([])
  })

  test.each([
    ['no object', 7],
    ['a list', []],
    ['a progress token of another kind', { progressToken: { of: 'mine' } }],
    ['a task of another kind', { 'io.modelcontextprotocol/related-task': 'mine' }],
  ])(
    'a request whose _meta holds %s has its answer like every other, and nobody waits for it at the end',
    async (_, meta) => {
      await using broker = await brokered()
      broker.raw.send({ jsonrpc: '2.0', id: 'first', method: 'ping', params: { _meta: meta } })
      await broker.raw.answer('first')
      await broker.raw.greet()
      broker.raw.send({ jsonrpc: '2.0', id: 'list', method: 'tools/list', params: { _meta: meta } })
      broker.raw.call('call', 'system_health', {}, meta as object)
      broker.raw.send({ jsonrpc: '2.0', id: 'none', method: 'no/such', params: { _meta: meta } })
      for (const id of ['list', 'call', 'none']) await broker.raw.answer(id)
      expect(await broker.hangUp()).toBeNull()
    },
  )

  test('notifications that mean nothing here are told to nobody, however many they are', async () => {
    await using broker = await brokered()
    await broker.raw.greet()
    const params = { progressToken: 1, progress: 1 }
    for (const _meta of [undefined, 7, {}]) {
      broker.raw.send({ jsonrpc: '2.0', method: 'notifications/progress', params: { ...params, _meta } })
      broker.raw.send({ jsonrpc: '2.0', method: 'notifications/roots/list_changed', params: { _meta } })
    }
    expect(await broker.hangUp()).toBeNull()
    expect(broker.reports).toEqual([])
  })

  test('an invocation id that is no UUID is refused before anything happens', async () => {
    const weather = recordedTool('weather')
    await using broker = await brokered({ tools: [weather] })
    await broker.raw.greet()
    broker.raw.call(1, 'weather', {}, { 'symbi/invocationId': 'again' })
    expect((await broker.raw.result(1)).structuredContent).toMatchObject({ code: 'INVALID_INVOCATION_ID' })
    expect(weather.ran).toEqual([])
  })
})

describe('ids', () => {
  test('a client that repeats one id gets an answer for each request, and the effects are as many', async () => {
    const echo = recordedTool('echo', { answer: async (args) => JSON.stringify(args) })
    await using broker = await brokered({ tools: [echo] })
    await broker.raw.greet()
    for (let n = 0; n < 5; n += 1) broker.raw.call(1, 'echo', { n })
    for (let n = 0; n < 5; n += 1) expect(textOf(await broker.raw.result(1, n + 1))).toBe(`{"n":${n}}`)
    expect(echo.ran).toHaveLength(5)
    await broker.hangUp()
    expectAccounted(await broker.entries(), 5)
  })

  test('ids of any permitted form come back as they were', async () => {
    await using broker = await brokered()
    await broker.raw.greet()
    for (const id of [0, -7, 2 ** 53 - 1, '', '1', 'päivä', 'x'.repeat(256)]) {
      broker.raw.call(id, 'system_health')
      expect((await broker.raw.result(id)).isError).toBe(false)
    }
  })

  test('two clients that use the same ids get their own answers', async () => {
    const echo = recordedTool('echo', { answer: async (args) => JSON.stringify(args) })
    await using one = await brokered({ tools: [echo] })
    await using two = await brokered({ tools: [echo] })
    await Promise.all([one.raw.greet(), two.raw.greet()])
    one.raw.call(1, 'echo', { of: 'one' })
    two.raw.call(1, 'echo', { of: 'two' })
    expect(textOf(await one.raw.result(1))).toBe('{"of":"one"}')
    expect(textOf(await two.raw.result(1))).toBe('{"of":"two"}')
    expect(one.session.principal).toBe(two.session.principal)
    expect(one.session.audit.run_id).not.toBe(two.session.audit.run_id)
  })

  test('the journal names each call by its connection, its number and the digest of the id of the client', async () => {
    await using broker = await brokered()
    await broker.raw.greet()
    broker.raw.call('mine', 'system_health')
    await broker.raw.result('mine')
    await broker.hangUp()
    const [intent] = (await broker.entries()).filter(({ event }) => event.kind === 'ToolDispatchStarted')
    expect(intent?.event).toMatchObject({
      call_id: `mcp-00000000-0000-4000-8000-000000000001-2-${hexHash('"mine"')}`,
    })
  })
})

describe('cancellation', () => {
  test('a cancelled call at work is interrupted, its outcome is unknown, and later calls are told why', async () => {
    const slow = gated()
    await using broker = await brokered({ tools: [slow] })
    await broker.raw.greet()
    broker.raw.call(7, 'slow')
    await slow.entered
    broker.raw.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 7, reason: 'bored' } })
    broker.raw.call(8, 'system_health')
    const later = await broker.raw.result(8)
    expect(later.isError).toBe(true)
    expect(later.structuredContent).toMatchObject({ code: 'TOOL_SESSION_CLOSED' })
    expect(await broker.hangUp()).toMatchObject({ code: 'TOOL_SESSION_FAILED' })
    expect(broker.raw.messages.filter(({ id }) => id === 7)).toEqual([])
    expect((await broker.report()).effects).toMatchObject([{ outcome: 'unknown' }])
    expect((await broker.kinds()).at(-1)).toBe('Terminated')
  })

  test('a call that waits for its turn is cancelled without harm to the session', async () => {
    const slow = gated()
    const quick = recordedTool('quick')
    await using broker = await brokered({ tools: [slow, quick] })
    await broker.raw.greet()
    broker.raw.call(1, 'slow')
    await slow.entered
    broker.raw.call(2, 'quick')
    broker.raw.call(3, 'quick')
    broker.raw.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 2 } })
    slow.release()
    expect((await broker.raw.result(3)).isError).toBe(false)
    expect(quick.ran).toHaveLength(1)
    expect(await broker.hangUp()).toBeNull()
    expectAccounted(await broker.entries(), 2)
  })

  test('a cancellation of an id that is unknown, or of another type, cancels nothing', async () => {
    const slow = gated()
    await using broker = await brokered({ tools: [slow] })
    await broker.raw.greet()
    broker.raw.call(1, 'slow')
    await slow.entered
    for (const requestId of ['1', 2, null, {}, 1.5, undefined]) {
      broker.raw.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } })
    }
    slow.release()
    expect(textOf(await broker.raw.result(1))).toBe('at last')
  })
})

describe('progress', () => {
  test('is told to a client that asked for it: while its call waits, and when it runs', async () => {
    const slow = gated()
    await using broker = await brokered({ tools: [slow] })
    await broker.raw.greet()
    broker.raw.call(1, 'slow')
    await slow.entered
    broker.raw.call(2, 'system_health', {}, { progressToken: 'p2' })
    const of = (message: { method?: string; params?: object }): boolean => message.method === 'notifications/progress'
    const waiting = await broker.raw.seen(of)
    expect(waiting.params).toEqual({ progressToken: 'p2', progress: 1, message: 'waiting for 1 earlier call' })
    slow.release()
    await broker.raw.result(2)
    const told = broker.raw.messages.filter(of).map(({ params }) => params?.progressToken)
    expect(new Set(told)).toEqual(new Set(['p2']))
  })

  test('is told under no token that is longer than an id: a client may not have us repeat what it likes', async () => {
    await using broker = await brokered()
    await broker.raw.greet()
    for (const [id, progressToken] of ['x'.repeat(257), 0.5].entries()) {
      broker.raw.call(id, 'system_health', {}, { progressToken })
      await broker.raw.answer(id)
    }
    broker.raw.call(9, 'system_health', {}, { progressToken: 'x'.repeat(256) })
    await broker.raw.result(9)
    expect(broker.raw.messages.filter(({ method }) => method !== undefined)).toHaveLength(1)
  })

  test('nobody who did not ask for it hears of it', async () => {
    await using broker = await brokered()
    await broker.raw.greet()
    broker.raw.call(1, 'system_health')
    await broker.raw.result(1)
    expect(broker.raw.messages.filter(({ method }) => method !== undefined)).toEqual([])
  })
})

describe('a failure of ours', () => {
  test('shows nothing of itself, not even a path, and is told to the operator', async () => {
    const find = (): never => {
      throw new Error("ENOENT: no such file, open '/srv/operator/.secrets/token'")
    }
    await using broker = await brokered()
    const { session } = broker
    await broker.raw.greet()
    session.call = find
    broker.raw.call(1, 'system_health')
    const result = await broker.raw.result(1)
    expect([result.isError, result.structuredContent]).toMatchObject([true, { code: 'INTERNAL', status: 'unknown' }])
    expect(JSON.stringify(broker.raw.messages)).not.toContain('operator')
    expect(broker.reports).toEqual([expect.stringContaining('a tool call: Error: ENOENT')])
  })
})

describe('output', () => {
  test('that is too large is cut between two characters, and says how long it was and which it is', async () => {
    const whole = `x${'é'.repeat(150_000)}`
    const long = recordedTool('long', { answer: whole })
    await using broker = await brokered({ tools: [long] })
    await broker.raw.greet()
    broker.raw.call(1, 'long')
    const result = await broker.raw.result(1)
    const text = textOf(result)
    const digest = `sha256:${hexHash(whole)}`
    expect(result._meta).toEqual({ 'symbi/output': { bytes: 300_001, shown_bytes: 262_143, digest } })
    expect(text.endsWith(`\n[Cut: 262143 of 300001 bytes are shown; the whole output is ${digest}]`)).toBe(true)
    expect(text).not.toContain('\ufffd')
  })

  test('of a tool that failed is shown, its outcome is unknown, and the session is over', async () => {
    const broken = recordedTool('broken', {
      answer: async () => {
        throw new Error('the line went dead')
      },
    })
    await using broker = await brokered({ tools: [broken] })
    await broker.raw.greet()
    broker.raw.call(1, 'broken')
    const result = await broker.raw.result(1)
    expect(result.structuredContent).toMatchObject({ outcome: 'unknown', code: 'CALL_UNCONFIRMED' })
    broker.raw.call(2, 'system_health')
    const later = await broker.raw.result(2)
    expect(textOf(later)).toContain('the effects of a tool call are unconfirmed, and reconciliation is required')
    expect(await broker.hangUp()).toMatchObject({ code: 'TOOL_SESSION_FAILED' })
    expect((await broker.report()).requires_reconciliation).toBe(true)
  })
})

test('a mistake of ours is told to the operator, and to the client only that there was one', async () => {
  const connection = new Connection('00000000-0000-4000-8000-000000000001')
  const session = {
    definitions: [],
    ended: new AbortController().signal,
    failureReason: null,
    call: async () => {
      throw new TypeError('cannot read "x" of /srv/project')
    },
    close: async () => undefined,
  } as unknown as ClientSession
  const reports: string[] = []
  const broker = new ToolBroker({
    clock: nodeWorld().clock,
    session,
    connection,
    sessionId: 's',
    version: '0',
    held: null,
    identified: null,
    report: (_, error) => void reports.push(String(error)),
  })
  await broker.open()
  const ask = (method: string, params: object): Promise<string> =>
    new Promise((resolve) => {
      const frame = readFrame(Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })))
      connection.receive(frame, 0, { write: async (text) => resolve(text), drop: () => undefined })
    })
  await ask('initialize', {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'raw', version: '0' },
    _meta: 'passed over',
  })
  const answer = JSON.parse(await ask('tools/call', { name: 'x' })) as Message
  expect(answer.result?.isError).toBe(true)
  expect(answer.result?.structuredContent).toMatchObject({ status: 'unknown', code: 'INTERNAL' })
  expect(JSON.stringify(answer)).not.toContain('/srv')
  expect(reports).toEqual(['TypeError: cannot read "x" of /srv/project'])
  await broker.end()
})

describe('the end', () => {
  test('a client that hangs up right after its calls has them all made, and answered', async () => {
    const echo = recordedTool('echo')
    await using broker = await brokered({ tools: [echo] })
    await broker.raw.greet()
    for (let id = 0; id < 4; id += 1) broker.raw.call(id, 'echo')
    expect(await broker.hangUp()).toBeNull()
    expect(echo.ran).toHaveLength(4)
    for (let id = 0; id < 4; id += 1) expect((await broker.raw.result(id)).isError).toBe(false)
    expectAccounted(await broker.entries(), 4)
  })

  test('a client may ask for the end of its session', async () => {
    await using broker = await brokered()
    await broker.raw.greet()
    broker.raw.send({ jsonrpc: '2.0', method: 'notifications/symbi/close' })
    expect(await broker.hangUp()).toBeNull()
    expect((await broker.kinds()).at(-1)).toBe('Terminated')
  })

  test('a tool with the name of one of the tools for approvals keeps the broker from opening', async () => {
    const held = { find: () => null, isSpent: () => false }
    await expect(brokered({ tools: [recordedTool('approval_status')], held })).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
    })
  })

  test('a session that is to offer no tool, or one that does not exist, is refused and leaves no journal', async () => {
    await expect(brokered({ only: [] })).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
    await expect(brokered({ only: ['nothing'] })).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
    const many = Array.from({ length: 251 }, (_, n) => recordedTool(`t${n}`))
    await expect(brokered({ tools: many })).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
  })
})

function contractOf(name: string, requires_approval: boolean): NonNullable<Tool['contract']> {
  return {
    name,
    version: '1',
    digest: `sha256:${hexHash(name)}` as NonNullable<Tool['contract']>['digest'],
    action_type: 'Action',
    action_id: `tool_call::${name}`,
    resource_type: 'Resource',
    resource_id: 'default',
    requires_approval,
  }
}
