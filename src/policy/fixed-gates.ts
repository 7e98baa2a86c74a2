/**
 * Gates that need no policy language: the fail-closed default, the permissive one for development, the tool filter, and the
 * one that denies everything. None has an approver, so none waives an approval that a contract requires ([D3]).
 */
import { isTerminal, type PreparedCall, sourceOf } from '../calls/index.ts'
import { type Decision, deny, type Gate, type GateQuestion, withoutApprover } from './gate.ts'

/** Where no policy is configured: nothing takes effect, and the agent may still answer. */
export function failClosedGate(): Gate {
  return { ...fixedGate('fail-closed', ({ call }) => failClosed(call)), mayAllow: none }
}

/** What that gate decides about a call. */
export function failClosed({ action }: PreparedCall): Decision {
  return isTerminal(action) ? ALLOW : deny(`no policy is configured, so "${sourceOf(action)}" is not allowed`)
}

/** For development only. Whoever opens it says so, and is warned about every single action. */
export function permissiveGate(warn: (message: string) => void): Gate {
  const allowed = ({ call, run }: GateQuestion): Decision => {
    warn(`INSECURE: policy is switched off, and "${sourceOf(call.action)}" is allowed for agent ${run.agent_id}`)
    return ALLOW
  }
  return { ...fixedGate('permissive', allowed), preview: async () => ALLOW }
}

/** Tool calls by name; delegations and replies are not filtered. */
export function toolFilterGate(names: Iterable<string>): Gate {
  const allowed = new Set(names)
  return fixedGate('tool-filter', ({ call: { action } }) =>
    !('ToolCall' in action) || allowed.has(action.ToolCall.name)
      ? ALLOW
      : deny(`the tool "${action.ToolCall.name}" is not on the list of allowed tools`),
  )
}

/** Where policies exist but cannot be used: replies are denied as well. `detail` is for operators only. */
export function denyEverythingGate(reason: string, detail: readonly string[] = []): Gate {
  return { ...fixedGate('deny-everything', () => deny(reason, [], detail)), mayAllow: none }
}

const none: NonNullable<Gate['mayAllow']> = async (actions) => actions.map(() => false)

const ALLOW: Decision = Object.freeze({ kind: 'Allow', policies: Object.freeze([]) })

function fixedGate(name: string, answer: (question: GateQuestion) => Decision): Gate {
  const decide: Gate['decide'] = async (question, signal) =>
    signal.aborted ? deny('the question was cancelled before policy answered') : answer(question)
  return { name, approve: async (question) => withoutApprover(question), decide, preview: decide }
}
