/**
 * One delegated turn, the same in every process: the coordinator hands a task to `reviewer`, the reviewer looks at the
 * system's health, and both answer with what came back. The look is the effect: another process is asked, and counts.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type RuntimeApi, unconfiguredApi } from '../../src/api/index.ts'
import type { Conversation, Provider } from '../../src/runtime/index.ts'
import { type TemporaryProject, temporaryProject } from '../../src/testing/index.ts'

export const CONTENT = 'Let the reviewer look at the system'
export const HEALTHY = 'fixture-healthy'

/** Exactly what the turn needs, and nothing else. */
const POLICY = `permit(
  principal,
  action in [Action::"respond", Action::"delegate::reviewer", Action::"tool_call::system_health"],
  resource
);`

export function delegatingProject(): TemporaryProject {
  const project = temporaryProject({ policies: { default: POLICY } })
  mkdirSync(join(project.path, 'agents'))
  writeFileSync(join(project.path, 'agents', 'reviewer.symbi'), 'agent reviewer {}\n')
  return project
}

/** `onChild` is waited for each time before the reviewer's model answers. */
export function delegatingModel(onChild: (signal: AbortSignal) => void | Promise<void> = () => undefined): Provider {
  return {
    name: 'delegating',
    defaultModel: 'delegating',
    countInput: () => null,
    complete: async ({ messages }: Conversation, _options, signal) => {
      const isChild = messages[0]?.content.startsWith("You are agent 'reviewer'.") === true
      if (isChild) await onChild(signal)
      const result = messages.findLast(({ role }) => role === 'tool')
      const call = isChild
        ? { id: 'health-call', name: 'system_health', arguments: '{}' }
        : { id: 'delegate-call', name: 'delegate', arguments: '{"agent":"reviewer","task":"Is it healthy?"}' }
      return {
        content: result?.content ?? '',
        tool_calls: result === undefined ? [call] : [],
        finish_reason: result === undefined ? 'tool_calls' : 'stop',
        usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
        model: 'delegating',
      }
    },
  }
}

/** A look at the health is a request to `url`, which learns for which invocation it is made. Nothing else is answered. */
export function countedApi(url: string, invocation: string): RuntimeApi {
  return unconfiguredApi({
    getSystemHealth: async (signal) => {
      const response = await fetch(url, { method: 'POST', body: invocation, signal })
      return { status: await response.text() }
    },
  })
}
