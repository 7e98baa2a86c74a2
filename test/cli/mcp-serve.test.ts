import { execFileSync } from 'node:child_process'
import { createWriteStream, readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Entry } from '../../src/events/index.ts'
import { parseId, parsePublicKey, verifyRun } from '../../src/journal/index.ts'
import { inProcess, jsonLines, PROGRAM, start, startUp, symbi } from '../support/cli.ts'
import { type Message, type ToolAnswer, textOf } from '../support/mcp-client.ts'
import { inTerminal, whyNoTerminal } from '../support/pseudo-terminal.ts'
import { HEALTH_SCRIPT, type TestProject, testProject, world } from './support.ts'

let project: TestProject
beforeAll(async () => {
  project = await testProject()
  await mkdir(project.of('agents'))
  await writeFile(project.of('agents', 'clerk.symbi'), 'agent clerk() { policy only { allow: "system_health" } }\n')
  await writeFile(project.of('demo-model.json'), HEALTH_SCRIPT)
  await mkdir(project.of('policies', 'mcp-server'))
  const policy = 'forbid(principal, action == Action::"tool_call::query_metrics", resource);\n'
  await writeFile(project.of('policies', 'mcp-server', 'own.cedar'), policy)
})
afterAll(async () => {
  await project[Symbol.asyncDispose]()
})

const mcp = (...args: string[]): string[] => ['mcp', '--project', project.path, '--agent', 'clerk', ...args]

interface Served {
  readonly event: 'serving'
  readonly tools: readonly string[]
  readonly audit: { readonly run_id: string; readonly path: string; readonly public_key: string }
}

async function entriesOf(stderr: string): Promise<readonly Entry[]> {
  const { audit } = jsonLines(stderr).find(({ event }) => event === 'serving') as unknown as Served
  return await verifyRun(world, audit.path, parsePublicKey(audit.public_key), parseId('run', audit.run_id))
}

const frames = (...messages: object[]): string => messages.map((message) => `${JSON.stringify(message)}\n`).join('')
const GREETING = {
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'raw', version: '0' } },
}
const callOf = (id: unknown, name: string): object => ({ jsonrpc: '2.0', id, method: 'tools/call', params: { name } })

describe('symbi mcp', () => {
  test('serves the official client: its tools, a call, a denial, and an end that is recorded', async () => {
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [PROGRAM, ...mcp('--json')],
      stderr: 'pipe',
    })
    let stderr = ''
    transport.stderr?.on('data', (chunk) => {
      stderr += String(chunk)
    })
    const client = new Client({ name: 'official', version: '1' })
    await client.connect(transport)
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toContain('system_health')
    expect(((await client.callTool({ name: 'system_health' })) as ToolAnswer).isError).toBe(false)
    const denied = (await client.callTool({ name: 'list_agents' })) as ToolAnswer
    expect(denied.structuredContent).toMatchObject({ code: 'POLICY_DENIED' })
    await client.close()
    const entries = await entriesOf(stderr)
    expect(entries.at(0)?.event).toMatchObject({
      execution_context: {
        agent_definition: { name: 'clerk' },
        surface: 'mcp-server',
        tool_client: { transport: 'stdio' },
      },
    })
    expect(entries.at(-1)?.event).toMatchObject({ kind: 'Terminated', reason: 'Completed', iterations: 2 })
  })

  test('answers what was piped into it, prints the protocol only, and says on stderr where the evidence lies', async () => {
    const input = frames(GREETING, callOf(1, 'system_health'), callOf(1, 'nothing'))
    const ran = await symbi(mcp('--tools', 'system_health'), { input })
    expect(ran.code).toBe(0)
    const answers = ran.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Message)
    expect(answers.map(({ id }) => id)).toEqual([0, 1, 1])
    expect(textOf(answers[2]?.result as ToolAnswer)).toContain('TOOL_UNKNOWN')
    expect(ran.stderr).toMatch(/^Agent: clerk, with one tool: system_health\nAudit run: [0-9a-f-]{36}\n/)
    expect(ran.stderr).toMatch(/Audit public key: [0-9a-f]{64}\n2 calls, session completed\n$/)
  })

  test('that is asked to end records the end, and leaves with 0 when nothing was interrupted', async () => {
    const running = start(mcp('--json'), { env: { SYMBIONT_REQUIRE_APPROVAL_TOOLS: 'sytem_health' } })
    running.child.stdin.write(frames(GREETING))
    await running.printed('stdout', '"id":0')
    running.child.kill('SIGTERM')
    const { code, stderr } = await running.ended
    expect(code).toBe(0)
    expect(stderr).toContain('nothing is held for a name in approvals.tools')
    expect((await entriesOf(stderr)).map(({ event }) => event.kind)).toEqual(['Started', 'Terminated'])
  })

  test('that is asked to end does so although its client reads nothing any more', async () => {
    const { child, printed, stderr } = start(mcp('--json'))
    child.stdin.write(frames(GREETING))
    await printed('stdout', '"id":0')
    child.stdout.pause()
    child.stdin.write(frames({ jsonrpc: '2.0', id: 1, method: 'tools/list' }).repeat(20_000))
    let left = -1
    const isStuck = (): boolean => {
      const before = left
      left = child.stdin.writableLength
      return left === before
    }
    await expect.poll(isStuck, { interval: 200 }).toBe(true) // it takes no more, because its answers pile up
    expect(left).toBeGreaterThan(0)
    child.kill('SIGTERM')
    expect(await new Promise((resolve) => child.once('exit', resolve))).toBe(0)
    expect((await entriesOf(stderr())).map(({ event }) => event.kind)).toEqual(['Started', 'Terminated'])
    child.stdout.destroy()
  })

  test.each([
    [['--agent', 'nobody'], 'AGENT_UNKNOWN', 1],
    [['--agent', 'clerk', '--tools', 'rm_rf'], 'CONFIG_INVALID', 78],
    [['--agent', 'clerk', '--tools', ''], 'CONFIG_INVALID', 78],
    [['--agent', 'clerk', '--max-calls', '1001'], 'USAGE', 64],
    [['--agent', 'clerk', '--timeout', '0'], 'USAGE', 64],
    [[], 'USAGE', 64],
  ])('with %j ends before it serves anybody, and makes no journal', async (args, code, exit) => {
    const before = project.journals().length
    const ran = await inProcess(['mcp', '--project', project.path, ...args])
    expect([ran.code, ran.stderr.split(':')[0]]).toEqual([exit, code])
    expect(project.journals()).toHaveLength(before)
  })
})

const without = whyNoTerminal()
test.skipIf(without !== null)(
  `a call that a person at the terminal approved is made when it comes back${without === null ? '' : ` (skipped: ${without})`}`,
  async () => {
    const [pipe, out] = [project.of('in'), project.of('out')]
    execFileSync('mkfifo', [pipe])
    await using terminal = inTerminal(mcp('--approval-terminal'), `< '${pipe}' > '${out}'`)
    const input = createWriteStream(pipe)
    input.write(frames(GREETING, callOf(1, 'system_health')))
    const [, id] = await terminal.shown(/approve ([0-9a-f]{16})/)
    terminal.type(`approve ${id}\n`)
    await terminal.shown(/Approved/)
    const params = { name: 'call_with_approval', arguments: { approval_id: id, name: 'system_health', arguments: {} } }
    input.end(frames({ jsonrpc: '2.0', id: 2, method: 'tools/call', params }))
    expect(await terminal.ended).toBe(0)
    const [, held, made] = jsonLines(readFileSync(out, 'utf8')) as unknown as Message[]
    expect(held?.result?.structuredContent).toMatchObject({ status: 'pending', approval_id: id })
    expect(made?.result?.isError).toBe(false)
  },
)

test('symbi up serves /mcp to a key that was made for an agent by its name', async () => {
  const made = await inProcess(['keys', 'add', '--project', project.path, '--id', 'desk', '--agent', 'clerk', '--json'])
  const [{ token }] = jsonLines(made.stdout) as unknown as [{ readonly token: string }]
  await using server = await startUp(project.path, [], { env: { SYMBIONT_REQUIRE_APPROVAL_TOOLS: 'sytem_health' } })
  const response = await fetch(`${server.api}/mcp`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: JSON.stringify(GREETING),
  })
  expect(response.status).toBe(200)
  expect(await response.json()).toMatchObject({ id: 0, result: { serverInfo: { name: 'symbi-governed-tools' } } })
  const { code, stderr } = await server.stop()
  expect(code).toBe(0)
  expect(stderr).toContain('Did you mean \\"system_health\\"?')
})
