/**
 * The forms in which a call may be given to `symbi policy explain`: as the model proposes it, as a delegation, and as
 * `symbi policy evaluate` reads it. What the author knows of the rest of the run may stand beside it.
 */
import {
  type AgentId,
  canonical,
  Fault,
  fit,
  isJsonObject,
  type Json,
  type JsonObject,
  parseId,
  type Shape,
  shapes,
} from '../../core/index.ts'
import type { ProposedAction } from '../../events/index.ts'

export interface NamedCall {
  readonly action: ProposedAction
  /** As whom the agent is to run; null for its own principal. */
  readonly principal: AgentId | null
  /** What the trusted context is to hold besides what the tools say of themselves. */
  readonly context: JsonObject
}

/** Throws `INVALID_REQUEST` for what is none of the forms, or two of them at once. */
export function namedCall(input: Json): NamedCall {
  const call = isJsonObject(input) ? input : {}
  const [form, other] = FORMS.filter(({ member }) => Object.hasOwn(call, member))
  if (form === undefined || other !== undefined) {
    throw new Fault('INVALID_REQUEST', {
      message: 'Cannot read the call: it must name one tool or one agent',
      hint: 'Give {"name":"…","arguments":{}} for a tool, or {"agent":"…","task":"…"} for a delegation',
    })
  }
  const { agent_id, context, ...rest } = call
  const known = fit(
    besideShape,
    { ...(agent_id === undefined ? {} : { agent_id }), ...(context === undefined ? {} : { context }) },
    WHAT,
  )
  return {
    action: form.read(rest),
    principal: known.agent_id === undefined ? null : parseId('agent', known.agent_id),
    context: known.context ?? {},
  }
}

const WHAT = 'the call to explain'
const { object, optional, text, jsonObject } = shapes
const besideShape = object({ agent_id: optional(text), context: optional(jsonObject) })

interface Form {
  /** The member that only this form has. */
  readonly member: string
  read(call: JsonObject): ProposedAction
}

const FORMS: readonly Form[] = [
  form('name', object({ name: text, arguments: optional(jsonObject) }), (call) => toolCall(call.name, call.arguments)),
  form('agent', object({ agent: text, task: optional(text) }), (call) => delegation(call.agent, call.task)),
  form('tool_name', object({ tool_name: text, tool_input: optional(jsonObject) }), (call) =>
    toolCall(call.tool_name, call.tool_input),
  ),
  form('tool', object({ tool: text, arguments: optional(jsonObject) }), (call) => toolCall(call.tool, call.arguments)),
  form('delegate', object({ delegate: text }), (call) => delegation(call.delegate)),
  form('respond', object({ respond: text }), (call) => ({ Respond: { content: call.respond } })),
  form('terminate', object({ terminate: text }), (call) => ({ Terminate: { reason: call.terminate, output: '' } })),
]

function form<T>(member: string, shape: Shape<T>, action: (call: T) => ProposedAction): Form {
  return { member, read: (call) => action(fit(shape, call, WHAT)) }
}

const CALL_ID = 'explain'

/** A model delegates by calling a tool, so its call may be given as it came. */
function toolCall(name: string, args: JsonObject = {}): ProposedAction {
  const { agent, task } = args
  if (name === 'delegate' && typeof agent === 'string') return delegation(agent, typeof task === 'string' ? task : '')
  return { ToolCall: { call_id: CALL_ID, name, arguments: canonical(args) } }
}

function delegation(target: string, message = ''): ProposedAction {
  return { Delegate: { call_id: CALL_ID, target, message } }
}
