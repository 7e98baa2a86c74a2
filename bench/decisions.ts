/**
 * Decisions of the real gate: with 1 policy, with 100 and with 1,000 over 100 actions. Preparing them is not counted. All of them
 * read the same argument, so that what is compared is their number; Cedar is shown only what is read, which has a line of its own.
 */
import { defaultContract, preparedCall } from '../src/calls/index.ts'
import { assert, newId } from '../src/core/index.ts'
import { DEFAULT_LOOP_CONFIG } from '../src/events/index.ts'
import { CedarEngine, cedarGate, type Gate, type GateQuestion, type PolicyEntry } from '../src/policy/index.ts'
import { nodeWorld } from '../src/world/index.ts'
import type { Bench, Context } from './bench.ts'
import { type Result, resultOf } from './result.ts'
import { compare, timed } from './rounds.ts'

export const decisions: Bench = { name: 'decisions', measure }

const ACTIONS = 100

async function measure(context: Context): Promise<readonly Result[]> {
  const engine = new CedarEngine()
  const one = cedarGate({ policies: policies(1), default: 'deny', engine })
  const hundred = cedarGate({ policies: policies(100), default: 'deny', engine })
  const blind = cedarGate({ policies: [policy(0, '')], default: 'deny', engine })
  const thousand = cedarGate({ policies: policies(1000), default: 'deny', engine })
  const asked = context.quick ? 20 : 1000
  const times = (gate: Gate) => async (): Promise<number> => {
    const { wallMs } = await timed(async () => {
      for (let count = 0; count < asked; count += 1) {
        const decision = await gate.decide(QUESTION, NEVER)
        assert(decision.kind === 'Allow', 'a measured decision allows')
      }
    })
    return (wallMs * 1000) / asked
  }
  const few = await compare(context, times(hundred), times(one))
  const many = await compare(context, times(thousand), times(one))
  const unread = await compare(context, times(blind), times(one))
  return [
    resultOf({ name: 'decisions, 1 policy', value: 1e6 / few.floor, unit: 'decisions/s' }),
    resultOf({ name: 'decision, 1 policy that reads no argument', ...unread, unit: 'us' }),
    resultOf({
      name: 'decision, 100 policies over 100 actions',
      ...few,
      unit: 'us',
      target: { of: 'ratio', bound: 'at most', limit: 1.5 },
    }),
    resultOf({
      name: 'decision, 1,000 policies over 100 actions',
      ...many,
      unit: 'us',
      target: { of: 'ratio', bound: 'at most', limit: 2 },
    }),
    resultOf({ name: 'decisions, 1,000 policies', value: 1e6 / many.value, unit: 'decisions/s' }),
  ]
}

/** Each looks at an argument. The first permits the measured call; the others of its action permit other ones. */
function policies(count: number): readonly PolicyEntry[] {
  return Array.from({ length: count }, (_, index) => {
    const path = index === 0 ? PATH : `/srv/${index}`
    return policy(
      index,
      ` when { context.invocation.arguments has path && context.invocation.arguments.path == "${path}" }`,
    )
  })
}

function policy(index: number, condition: string): PolicyEntry {
  const action = `Action::"tool_call::tool_${index % ACTIONS}"`
  return {
    name: `policy-${index}`,
    source: `permit(principal, action == ${action}, resource)${condition};`,
    active: true,
  }
}

const PATH = '/srv/www'

const NEVER = new AbortController().signal
const QUESTION = question()

function question(): GateQuestion {
  const world = nodeWorld()
  const definition = { name: 'tool_0', description: 'a tool', parameters: { type: 'object' } }
  return {
    call: preparedCall({
      action: { ToolCall: { call_id: 'call-1', name: 'tool_0', arguments: JSON.stringify({ path: PATH }) } },
      arguments: { path: PATH },
      contract: defaultContract(definition),
    }),
    run: {
      agent_id: newId('agent', world.random),
      started_at: world.clock.wall(),
      iteration: 1,
      trusted_context: {},
      config: DEFAULT_LOOP_CONFIG,
    },
    approval: null,
    presented: null,
    remainingMs: 60_000,
  }
}
