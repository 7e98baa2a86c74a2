/** Whom an API key acts as: the operator's file of keys says it, and a client can only choose among what that allows. */
import { type Caller, mayUse } from '../access/index.ts'
import { Fault } from '../core/index.ts'
import type { AgentRegistry, DelegationTarget } from '../delegation/index.ts'

/** A key of exactly one agent is that agent; every other key names one with `?agent=NAME`. */
export function agentFor(registry: AgentRegistry, caller: Caller, query: URLSearchParams): DelegationTarget {
  const names = query.getAll('agent')
  const [name] = names
  if (names.length > 1) throw notSaid('the address names more than one')
  const scope = caller.agent_scope
  if (name === undefined) {
    if (scope === null) throw notSaid('an admin key is no agent')
    if (scope.length !== 1) throw notSaid(`the key may act as ${scope.length} agents`)
    const own = registry.targets.find(({ principal }) => principal === scope[0])
    if (own === undefined) throw unknownAgent('the agent of this key')
    return own
  }
  const resolved = registry.resolve(name)
  if (resolved.kind === 'Target' && mayUse(caller, resolved.target.principal)) return resolved.target
  if (scope === null) throw unknownAgent(JSON.stringify(name.slice(0, 64)))
  // of agents outside its scope a key does not learn whether they exist
  throw new Fault('AGENT_SCOPE_DENIED', {
    message: 'API key is not scoped to this agent',
    hint: 'Use a key whose scope holds this agent',
  })
}

function notSaid(state: string): Fault {
  return new Fault('AGENT_AMBIGUOUS', {
    message: `Cannot tell which agent the client acts as: ${state}`,
    hint: 'Name one in the address, as in /mcp?agent=NAME, or use a key of one agent',
  })
}

function unknownAgent(which: string): Fault {
  return new Fault('AGENT_UNKNOWN', {
    message: `Cannot act as ${which}: the project has no such agent, or it cannot be used`,
    hint: 'Look for it with "symbi doctor" on the machine of the server',
  })
}
