import { readdirSync } from 'node:fs'
import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { agentFor, McpHttp } from '../../src/broker/index.ts'
import { defaultContract } from '../../src/calls/index.ts'
import { type AgentId, digest } from '../../src/core/index.ts'
import type { AuditReference } from '../../src/events/index.ts'
import { verify } from '../../src/journal/index.ts'
import { addKey, type Tool } from '../../src/runtime/index.ts'
import { recordedTool, temporaryProject } from '../../src/testing/index.ts'
import { nodeWorld } from '../../src/world/index.ts'
import { type Message, PERMIT_TOOLS, type ToolAnswer, textOf } from '../support/mcp-client.ts'
import { modelOf } from '../support/scripted-model.ts'
import { type Served, served } from '../support/served.ts'

const GREETING = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'raw', version: '0' } },
}

let release = (): void => undefined
let entered = (): void => undefined
const echo = recordedTool('echo', { answer: async (args) => JSON.stringify(args) })
const slow: Tool = recordedTool('slow', {
  answer: async (_, { signal }) => {
    await new Promise<void>((resolve, reject) => {
      release = resolve
      signal.addEventListener('abort', reject)
      entered()
    })
    return 'at last'
  },
})

const pay = recordedTool('pay')
const careful: Tool = { ...pay, contract: { ...defaultContract(pay.definition), requires_approval: true } }

let at: Served
let tokens: { readonly admin: string; readonly clerk: string; readonly both: string; readonly other: string }
const project = temporaryProject({
  policies: { default: PERMIT_TOOLS },
  agents: { clerk: 'agent clerk() {}', reader: 'agent reader() { policy only { allow: "system_health" } }' },
})

beforeAll(async () => {
  at = await served({ provider: modelOf({ content: 'unused' }), tools: [echo, slow, careful], project })
  const idOf = (name: string): AgentId => {
    const found = at.runtime.agents.resolve(name)
    if (found.kind !== 'Target') throw new Error(`no agent ${name}`)
    return found.target.principal
  }
  const tokenOf = async (keyId: string, agents: readonly AgentId[] | null): Promise<string> => {
    const key = { keyId, agents, description: 'a test' }
    return (await addKey(at.runtime.project.keyFile, key, nodeWorld(), new AbortController().signal)).token
  }
  tokens = {
    admin: await tokenOf('admin-key', null),
    clerk: await tokenOf('clerk-key', [idOf('clerk')]),
    both: await tokenOf('both-key', [idOf('clerk'), idOf('reader')]),
    other: await tokenOf('other-key', [idOf('clerk')]),
  }
})
afterAll(async () => {
  await at[Symbol.asyncDispose]()
  project[Symbol.dispose]()
})

const urlOf = (query = ''): URL => new URL(`${at.service.server.url}/mcp${query}`)

async function connected(
  token: string,
  query = '',
): Promise<{ client: Client; transport: StreamableHTTPClientTransport }> {
  const transport = new StreamableHTTPClientTransport(urlOf(query), {
    requestInit: { headers: { authorization: `Bearer ${token}` } },
  })
  const client = new Client({ name: 'official', version: '1' })
  await client.connect(transport as never)
  return { client, transport }
}

async function post(
  token: string | null,
  body: unknown,
  headers: Record<string, string> = {},
  query = '',
): Promise<Response> {
  return await fetch(urlOf(query), {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...headers,
    },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
}

/** A session of this key, opened by hand. */
async function opened(token: string, query = ''): Promise<string> {
  const response = await post(token, GREETING, {}, query)
  expect(response.status).toBe(200)
  await response.json()
  return String(response.headers.get('mcp-session-id'))
}

async function ended(token: string, id: string): Promise<number> {
  const headers = { authorization: `Bearer ${token}`, 'mcp-session-id': id }
  return (await fetch(urlOf(), { method: 'DELETE', headers })).status
}

const callOf = (id: unknown, name: string, args: object = {}, meta?: object): object => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, arguments: args, ...(meta === undefined ? {} : { _meta: meta }) },
})

/** The messages of an answer, whichever form it has. */
async function messagesOf(response: Response): Promise<readonly Message[]> {
  const text = await response.text()
  if (response.headers.get('content-type') === 'application/json') return [JSON.parse(text)]
  return text.split('\n').flatMap((line) => (line.startsWith('data: ') ? [JSON.parse(line.slice(6)) as Message] : []))
}

describe('the official client over HTTP', () => {
  test('acts as the one agent of its key, lists its tools, calls one, and ends its session', async () => {
    const { client, transport } = await connected(tokens.clerk)
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain('echo')
    const result = (await client.callTool({ name: 'echo', arguments: { a: 1 } })) as ToolAnswer
    expect(textOf(result)).toBe('{"a":1}')
    await transport.terminateSession()
    await client.close()
    const governed = join(project.path, '.symbiont', 'governed')
    const [name] = readdirSync(governed).filter((each) => each.endsWith('.jsonl'))
    const entries = await verify(nodeWorld(), join(governed, String(name)), at.key())
    expect(entries.map(({ event }) => event.kind)).toEqual([
      'Started',
      'PolicyEvaluated',
      'ToolDispatchStarted',
      'ToolDispatchFinished',
      'ToolBatchCompleted',
      'Terminated',
    ])
    expect(entries[0]?.event).toMatchObject({
      execution_context: {
        agent_definition: { name: 'clerk', mode: 'tool_session' },
        tool_client: { transport: 'http', key_id: 'clerk-key' },
      },
    })
  })

  test('acts as the agent that an admin key names, under the policy in its source', async () => {
    const { client, transport } = await connected(tokens.admin, '?agent=reader')
    expect(((await client.callTool({ name: 'echo' })) as ToolAnswer).structuredContent).toMatchObject({
      code: 'POLICY_DENIED',
    })
    expect(((await client.callTool({ name: 'system_health' })) as ToolAnswer).isError).toBe(false)
    await transport.terminateSession()
    await client.close()
  })

  test('hears how far its call is', async () => {
    const { client, transport } = await connected(tokens.clerk)
    const told: (string | undefined)[] = []
    const running = new Promise<void>((resolve) => {
      entered = resolve
    })
    const call = client.callTool({ name: 'slow' }, undefined, { onprogress: ({ message }) => void told.push(message) })
    await running
    release()
    expect(textOf((await call) as ToolAnswer)).toBe('at last')
    expect(told).toEqual(['running'])
    await transport.terminateSession()
    await client.close()
  })
})

describe('who may come in', () => {
  test.each([
    ['no credential', null, '', 401, 'UNAUTHORIZED'],
    ['a wrong one', 'nobody.at-all', '', 401, 'UNAUTHORIZED'],
    ['an admin key that names no agent', 'admin', '', 409, 'AGENT_AMBIGUOUS'],
    ['a key of two agents that names none', 'both', '', 409, 'AGENT_AMBIGUOUS'],
    ['two names', 'admin', '?agent=clerk&agent=reader', 409, 'AGENT_AMBIGUOUS'],
    ['an admin key that names an agent that does not exist', 'admin', '?agent=nobody', 404, 'AGENT_UNKNOWN'],
    ['a key that names an agent outside its scope', 'clerk', '?agent=reader', 403, 'AGENT_SCOPE_DENIED'],
    ['a key that names what may or may not exist', 'clerk', '?agent=nobody', 403, 'AGENT_SCOPE_DENIED'],
  ])('with %s gets no session', async (_, who, query, status, code) => {
    const token = who === null ? null : (tokens[who as keyof typeof tokens] ?? who)
    const response = await post(token, GREETING, {}, query)
    expect([response.status, ((await response.json()) as { code: string }).code]).toEqual([status, code])
  })

  test('a page of a foreign origin, and a request under a foreign name, are refused before the credential is looked at', async () => {
    const page = await post(tokens.clerk, GREETING, { origin: 'https://evil.example' })
    expect([page.status, ((await page.json()) as { code: string }).code]).toEqual([403, 'ORIGIN_REFUSED'])
    const { raw } = await import('../support/server-fixture.ts')
    const rebound = await raw(
      at.service.server,
      'POST /mcp HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 0\r\nConnection: close\r\n\r\n',
    )
    expect(rebound).toContain('403 Forbidden')
    expect(rebound).toContain('ORIGIN_REFUSED')
  })

  test('a session exists for its own key only', async () => {
    const id = await opened(tokens.clerk)
    const stolen = { 'mcp-session-id': id }
    for (const token of [tokens.other, tokens.admin]) {
      expect((await post(token, callOf(1, 'echo'), stolen)).status).toBe(404)
      expect(await ended(token, id)).toBe(404)
    }
    expect((await post(tokens.clerk, callOf(1, 'echo'), stolen)).status).toBe(200)
    expect(await ended(tokens.clerk, id)).toBe(204)
    expect((await post(tokens.clerk, callOf(1, 'echo'), stolen)).status).toBe(404)
  })

  test('one key holds so many sessions at once and no more, and gets a place back when one ends', async () => {
    const ids = await Promise.all(Array.from({ length: 8 }, () => opened(tokens.other)))
    const refused = await post(tokens.other, GREETING)
    expect(refused.status).toBe(429)
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    for (const id of ids) await ended(tokens.other, id)
    await ended(tokens.other, await opened(tokens.other))
  })
})

describe('frames over HTTP', () => {
  test.each([
    ['no session and no greeting', callOf(1, 'echo'), {}, 400],
    ['a session that never was', callOf(1, 'echo'), { 'mcp-session-id': '00000000-0000-4000-8000-00000000dead' }, 404],
    ['a batch', [GREETING], {}, 400],
    ['no JSON', '{', {}, 400],
    ['a name that stands twice', '{"jsonrpc":"2.0","jsonrpc":"2.0"}', {}, 400],
    ['another type of content', GREETING, { 'content-type': 'text/plain' }, 415],
    ['more than a mebibyte', `"${'x'.repeat(1024 * 1024)}"`, {}, 413],
  ])('with %s are refused', async (_, body, headers, status) => {
    expect((await post(tokens.clerk, body, headers)).status).toBe(status)
  })

  test('a greeting that breaks the protocol opens nothing', async () => {
    const before = at.runtime.activity.read()
    const response = await post(tokens.clerk, { ...GREETING, params: {} })
    expect(await messagesOf(response)).toMatchObject([{ id: 1, error: { code: expect.any(Number) } }])
    const id = String(response.headers.get('mcp-session-id'))
    await expect
      .poll(async () => (await post(tokens.clerk, callOf(1, 'echo'), { 'mcp-session-id': id })).status)
      .toBe(404)
    expect(at.runtime.activity.read()).toEqual(before)
  })

  test('that come in chunks count like those that tell their length', async () => {
    const id = await opened(tokens.clerk)
    const ping = { jsonrpc: '2.0', id: 1, method: 'ping', params: { filling: 'x'.repeat(1_000_000) } }
    const headers = {
      'content-type': 'application/json',
      authorization: `Bearer ${tokens.clerk}`,
      'mcp-session-id': id,
    }
    const chunked = { method: 'POST', headers, duplex: 'half' } as const
    let answered = 0
    for (; answered < 80; answered += 1) {
      const body = new Blob([JSON.stringify(ping)]).stream()
      const [message] = await messagesOf(await fetch(urlOf(), { ...chunked, body } as RequestInit))
      if (message?.error !== undefined) break
    }
    expect(answered).toBe(67) // 64 MiB
  })

  test('other methods than POST and DELETE are not offered, and other versions of the protocol not spoken', async () => {
    const authorization = `Bearer ${tokens.clerk}`
    const got = await fetch(urlOf(), { headers: { authorization, accept: 'text/event-stream' } })
    expect([got.status, got.headers.get('allow')]).toEqual([405, 'POST, DELETE'])
    const id = await opened(tokens.clerk)
    const headers = { 'mcp-session-id': id, 'mcp-protocol-version': '1999-01-01' }
    expect((await post(tokens.clerk, callOf(1, 'echo'), headers)).status).toBe(400)
    await ended(tokens.clerk, id)
  })

  test('requests with one id, at the same time in one session, get each its own answer', async () => {
    const id = await opened(tokens.clerk)
    const calls = Array.from({ length: 6 }, (_, n) =>
      post(tokens.clerk, callOf(1, 'echo', { n }), { 'mcp-session-id': id }),
    )
    const answers = await Promise.all(calls)
    for (const [n, answer] of answers.entries()) {
      const [message] = await messagesOf(answer)
      expect(message?.id).toBe(1)
      expect(textOf(message?.result as ToolAnswer)).toBe(`{"n":${n}}`)
    }
    await ended(tokens.clerk, id)
  })

  test('a client that takes JSON only is answered in JSON, and hears of no progress', async () => {
    const id = await opened(tokens.clerk)
    const headers = { 'mcp-session-id': id, accept: 'application/json' }
    const response = await post(tokens.clerk, callOf('x', 'echo', {}, { progressToken: 1 }), headers)
    expect(response.headers.get('content-type')).toBe('application/json')
    expect(await messagesOf(response)).toHaveLength(1)
    await ended(tokens.clerk, id)
  })

  test('a client that vanishes while its call runs has it made all the same, once, and may come back to its session', async () => {
    const id = await opened(tokens.clerk)
    const vanish = new AbortController()
    const running = new Promise<void>((resolve) => {
      entered = resolve
    })
    const call = fetch(urlOf(), {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${tokens.clerk}`, 'mcp-session-id': id },
      body: JSON.stringify(callOf(1, 'slow')),
      signal: vanish.signal,
    })
    await running
    vanish.abort()
    await expect(call).rejects.toThrow()
    release()
    const [message] = await messagesOf(
      await post(tokens.clerk, callOf(1, 'echo', { back: true }), { 'mcp-session-id': id }),
    )
    expect(textOf(message?.result as ToolAnswer)).toBe('{"back":true}')
    await ended(tokens.clerk, id)
  })

  test.each([
    ['before its greeting was answered', (response: ServerResponse) => void response.destroy()],
    ['while the answer is on its way', (response: ServerResponse) => void setImmediate(() => response.emit('close'))],
  ])('a client that vanishes %s keeps no place: nobody knows the id of its session', async (_, vanish) => {
    const { agents, world } = at.runtime
    const audits: AuditReference[] = []
    const door = new McpHttp({
      world,
      version: '0',
      agentFor: (caller, query) => agentFor(agents, caller, query),
      open: async (target) => {
        const session = await at.runtime.openToolSession(target, {}, new AbortController().signal)
        audits.push(session.audit)
        return { session, held: null, identified: null }
      },
      report: () => undefined,
    })
    const caller = { key_id: null, agent_scope: null, fingerprint: digest('somebody') }
    const request = { caller, query: new URLSearchParams('agent=clerk'), headers: {}, body: GREETING }
    const answer = await door.post(request)
    if (!('takeOver' in answer)) throw new Error(JSON.stringify(answer))
    expect(door.count).toBe(1)
    const response = new ServerResponse(new IncomingMessage(new Socket()))
    vanish(response)
    answer.takeOver(response)
    await expect.poll(() => door.count).toBe(0)
    await door.cancel()
    expect(await Promise.all(audits.map((audit) => at.kinds(audit)))).toEqual([['Started', 'Terminated']])
  })

  test('a cancelled request is ended without an answer, and the session says why it is over', async () => {
    const id = await opened(tokens.clerk)
    const session = { 'mcp-session-id': id }
    const running = new Promise<void>((resolve) => {
      entered = resolve
    })
    const call = post(tokens.clerk, callOf(5, 'slow'), session)
    await running
    const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 5 } }
    expect((await post(tokens.clerk, cancelled, session)).status).toBe(202)
    expect((await call).status).toBe(204)
    const [later] = await messagesOf(await post(tokens.clerk, callOf(6, 'echo'), session))
    expect(later?.result?.structuredContent).toMatchObject({ code: 'TOOL_SESSION_CLOSED' })
    expect(await ended(tokens.clerk, id)).toBe(204)
  })
})

test('a held call is approved by an admin over HTTP, and made when its session brings it back', async () => {
  const { client, transport } = await connected(tokens.clerk)
  const held = (await client.callTool({ name: 'pay', arguments: { amount: 3 } })) as ToolAnswer
  const approval_id = String(held.structuredContent?.approval_id)
  const approve = (token: string): Promise<Response> =>
    fetch(`${at.service.server.url}/api/v1/approvals/${approval_id}/approve`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}` },
    })
  expect((await approve(tokens.clerk)).status).toBe(403) // whoever asks cannot answer
  expect((await approve(tokens.admin)).status).toBe(200)
  const again = { approval_id, name: 'pay', arguments: { amount: 3 } }
  expect(((await client.callTool({ name: 'call_with_approval', arguments: again })) as ToolAnswer).isError).toBe(false)
  expect(pay.ran).toEqual([{ amount: 3 }])
  await transport.terminateSession()
  await client.close()
})

test('a server that shuts down ends the sessions, and each records its end', async () => {
  const agents = { clerk: 'agent clerk() {}' }
  using own = temporaryProject({ policies: { default: PERMIT_TOOLS }, agents })
  await using server = await served({
    provider: modelOf({ content: 'unused' }),
    tools: [echo],
    project: own,
    withKey: false,
  })
  const url = `${server.service.server.url}/mcp?agent=clerk`
  const headers = { authorization: 'Bearer legacy-token', 'content-type': 'application/json' }
  for (let n = 0; n < 3; n += 1) {
    const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(GREETING) })
    expect(response.status).toBe(200)
    await response.json()
  }
  await server.service.close({ drainMs: 5_000 })
  const governed = join(own.path, '.symbiont', 'governed')
  const journals = readdirSync(governed).filter((name) => name.endsWith('.jsonl'))
  expect(journals).toHaveLength(3)
  for (const name of journals) {
    const entries = await verify(nodeWorld(), join(governed, name), server.key())
    expect(entries.map(({ event }) => event)).toMatchObject([
      { kind: 'Started' },
      { kind: 'Terminated', reason: 'Completed' },
    ])
  }
})
