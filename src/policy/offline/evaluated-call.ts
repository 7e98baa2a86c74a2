/**
 * The call that `symbi policy evaluate` is asked about, in each of its forms, as the request that Cedar is to judge.
 *
 * A person writes the short form; a decision that a replay printed is taken as it was recorded. The older form
 * `{tool_name, tool_input}` names another principal, action and context.
 */
import {
  defaultContract,
  type PreparedCall,
  preparedCall,
  proposedArguments,
  sourceOf,
  type ToolContract,
} from '../../calls/index.ts'
import { type AgentId, Fault, fit, isFault, isJsonObject, type JsonObject, shapes } from '../../core/index.ts'
import type { ProposedAction } from '../../events/index.ts'
import { approvalNeed } from '../approvals/held-call.ts'
import type { CedarRequest } from '../cedar/cedar-engine.ts'
import { cedarRequest, type RequestOutcome } from '../cedar/cedar-request.ts'
import { cedarValue, Unfit } from '../cedar/cedar-value.ts'
import { recordedCall } from './recorded-call.ts'
import { WHAT, writtenCall } from './written-call.ts'

export interface Subject {
  readonly mapping: 'runtime' | 'legacy'
  /** What that mapping is, in a sentence. */
  readonly mapping_note: string
  /** The tool, `delegate::<target>`, `respond` or `terminate`. */
  readonly subject: string
  /** Before policy is asked at all, a person must approve a call whose contract, or whose operator, wants it. */
  readonly approval: 'not needed' | 'given' | 'missing'
  /** Why it needs one; null when it needs none. */
  readonly approval_reason: string | null
}

const legacyShape = shapes.object({ tool_name: shapes.text, tool_input: shapes.optional(shapes.jsonObject) })

/** What `symbi policy replay --json` says of a decision. What else it says is no part of the question. */
const recordedShape = shapes.open({
  agent_id: shapes.id('agent'),
  call: shapes.jsonObject,
  context: shapes.jsonObject,
  approved: shapes.bool,
})

/** What the runtime of the project knows of a call before policy is asked. */
export interface Around {
  /** Prepares a call as a run would. Throws `CALL_INVALID` for one that a run refuses. */
  readonly prepare: (action: ProposedAction) => Promise<PreparedCall>
  /** What the trusted context of every run of the surface holds. */
  readonly context: JsonObject
  /** Tools of which the operator wants every call approved. */
  readonly approvalTools: ReadonlySet<string>
}

export interface EvaluatedCall extends Subject {
  readonly outcome: RequestOutcome
}

/** Throws `INVALID_REQUEST` for an input of none of the forms. */
export async function subjectOf(
  input: unknown,
  { prepare, context: given, approvalTools }: Around,
): Promise<EvaluatedCall> {
  if (isJsonObject(input) && Object.hasOwn(input, 'tool_name')) return legacySubject(input)
  if (isJsonObject(input) && Object.hasOwn(input, 'call')) return runtimeSubject(recorded(input), approvalTools)
  const { action, contract, context, ...asked } = writtenCall(input)
  try {
    const call = withContract(await prepare(action), contract)
    return runtimeSubject({ ...asked, context: { ...given, ...context }, call }, approvalTools)
  } catch (error) {
    if (!isFault(error, 'CALL_INVALID')) throw error
    const outcome = { kind: 'Unfit', reason: `policy is not asked: ${error.message}` } as const
    return { ...RUNTIME, subject: nameOf(action), approval: 'not needed', approval_reason: null, outcome }
  }
}

/** Of a tool that nobody knows here: as it is given, with a contract that says nothing of its own. */
export async function asGiven(action: ProposedAction): Promise<PreparedCall> {
  if (!('ToolCall' in action)) return preparedCall({ action, arguments: null, contract: null })
  const { name, arguments: text } = action.ToolCall
  const contract = defaultContract({ name, description: '', parameters: {} })
  return preparedCall({ action, arguments: proposedArguments(name, text), contract })
}

function withContract(call: PreparedCall, changes: Partial<ToolContract>): PreparedCall {
  if (call.contract === null || Object.keys(changes).length === 0) return call
  return preparedCall({ ...call, contract: { ...call.contract, ...changes } })
}

function recorded(input: JsonObject): Asked {
  const { agent_id, call: view, context, approved } = fit(recordedShape, input, WHAT)
  const call = recordedCall(view)
  if (call !== null) return { call, agent_id, context, approved }
  throw new Fault('INVALID_REQUEST', {
    message: 'Cannot evaluate the call: it is not complete, or its fingerprint is that of another call',
    hint: 'Give a line of "symbi policy replay --json" as it was printed, or {"tool":"name","arguments":{}}',
  })
}

interface Asked {
  readonly call: PreparedCall
  readonly agent_id: AgentId
  readonly context: JsonObject
  readonly approved: boolean
}

const RUNTIME = { mapping: 'runtime', mapping_note: 'judged as the gate of the runtime judges it' } as const

function runtimeSubject({ call, agent_id, context, approved }: Asked, tools: ReadonlySet<string>): EvaluatedCall {
  const { action, fingerprint } = call
  const need = approvalNeed(call, tools)
  return {
    ...RUNTIME,
    subject: nameOf(action),
    approval: approved ? 'given' : need === null ? 'not needed' : 'missing',
    approval_reason: need,
    outcome: cedarRequest({
      call,
      agent_id,
      trusted_context: context,
      approvedFingerprint: approved ? fingerprint : null,
    }),
  }
}

function nameOf(action: ProposedAction): string {
  return 'Delegate' in action ? `delegate::${action.Delegate.target}` : sourceOf(action)
}

function legacySubject(input: JsonObject): EvaluatedCall {
  const { tool_name, tool_input } = fit(legacyShape, input, WHAT)
  return {
    mapping: 'legacy',
    mapping_note:
      'judged by the older mapping (Symbi::Agent::"claude-code", Symbi::Action, context.tool_input), which is not the one of the runtime\'s gate',
    subject: tool_name,
    approval: 'not needed',
    approval_reason: null,
    outcome: legacyRequest(tool_name, tool_input ?? {}),
  }
}

function legacyRequest(tool: string, toolInput: JsonObject): RequestOutcome {
  try {
    return {
      kind: 'Request',
      request: {
        principal: { type: 'Symbi::Agent', id: 'claude-code' },
        action: { type: 'Symbi::Action', id: `tool_call::${tool}` },
        resource: { type: 'Symbi::Resource', id: 'default' },
        context: cedarValue({ tool_input: toolInput }, 'context') as CedarRequest['context'],
        entities: [],
      },
    }
  } catch (error) {
    if (error instanceof Unfit) return { kind: 'Unfit', reason: `the call cannot be shown to policy: ${error.message}` }
    throw error
  }
}
