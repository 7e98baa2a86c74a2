/**
 * A coordinator hands a task to a reviewer that may look at the health of the system, and at nothing else: its own source
 * says so. Both runs keep a journal, and the two prove each other: the tree of runs is verified with one public key.
 */
import { strict as assert } from 'node:assert'
import { nodeWorld, openRuntime, scripted } from 'symbi-runtime'
import { parseId, parsePublicKey, runsOf, verifyTree } from 'symbi-runtime/journal'
import { LEAST_PRIVILEGE_POLICY, temporaryProject } from 'symbi-runtime/testing'

const reviewer = `agent reviewer {
    policy health_only { allow: "system_health" }
}
`
const mayDelegate = 'permit (principal, action == Action::"delegate::reviewer", resource);'
await using project = temporaryProject({
  policies: { default: LEAST_PRIVILEGE_POLICY, delegation: mayDelegate }, // both tools are permitted here
  agents: { reviewer },
})

const call = (name: string, args: object = {}) => ({ id: `call-${name}`, name, arguments: args }) as never
const rules = [
  {
    when: { last_role: 'user', contains: 'Review' },
    reply: { tool_calls: [call('delegate', { agent: 'reviewer', task: 'Look at everything' })] },
  },
  { when: { last_role: 'user' }, reply: { tool_calls: [call('system_health')] } },
  { when: { last_role: 'tool', contains: '"components"' }, reply: { tool_calls: [call('list_agents')] } },
  { when: { last_role: 'tool' }, reply: { content: 'I looked as far as I may: {{last}}' } },
] as const
const provider = await scripted({ script: { model: 'demo', rules } }, nodeWorld())
await using runtime = await openRuntime({ project: project.path, provider })
const { content, audit } = await runtime.ask('Review the system')
assert.match(content, /inline policy health_only denied tool_call list_agents/) // the health it could see

const place = { path: audit.path, runId: parseId('run', audit.run_id), key: parsePublicKey(audit.public_key) }
const { root } = await verifyTree(nodeWorld(), place)
const runs = runsOf(root)
assert.deepEqual(
  runs.map(({ node }) => [node.name, node.result]),
  [
    [null, 'verified'],
    ['reviewer', 'verified'],
  ],
)
for (const { node, depth } of runs) {
  console.log(`${'  '.repeat(depth)}${node.name ?? 'coordinator'} ${node.run_id.slice(0, 8)} ${node.result}`)
}
