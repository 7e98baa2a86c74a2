/**
 * The call that a person wrote down for `symbi policy evaluate`: what `symbi policy explain` reads as well, and what only an
 * author of policies asks for, such as another contract. It is what a model would propose; nothing is prepared yet.
 */
import type { ToolContract } from '../../calls/index.ts'
import { type AgentId, canonical, Fault, fit, type JsonObject, parseId, shapes, type TypeOf } from '../../core/index.ts'
import type { ProposedAction } from '../../events/index.ts'

export interface WrittenCall {
  readonly action: ProposedAction
  /** What of the tool's contract is to be another. */
  readonly contract: Partial<ToolContract>
  readonly agent_id: AgentId
  readonly context: JsonObject
  readonly approved: boolean
}

export const WHAT = 'the call to evaluate'

/** The agent of a call that names none. */
const SOME_AGENT = '00000000-0000-4000-8000-000000000000'

const { optional, text, bool, jsonObject, object } = shapes
const contractShape = object({
  version: optional(text),
  action_type: optional(text),
  action_id: optional(text),
  resource_type: optional(text),
  resource_id: optional(text),
  requires_approval: optional(bool),
})
const callShape = object({
  agent_id: optional(text),
  /** Exactly one of the next six; `name` means a tool and `agent` a delegation. */
  tool: optional(text),
  name: optional(text),
  delegate: optional(text),
  agent: optional(text),
  respond: optional(text),
  terminate: optional(text),
  /** Of the tool call. */
  arguments: optional(jsonObject),
  /** Of the tool call. */
  contract: optional(contractShape),
  /** Of the delegation. */
  task: optional(text),
  /** The trusted context that the runtime would have. */
  context: optional(jsonObject),
  /** True: as if a person had approved this very call. */
  approved: optional(bool),
})

/** Throws `INVALID_REQUEST` for anything else. */
export function writtenCall(input: unknown): WrittenCall {
  const { agent_id, context = {}, approved = false, contract = {}, ...wanted } = fit(callShape, input, WHAT)
  const action = actionOf(wanted)
  if (action === null || (Object.keys(contract).length > 0 && !('ToolCall' in action))) throw unclear()
  return { action, contract, agent_id: parseId('agent', agent_id ?? SOME_AGENT), context, approved }
}

type Wanted = Omit<TypeOf<typeof callShape>, 'agent_id' | 'context' | 'approved' | 'contract'>

/** Null when it is not one action, or one with what belongs to another. */
function actionOf({ arguments: args, task, ...named }: Wanted): ProposedAction | null {
  const [given, other] = Object.entries(named).filter(([, value]) => value !== undefined)
  if (given === undefined || other !== undefined) return null
  const [kind, value = ''] = given
  if (kind === 'tool' || kind === 'name') return task === undefined ? toolCall(value, args ?? {}) : null
  if (args !== undefined) return null
  if (kind === 'delegate' || kind === 'agent') return delegation(value, task ?? '')
  if (task !== undefined) return null
  return kind === 'respond' ? { Respond: { content: value } } : { Terminate: { reason: value, output: '' } }
}

const CALL_ID = 'evaluate'

/** A model delegates by calling a tool of this name. */
function toolCall(name: string, args: JsonObject): ProposedAction {
  const { agent, task } = args
  if (name === 'delegate' && typeof agent === 'string') return delegation(agent, typeof task === 'string' ? task : '')
  return { ToolCall: { call_id: CALL_ID, name, arguments: canonical(args) } }
}

function delegation(target: string, message: string): ProposedAction {
  return { Delegate: { call_id: CALL_ID, target, message } }
}

function unclear(): Fault {
  return new Fault('INVALID_REQUEST', {
    message: 'Cannot evaluate the call: it must name one of "tool", "delegate", "respond" or "terminate"',
    hint: 'Give for example {"tool":"name","arguments":{}} or {"delegate":"name","task":"…"}; arguments and contract belong to a tool',
  })
}
