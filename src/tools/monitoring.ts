/**
 * The coordinator's six monitoring tools (11.1): the runtime API as a model may ask it. They only read.
 *
 * That an agent is not registered, or that this runtime does not do something, is an answer and not an error: nothing had
 * an effect, so nothing is unknown, and a run need not stop over it. Every other fault leaves the call in error.
 */
import type { RuntimeApi } from '../api/index.ts'
import { defaultContract } from '../calls/index.ts'
import { CODES, Fault, idOrNull, isFault, type JsonObject, parseId } from '../core/index.ts'
import type { ToolDefinition } from '../events/index.ts'
import type { Resolution, Tool } from './tool.ts'

export function monitoringTools(api: RuntimeApi): readonly Tool[] {
  return [
    question('list_agents', 'Lists the ids of all registered agents.', (signal) => api.listAgents(signal)),
    agentStatus(api),
    question('query_metrics', 'Reads the counters and the resource usage of the runtime.', (signal) =>
      api.getMetrics(signal),
    ),
    question('list_schedules', 'Lists all schedules with their state and next run.', (signal) =>
      api.listSchedules(signal),
    ),
    question('scheduler_health', 'Reads the health of the scheduler.', (signal) => api.getSchedulerHealth(signal)),
    question('system_health', 'Reads the health of the whole runtime, component by component.', (signal) =>
      api.getSystemHealth(signal),
    ),
  ]
}

const NO_ARGUMENTS: JsonObject = { type: 'object', properties: {}, additionalProperties: false }

function question(name: string, description: string, ask: (signal: AbortSignal) => Promise<unknown>): Tool {
  return {
    definition: { name, description, parameters: NO_ARGUMENTS },
    run: (_args, { signal }) => answerOf(() => ask(signal)),
  }
}

const AGENT_STATUS: ToolDefinition = {
  name: 'agent_status',
  description: 'Reads the state and the resource usage of one agent.',
  parameters: {
    type: 'object',
    properties: { agent_id: { type: 'string', description: 'The UUID of the agent, as list_agents gives it' } },
    required: ['agent_id'],
    additionalProperties: false,
  },
}

function agentStatus(api: RuntimeApi): Tool {
  return {
    definition: AGENT_STATUS,
    oneAction: true,
    resolve: aboutAgent,
    run: ({ agent_id }, { signal }) => answerOf(() => api.getAgentStatus(parseId('agent', agent_id), signal)),
  }
}

/** The id in its one spelling before policy, so that a rule about an agent cannot be passed by writing it differently. */
function aboutAgent({ agent_id }: JsonObject): Resolution {
  const id = idOrNull('agent', agent_id)
  if (id === null) {
    throw new Fault('CALL_INVALID', {
      message: 'Cannot prepare the call of "agent_status": "agent_id" is not a UUID of 36 characters, or it is nil',
      hint: 'Call list_agents and give one of its ids',
    })
  }
  return {
    arguments: { agent_id: id },
    contract: { ...defaultContract(AGENT_STATUS), resource_type: 'Agent', resource_id: id },
    resolved: { runtime_resource: { kind: 'agent', id } },
  }
}

/** The API's answer as JSON text, as an HTTP client would get it. */
async function answerOf(ask: () => Promise<unknown>): Promise<string> {
  try {
    return JSON.stringify(await ask()) ?? 'null'
  } catch (error) {
    if (!isFault(error, 'AGENT_NOT_FOUND', 'NOT_CONFIGURED')) throw error
    return JSON.stringify({ code: error.code, error: CODES[error.code].says })
  }
}
