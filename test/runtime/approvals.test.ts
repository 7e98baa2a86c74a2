/** A chat whose tool needs a person: over a real server, with the decision over HTTP, down to the journal. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { parseId, readJson } from '../../src/core/index.ts'
import { verifyRun } from '../../src/journal/index.ts'
import { signingKeyOf } from '../../src/keys/index.ts'
import { type HeldAction, openRuntime, type Runtime, type RuntimeOptions, serve } from '../../src/runtime/index.ts'
import { temporaryProject } from '../../src/testing/index.ts'
import { nodeWorld } from '../../src/world/index.ts'
import { allowAll } from '../support/gates.ts'
import { callOf, modelOf } from '../support/scripted-model.ts'
import { type CountedTool, toolOf } from '../support/tools.ts'

const TOKEN = 'a-legacy-token-of-some-length'
const POLICY = `permit(principal, action == Action::"respond", resource);
permit(principal, action == Action::"tool_call::pay", resource) when { context.has_human_approval };`

interface Made {
  readonly runtime: Runtime
  readonly tool: CountedTool
  request(path: string, init?: RequestInit): Promise<Response>
  /** The one action that is held, as soon as there is one. */
  held(): Promise<HeldAction>
}

async function made(approvals: RuntimeOptions['approvals'] = { tools: ['pay'] }, policy = POLICY): Promise<Made> {
  const project = temporaryProject({ policies: { default: policy } })
  const tool = toolOf('pay', async () => 'paid')
  const model = modelOf(callOf('c1', 'pay', { amount: 5 }), { content: 'done' })
  const more = approvals === undefined ? {} : { approvals }
  const runtime = await openRuntime({ project: project.path, provider: model, tools: [tool], ...more })
  const service = await serve(runtime, {
    port: 0,
    log: { write: () => undefined },
    legacyToken: TOKEN,
    rateLimit: null,
  })
  onTestFinished(async () => {
    await service.close({ drainMs: 0 })
    project[Symbol.dispose]()
  })
  return {
    runtime,
    tool,
    request: (path, init) =>
      fetch(`${service.server.url}/api/v1/approvals${path}`, {
        headers: { authorization: `Bearer ${TOKEN}` },
        ...init,
      }),
    held: () =>
      new Promise((resolve) => {
        const [now] = runtime.approvals.list()
        if (now !== undefined) return resolve(now)
        runtime.approvals.subscribe(({ kind, action }) => void (kind === 'held' && resolve(action)))
      }),
  }
}

test('a call that a person approved over HTTP takes effect once, and the journal says who approved it', async () => {
  const { runtime, tool, request, held } = await made()
  const asked = runtime.ask('pay them')
  const { id } = await held()
  expect(tool.ran).toEqual([])
  const shown = readJson(await (await request(`/${id}`)).text()) as unknown as { readonly review: string }
  expect(shown.review).toContain('"amount": 5')
  expect((await request(`/${id}/approve`, { method: 'POST' })).status).toBe(200)
  const { content, audit } = await asked
  expect(content).toBe('done')
  expect(tool.ran).toEqual([{ amount: 5 }])
  const key = signingKeyOf(readFileSync(join(runtime.project.governedFolder, 'audit-signing.key'))).publicKey
  const entries = await verifyRun(nodeWorld(), audit.path, key, parseId('run', audit.run_id))
  const approvals = entries.flatMap(({ event }) => (event.kind === 'PolicyEvaluated' ? event.approved_calls : []))
  expect(approvals.map((evidence) => (evidence as { approval: unknown }).approval)).toEqual([
    {
      escalation_id: id,
      agent_id: runtime.principal,
      decision: 'approve',
      approver: { surface: 'rest', id: 'operator', display: 'operator' },
      at: expect.any(String),
    },
    null,
  ])
  expect((await request(`/${id}/approve`, { method: 'POST' })).status).toBe(409)
})

test('a call that a person denied takes no effect, and the model is told why', async () => {
  const { runtime, tool, request, held } = await made()
  const seen: string[] = []
  const asked = runtime.ask('pay them', {
    onMessage: (message) => void (message.type === 'PolicyDecision' && seen.push(message.reason)),
  })
  const { id } = await held()
  await request(`/${id}/deny`, {
    method: 'POST',
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
    body: '{"reason":"not on a Friday"}',
  })
  await asked
  expect(tool.ran).toEqual([])
  expect(seen.join()).toContain('not on a Friday')
})

test('a call that policy forbids is shown to nobody, and the journal names the policy', async () => {
  const { runtime, tool } = await made(
    { tools: ['pay'] },
    `${POLICY}\nforbid(principal, action == Action::"tool_call::pay", resource);`,
  )
  const { audit } = await runtime.ask('pay them')
  expect(tool.ran).toEqual([])
  expect(existsSync(runtime.project.approvalFolder)).toBe(false)
  expect(readFileSync(audit.path, 'utf8')).toMatch(/"denied_calls":\[\{.*"determining_policies":\["default[^"]*"/)
})

test('nobody has time with a timeout of nothing, and a runtime that closes waits for nobody', async () => {
  const quick = await made({ tools: ['pay'], timeoutMs: 0 })
  await quick.runtime.ask('pay them')
  expect(quick.tool.ran).toEqual([])
  const slow = await made()
  const asked = slow.runtime.ask('pay them').catch((error: unknown) => error)
  const { id } = await slow.held()
  await slow.runtime.close()
  await asked
  expect(slow.tool.ran).toEqual([])
  expect(slow.runtime.approvals.list()).toEqual([])
  expect(readdirSync(join(slow.runtime.project.approvalFolder, 'settled'))).toEqual([`${id}.json`])
  expect(readdirSync(join(slow.runtime.project.approvalFolder, 'held'))).toEqual([])
})

test('a tool session that names tools of its own still needs a person for those of the runtime', async () => {
  const policies = { default: 'permit(principal, action, resource);' }
  using project = temporaryProject({ policies, agents: { clerk: 'agent clerk() {}' } })
  const [pay, ship, look] = [toolOf('pay'), toolOf('ship'), toolOf('look')]
  const approvals = { tools: ['pay'] }
  const provider = modelOf({ content: 'unused' })
  await using runtime = await openRuntime({ project: project.path, provider, tools: [pay, ship, look], approvals })
  const found = runtime.agents.resolve('clerk')
  if (found.kind !== 'Target') throw new Error('no clerk')
  const never = new AbortController().signal
  await using session = await runtime.openToolSession(found.target, { approvalTools: ['ship'] }, never)
  for (const name of ['pay', 'ship', 'look']) await session.call({ call_id: name, name, arguments: {} }, never)
  expect([pay.ran, ship.ran, look.ran]).toEqual([[], [], [{}]])
  expect(runtime.approvals.list()).toHaveLength(2)
})

test('a runtime that holds nothing keeps no folder for it, and a gate of its own is asked alone', async () => {
  using project = temporaryProject({ policies: {} })
  const tool = toolOf('pay')
  const model = modelOf(callOf('c1', 'pay', { amount: 5 }), { content: 'done' })
  await using runtime = await openRuntime({ project: project.path, provider: model, tools: [tool], gate: allowAll })
  await runtime.ask('pay them')
  expect(tool.ran).toHaveLength(1)
  expect(existsSync(runtime.project.approvalFolder)).toBe(false)
})
