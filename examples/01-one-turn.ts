/** One governed turn in this process: policy decides, the tool runs, and the signed journal proves both. */
import { strict as assert } from 'node:assert'
import { nodeWorld, openRuntime, scripted } from 'symbi-runtime'
import { parseId, parsePublicKey, verifyRun } from 'symbi-runtime/journal'
import { temporaryProject } from 'symbi-runtime/testing'

await using project = temporaryProject() // in a program of yours: the folder that "symbi init" made
const world = nodeWorld()
const rules = [
  { when: { last_role: 'user' }, reply: { tool_calls: [{ id: 'call-1', name: 'system_health', arguments: {} }] } },
  { when: { last_role: 'tool' }, reply: { content: 'The runtime says: {{last}}' } },
] as const
const provider = await scripted({ script: { model: 'demo', rules } }, world) // or a real model: openAiCompatible, anthropic
await using runtime = await openRuntime({ project: project.path, provider })

const { content, audit } = await runtime.ask('Inspect system health')
const entries = await verifyRun(world, audit.path, parsePublicKey(audit.public_key), parseId('run', audit.run_id))

assert.match(content, /^The runtime says: \{/)
assert.ok(entries.some(({ event }) => event.kind === 'ToolDispatchStarted' && event.tool_name === 'system_health'))
console.log(`${content}\n${entries.length} journal entries verified`)
