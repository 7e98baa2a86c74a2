/**
 * Which tools a client is shown: all but those of which it is certain, without a call, that none can be allowed. Where the
 * toolbox or the gate cannot be certain, the tool is shown.
 */
import type { ToolDefinition } from '../events/index.ts'
import { mayAllow } from '../policy/index.ts'
import type { SessionSetup } from './session.ts'

export async function permittedTools(
  { toolbox, gate }: Pick<SessionSetup, 'toolbox' | 'gate'>,
  definitions: readonly ToolDefinition[],
  signal: AbortSignal,
): Promise<readonly ToolDefinition[]> {
  const passing = definitions
    .filter(({ name }) => toolbox.mayPass?.(name) ?? true)
    .map((definition) => ({ definition, action: toolbox.actionOf?.(definition.name) ?? null }))
  const actions = passing.flatMap(({ action }) => (action === null ? [] : [action]))
  const answers = await mayAllow(gate, actions, signal)
  const refused = new Set(actions.filter((_, at) => answers[at] === false))
  return passing.flatMap(({ definition, action }) => (action !== null && refused.has(action) ? [] : [definition]))
}
