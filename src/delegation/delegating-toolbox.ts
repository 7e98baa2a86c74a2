/**
 * The parent's toolbox with one tool more: `delegate`. It makes a proposed delegation into a prepared call whose target is
 * the declared name, so that policy judges `delegate::reviewer` whatever alias the model used, and it remembers which
 * frozen target each prepared call means (10.2). Everything else is the inner toolbox's.
 *
 * An inline policy may stand on either side. Inside, it binds the calls of this box as it binds its own; outside, it makes
 * bound ones of them, which are known again by the action and the facts that stay the same frozen objects. A delegation is
 * carried out only when this box, too, was asked about the very call that was granted, and let it pass (law 8).
 */
import { boundTo, type PreparedCall, preparedCall, type Toolbox } from '../calls/index.ts'
import { deepFreeze, Fault, type JsonObject } from '../core/index.ts'
import type { ProposedAction, ToolDefinition } from '../events/index.ts'
import { DELEGATE_TOOL } from '../loop/index.ts'
import { type AgentRegistry, type DelegationTarget, targetMetadata } from './target.ts'

export const TASK_BYTES_MAX = 64 * 1024

export interface DelegatingToolbox extends Toolbox {
  /** The target that this call was prepared for here; null for any other, and for one that was not let pass here. */
  targetOf(call: PreparedCall): DelegationTarget | null
}

export function delegatingToolbox(inner: Toolbox, registry: AgentRegistry): DelegatingToolbox {
  const definition = definitionOf(registry)
  const prepared = new WeakMap<
    PreparedCall['resolved'],
    { readonly call: PreparedCall; readonly target: DelegationTarget }
  >()
  const passed = new WeakSet<PreparedCall>()
  return Object.freeze({
    validate: () => {
      if (inner.definitions().some(({ name }) => name === DELEGATE_TOOL)) throw taken()
      inner.validate()
    },
    definitions: () => [...inner.definitions(), definition],
    context: () => inner.context(),
    prepare(action, offered) {
      if ('Delegate' in action) {
        const { call, target } = prepareDelegation(action.Delegate, offered, registry)
        prepared.set(call.resolved, { call, target })
        const policy = inner.context().source_policy
        return policy === undefined ? call : boundTo(call, policy as JsonObject)
      }
      if ('ToolCall' in action && action.ToolCall.name === DELEGATE_TOOL) {
        throw invalid('its arguments must be "agent" and "task", both text, and nothing else')
      }
      return inner.prepare(action, offered)
    },
    restrict(call, run) {
      passed.delete(call)
      const refusal = inner.restrict(call, run)
      if (refusal === null) passed.add(call)
      return refusal
    },
    mayPass: (name) => name === DELEGATE_TOOL || (inner.mayPass?.(name) ?? true),
    actionOf: (name) => (name === DELEGATE_TOOL ? null : (inner.actionOf?.(name) ?? null)), // one for each target
    execute: (calls, scope, signal) => inner.execute(calls, scope, signal),
    cancelRun: (runKey, deadlineMs) => inner.cancelRun(runKey, deadlineMs),
    cleanUp: (runKey) => inner.cleanUp(runKey),
    targetOf(call) {
      const own = prepared.get(call.resolved)
      return own !== undefined && own.call.action === call.action && passed.has(call) ? own.target : null
    },
  } satisfies DelegatingToolbox)
}

function prepareDelegation(
  { call_id, target: requested, message }: Extract<ProposedAction, { Delegate: unknown }>['Delegate'],
  offered: readonly ToolDefinition[],
  registry: AgentRegistry,
): { readonly call: PreparedCall; readonly target: DelegationTarget } {
  if (!offered.some(({ name }) => name === DELEGATE_TOOL)) throw invalid('this run does not offer it')
  const bytes = Buffer.byteLength(message)
  if (bytes > TASK_BYTES_MAX) throw invalid(`the task holds ${bytes} bytes and ${TASK_BYTES_MAX} are allowed`)
  const resolved = registry.resolve(requested)
  if (resolved.kind === 'Unknown') throw invalid(`no agent is called ${quoted(requested)}`)
  if (resolved.kind === 'Unavailable') throw invalid(`agent ${quoted(requested)} is unavailable: ${resolved.reason}`)
  const { target } = resolved
  const call = preparedCall({
    action: { Delegate: { call_id, target: target.name, message } },
    arguments: null,
    contract: null,
    resolved: { requested_name: requested, delegation_target: targetMetadata(target) },
  })
  return { call, target }
}

const NAMED_MAX = 64
const DESCRIPTION_CHARACTERS_MAX = 200

/** Names the agents to the model. Bounded, because the definition stands in the first entry of every journal. */
function definitionOf({ targets }: AgentRegistry): ToolDefinition {
  const named = targets.slice(0, NAMED_MAX).map(({ name, description }) => `${name}: ${shortened(description)}`)
  const more = targets.length > NAMED_MAX ? [`and ${targets.length - NAMED_MAX} more`] : []
  const parameters: JsonObject = {
    type: 'object',
    properties: {
      agent: { type: 'string', description: 'The name of the agent' },
      task: { type: 'string', description: 'What it is to do, with everything it needs to know' },
    },
    required: ['agent', 'task'],
    additionalProperties: false,
  }
  return deepFreeze({
    name: DELEGATE_TOOL,
    description: ['Hands a task to another agent and returns its answer.', ...named, ...more].join('\n'),
    parameters,
  })
}

function shortened(text: string): string {
  const line = text.replace(/\s+/g, ' ')
  return line.length <= DESCRIPTION_CHARACTERS_MAX
    ? line
    : `${line.slice(0, DESCRIPTION_CHARACTERS_MAX - 1)}…`.toWellFormed()
}

function quoted(name: string): string {
  return JSON.stringify(name.slice(0, 128))
}

function invalid(reason: string): Fault {
  return new Fault('CALL_INVALID', {
    message: `Cannot prepare the delegation: ${reason}`,
    hint: 'Name one of the agents that the tool describes, and say in the task what it is to do',
  })
}

function taken(): Fault {
  return new Fault('CONFIG_INVALID', {
    message: `Cannot use the tool "${DELEGATE_TOOL}": the name belongs to delegation`,
    hint: 'Give your tool another name',
  })
}
