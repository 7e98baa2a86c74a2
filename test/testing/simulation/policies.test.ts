/** What policies mean to the laws, held against what the gate answers when it reads the same texts. */
import { expect, test } from 'vitest'
import { defaultContract, preparedCall } from '../../../src/calls/index.ts'
import { newId } from '../../../src/core/index.ts'
import { DEFAULT_LOOP_CONFIG } from '../../../src/events/index.ts'
import { cedarGate } from '../../../src/policy/index.ts'
import { allows, type PolicyText, writePolicies } from '../../../src/testing/simulation/life/policies.ts'
import { AMOUNT_MAX } from '../../../src/testing/simulation/life/scenario.ts'
import type { SimDisk } from '../../../src/testing/simulation/machine/disk.ts'
import { nodeWorld } from '../../../src/world/index.ts'

const TOOLS = ['charge', 'notify', 'wire', 'http_request', 'mcp__ledger__pay', 'erase', 'nothing_such']
const ARGUMENTS = [
  {},
  { amount: 1 },
  { amount: AMOUNT_MAX },
  { amount: AMOUNT_MAX + 1 },
  { amount: 1, to: 'somebody' },
  { amount: 1, to: 'nobody' },
]
const TEXTS: Record<Exclude<PolicyText, 'broken'>, true> = {
  ordinary: true,
  strict: true,
  lifted: true,
  removed: true,
  emptied: true,
}

/** The entries that a folder would be read as. */
function entriesOf(policies: PolicyText) {
  const files = new Map<string, string>()
  const disk: Pick<SimDisk, 'put' | 'remove' | 'visible'> = {
    put: (path, content) => void files.set(path, String(content)),
    remove: (path) => void files.delete(path),
    visible: () => null,
  }
  writePolicies(disk as SimDisk, policies)
  return [...files].map(([name, source]) => ({ name, source, active: true }))
}

const world = nodeWorld()
const run = {
  agent_id: newId('agent', world.random),
  started_at: world.clock.wall(),
  iteration: 1,
  trusted_context: {},
  config: DEFAULT_LOOP_CONFIG,
}

test.each(Object.keys(TEXTS) as PolicyText[])(
  'the laws take "%s" policies for what the gate takes them for',
  async (policies) => {
    using gate = cedarGate({ policies: entriesOf(policies), default: 'deny' })
    for (const name of TOOLS) {
      for (const args of ARGUMENTS) {
        const call = preparedCall({
          action: { ToolCall: { call_id: 'c', name, arguments: JSON.stringify(args) } },
          arguments: args,
          contract: defaultContract({ name, description: 'a tool', parameters: { type: 'object' } }),
        })
        const question = { call, run, approval: null, presented: null, remainingMs: 60_000 }
        const { kind } = await gate.decide(question, new AbortController().signal)
        expect(kind === 'Allow', `${name} ${JSON.stringify(args)}`).toBe(allows(name, args, policies))
      }
    }
  },
)
