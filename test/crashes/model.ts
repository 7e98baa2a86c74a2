/** A model that does what its last user message says, and says afterwards what came of it. */
import type { Conversation, Provider, ToolCallRequest } from '../../src/runtime/index.ts'
import { confirmedIn, type Plan, type Step } from './scenarios.ts'

export function plannedModel(origin: string): Provider {
  return {
    name: 'planned',
    defaultModel: 'planned',
    countInput: () => null,
    complete: async ({ messages }: Conversation) => {
      const asked = messages.findLastIndex(({ role }) => role === 'user')
      const results = messages.slice(asked).filter(({ role }) => role === 'tool')
      const calls = nextRound(planIn(messages[asked]?.content ?? ''), results.length)
      return {
        content: calls === null ? `done: ${confirmedIn(results.map(({ content }) => content))}` : '',
        tool_calls: calls === null ? [] : calls.map((step, index) => callOf(origin, step, results.length + index)),
        finish_reason: calls === null ? 'stop' : 'tool_calls',
        usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
        model: 'planned',
      }
    },
  }
}

export function planIn(text: string): Plan {
  return JSON.parse(text.slice(text.indexOf('{'), text.lastIndexOf('}') + 1)) as Plan
}

/** The round that follows on so many results, or null when all are done. */
function nextRound({ rounds }: Plan, results: number): readonly Step[] | null {
  let before = 0
  for (const round of rounds) {
    if (before === results) return round
    before += round.length
  }
  return null
}

function callOf(origin: string, step: Step, index: number): ToolCallRequest {
  const id = `call-${index + 1}`
  return 'path' in step
    ? { id, name: 'http_request', arguments: JSON.stringify({ method: 'GET', url: `${origin}${step.path}` }) }
    : { id, name: 'delegate', arguments: JSON.stringify({ agent: step.agent, task: JSON.stringify(step.plan) }) }
}
