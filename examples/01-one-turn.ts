/** One governed turn in this process: policy decides, the tool runs, and the signed journal proves both. */
import { strict as assert } from 'node:assert'
import { nodeWorld, openRuntime, scripted } from 'symbi-runtime'
import { parseId, parsePublicKey, verifyRun } from 'symbi-runtime/journal'
import { temporaryProject } from 'symbi-runtime/testing'

const rules = [
  { when: { last_role: 'user' }, reply: { tool_calls: [{ id: 'call-1', name: 'system_health', arguments: {} }] } },
  { when: { last_role: 'tool' }, reply: { content: 'The runtime says: {{last}}' } },
] as const
const provider = await scripted({ script: { model: 'demo', rules } }, nodeWorld()) // or openAiCompatible, anthropic, yours
await using project = temporaryProject() // in a program of yours: the folder that "symbi init" made
await using runtime = await openRuntime({ project: project.path, provider })
const { content, audit } = await runtime.ask('Inspect system health')
const [key, run] = [parsePublicKey(audit.public_key), parseId('run', audit.run_id)]
const entries = await verifyRun(nodeWorld(), audit.path, key, run) // throws unless every record is as it was signed
assert.ok(entries.some(({ event }) => event.kind === 'ToolDispatchStarted' && event.tool_name === 'system_health'))
console.log(`${content}\n${entries.length} entries verified`)
