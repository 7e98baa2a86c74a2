/**
 * The call that `symbi policy evaluate` is asked about, in each of its forms, as the request that Cedar is to judge.
 *
 * A person writes the short form; a decision that a replay printed is taken as it was recorded. The older form
 * `{tool_name, tool_input}` names another principal, action and context.
 */
import { defaultContract, type PreparedCall, preparedCall, sourceOf } from '../../calls/index.ts'
import {
  type AgentId,
  canonical,
  Fault,
  fit,
  isJsonObject,
  type JsonObject,
  parseId,
  shapes,
  type TypeOf,
} from '../../core/index.ts'
import type { CedarRequest } from '../cedar/cedar-engine.ts'
import { cedarRequest, type RequestOutcome } from '../cedar/cedar-request.ts'
import { cedarValue, Unfit } from '../cedar/cedar-value.ts'
import { recordedCall } from './recorded-call.ts'

export interface Subject {
  readonly mapping: 'runtime' | 'legacy'
  /** What that mapping is, in a sentence. */
  readonly mapping_note: string
  /** The tool, `delegate::<target>`, `respond` or `terminate`. */
  readonly subject: string
  /** Before policy is asked at all, a person must approve a call whose contract wants it. */
  readonly approval: 'not needed' | 'given' | 'missing'
}

/** The agent of a call that names none. */
const SOME_AGENT = '00000000-0000-4000-8000-000000000000'

const contractShape = shapes.object({
  version: shapes.optional(shapes.text),
  action_type: shapes.optional(shapes.text),
  action_id: shapes.optional(shapes.text),
  resource_type: shapes.optional(shapes.text),
  resource_id: shapes.optional(shapes.text),
  requires_approval: shapes.optional(shapes.bool),
})
const runtimeShape = shapes.object({
  agent_id: shapes.optional(shapes.text),
  /** Exactly one of the next four. */
  tool: shapes.optional(shapes.text),
  delegate: shapes.optional(shapes.text),
  respond: shapes.optional(shapes.text),
  terminate: shapes.optional(shapes.text),
  /** Of the tool call. */
  arguments: shapes.optional(shapes.jsonObject),
  /** What a tool with a contract of its own changes of the default one. */
  contract: shapes.optional(contractShape),
  /** The trusted context that the runtime would have. */
  context: shapes.optional(shapes.jsonObject),
  /** True: as if a person had approved this very call. */
  approved: shapes.optional(shapes.bool),
})
const legacyShape = shapes.object({ tool_name: shapes.text, tool_input: shapes.optional(shapes.jsonObject) })

/** What `symbi policy replay --json` says of a decision. What else it says is no part of the question. */
const recordedShape = shapes.open({
  agent_id: shapes.id('agent'),
  call: shapes.jsonObject,
  context: shapes.jsonObject,
  approved: shapes.bool,
})

/** Throws `INVALID_REQUEST` for an input of none of the forms. */
export function subjectOf(input: unknown): Subject & { readonly outcome: RequestOutcome } {
  if (isJsonObject(input) && Object.hasOwn(input, 'tool_name')) return legacySubject(input)
  if (isJsonObject(input) && Object.hasOwn(input, 'call')) return recordedSubject(input)
  const { agent_id, context, approved, ...wanted } = fit(runtimeShape, input, WHAT)
  return runtimeSubject({
    call: callOf(wanted),
    agent_id: parseId('agent', agent_id ?? SOME_AGENT),
    context: context ?? {},
    approved: approved === true,
  })
}

const WHAT = 'the call to evaluate'

function recordedSubject(input: JsonObject): ReturnType<typeof subjectOf> {
  const { agent_id, call: view, context, approved } = fit(recordedShape, input, WHAT)
  const call = recordedCall(view)
  if (call !== null) return runtimeSubject({ call, agent_id, context, approved })
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

function runtimeSubject({ call, agent_id, context, approved }: Asked): ReturnType<typeof subjectOf> {
  const { action, contract, fingerprint } = call
  return {
    mapping: 'runtime',
    mapping_note: 'judged as the gate of the runtime judges it',
    subject: 'Delegate' in action ? `delegate::${action.Delegate.target}` : sourceOf(action),
    approval: approved ? 'given' : contract?.requires_approval === true ? 'missing' : 'not needed',
    outcome: cedarRequest({
      call,
      agent_id,
      trusted_context: context,
      approvedFingerprint: approved ? fingerprint : null,
    }),
  }
}

type Wanted = Omit<TypeOf<typeof runtimeShape>, 'agent_id' | 'context' | 'approved'>

function callOf(wanted: Wanted): PreparedCall {
  const { tool, delegate, respond, terminate } = wanted
  const named = [tool, delegate, respond, terminate].filter((value) => value !== undefined)
  if (named.length !== 1 || (tool === undefined && (wanted.arguments !== undefined || wanted.contract !== undefined))) {
    throw new Fault('INVALID_REQUEST', {
      message: 'Cannot evaluate the call: it must name one of "tool", "delegate", "respond" or "terminate"',
      hint: 'Give for example {"agent_id":"…","tool":"name","arguments":{}}; arguments and contract belong to a tool',
    })
  }
  const bare = { arguments: null, contract: null }
  if (tool !== undefined) {
    const value: JsonObject = wanted.arguments ?? {}
    const contract = { ...defaultContract({ name: tool, description: '', parameters: {} }), ...wanted.contract }
    const action = { ToolCall: { call_id: 'evaluate', name: tool, arguments: canonical(value) } }
    return preparedCall({ action, arguments: value, contract })
  }
  if (delegate !== undefined) {
    return preparedCall({ action: { Delegate: { call_id: 'evaluate', target: delegate, message: '' } }, ...bare })
  }
  if (respond !== undefined) return preparedCall({ action: { Respond: { content: respond } }, ...bare })
  return preparedCall({ action: { Terminate: { reason: terminate ?? '', output: '' } }, ...bare })
}

function legacySubject(input: JsonObject): Subject & { readonly outcome: RequestOutcome } {
  const { tool_name, tool_input } = fit(legacyShape, input, WHAT)
  return {
    mapping: 'legacy',
    mapping_note:
      'judged by the older mapping (Symbi::Agent::"claude-code", Symbi::Action, context.tool_input), which is not the one of the runtime\'s gate',
    subject: tool_name,
    approval: 'not needed',
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
