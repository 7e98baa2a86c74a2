/**
 * The job that is measured: one run asks for trivial tool calls, one after another, with a model that answers at once; and
 * the same calls by a client of a governed tool session. Everything but model and tool is the real thing.
 */
import { type AgentId, assert, newId } from '../src/core/index.ts'
import { DEFAULT_LOOP_CONFIG, type EventLog } from '../src/events/index.ts'
import { type LoopResult, runLoop } from '../src/loop/index.ts'
import { CedarEngine, cedarGate, type Gate } from '../src/policy/index.ts'
import type { Conversation, InferenceOptions, InferenceResponse, Provider } from '../src/providers/index.ts'
import { GovernedToolSession } from '../src/session/index.ts'
import { toolbox } from '../src/tools/index.ts'
import { nodeWorld, type World } from '../src/world/index.ts'

const POLICY = 'permit(principal, action in [Action::"tool_call::look", Action::"respond"], resource);'

export interface Workload {
  readonly world: World
  readonly principal: AgentId
  /** One run of the loop: so many tool calls, then a reply. */
  run(log: EventLog, calls: number): Promise<LoopResult>
  /** One session of a broker's client, from its start to its end: so many calls, one after another. */
  session(log: EventLog, calls: number): Promise<void>
  /** The same calls of the same tool, and nothing around them. */
  direct(calls: number): Promise<void>
}

export interface WorkloadParts {
  readonly world?: World
  /** Told each request before the model answers it. */
  readonly asked?: (conversation: Conversation, options: InferenceOptions) => void
  readonly engine?: CedarEngine
}

export function workload(parts: WorkloadParts = {}): Workload {
  const world = parts.world ?? nodeWorld()
  const principal = newId('agent', world.random)
  const gate: Gate = cedarGate({
    policies: [{ name: 'bench', source: POLICY, active: true }],
    default: 'deny',
    engine: parts.engine ?? new CedarEngine(),
  })
  const box = toolbox({ tools: [LOOK] }, world)
  const config = { ...DEFAULT_LOOP_CONFIG, max_iterations: 1000, timeout: { secs: 3600, nanos: 0 } }
  return {
    world,
    principal,
    async run(log, calls) {
      const result = await runLoop(
        {
          world,
          principal,
          gate,
          toolbox: box,
          log,
          provider: model(calls, parts.asked),
          config,
          messages: [
            { role: 'system', content: "You are agent 'bench'. Look until you know." },
            { role: 'user', content: 'Look twenty times, and tell me what you saw.' },
          ],
        },
        new AbortController().signal, // one a run, as each caller has its own
      )
      assert(result.termination_reason === 'Completed', 'a measured run comes to its end')
      return result
    },
    async session(log, calls) {
      const never = new AbortController().signal
      const session = await GovernedToolSession.start({ world, principal, gate, toolbox: box, log, config })
      for (let call = 0; call < calls; call += 1) {
        const { call_id, name } = action(call).ToolCall
        const seen = await session.call({ call_id, name, arguments: argumentsOf(call) }, never)
        assert(!seen.is_error, 'a measured call is allowed and succeeds')
      }
      await session.close()
    },
    async direct(calls) {
      for (let call = 0; call < calls; call += 1) {
        const seen = await LOOK.run(argumentsOf(call))
        assert(seen !== '', 'a measured call succeeds')
      }
    },
  }
}

function argumentsOf(call: number): { readonly direction: string; readonly distance: number } {
  return { direction: 'north', distance: call }
}

function action(call: number) {
  return { ToolCall: { call_id: `call-${call}`, name: 'look', arguments: JSON.stringify(argumentsOf(call)) } }
}

const LOOK = {
  definition: {
    name: 'look',
    description: 'Looks in a direction and says what is there.',
    parameters: {
      type: 'object',
      properties: { direction: { type: 'string' }, distance: { type: 'integer', minimum: 0 } },
      required: ['direction', 'distance'],
    },
  },
  run: async (_args: object) => 'A wide green field, a river behind it, and a mill.',
}

function model(calls: number, asked: WorkloadParts['asked']): Provider {
  let answered = 0
  return {
    name: 'bench',
    defaultModel: 'bench',
    countInput: () => 100,
    async complete(conversation, options): Promise<InferenceResponse> {
      asked?.(conversation, options)
      const call = answered
      answered += 1
      const proposed = call < calls ? [action(call).ToolCall] : []
      return {
        content: proposed.length === 0 ? 'A mill.' : '',
        tool_calls: proposed.map(({ call_id, name, arguments: text }) => ({ id: call_id, name, arguments: text })),
        finish_reason: proposed.length === 0 ? 'stop' : 'tool_calls',
        usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
        model: 'bench',
      }
    },
  }
}

/** A model for whole chat messages: asks for the health of the system, then says that all is well. */
export function chatModel(): Provider {
  return {
    name: 'bench',
    defaultModel: 'bench',
    countInput: () => 100,
    async complete({ messages }): Promise<InferenceResponse> {
      const asks = messages.at(-1)?.role === 'user'
      return {
        content: asks ? '' : 'All is well.',
        tool_calls: asks ? [{ id: 'health', name: 'system_health', arguments: '{}' }] : [],
        finish_reason: asks ? 'tool_calls' : 'stop',
        usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
        model: 'bench',
      }
    },
  }
}
