/**
 * What `symbi policy evaluate` says: the decision for one call, with the policies and lines that made it.
 *
 * The input is judged by the runtime's own mapping, so that the answer is the gate's answer. The older form
 * `{tool_name, tool_input}` names another principal, action and context; it is still understood, and the result says
 * which mapping it was. A folder without policies denies, as the gate does, unless the caller asks otherwise.
 */
import { defaultContract, type PreparedCall, preparedCall } from '../calls/index.ts'
import {
  type AgentId,
  canonical,
  Fault,
  fit,
  isFault,
  isJsonObject,
  type JsonObject,
  parseId,
  shapes,
  type TypeOf,
} from '../core/index.ts'
import type { World } from '../world/index.ts'
import { type CedarEngine, type CedarError, type CedarRequest, sharedEngine } from './cedar-engine.ts'
import { cedarRequest, type RequestOutcome, spell } from './cedar-request.ts'
import { cedarValue, Unfit } from './cedar-value.ts'
import { Judge } from './judge.ts'
import { readPolicyFolder } from './policy-folder.ts'
import { originOf, type Policy } from './policy-set.ts'
import { indexOfByte, placeOf } from './problems.ts'

export interface EvaluateOptions {
  readonly folder: string
  /** Which surface's files are read beside the shared ones; null for none. */
  readonly surface: string | null
  /** True: a folder without any policy allows. */
  readonly allowMissing: boolean
  readonly engine?: CedarEngine
}

export interface PolicyEvaluation {
  readonly decision: 'allow' | 'deny'
  readonly reason: string
  readonly mapping: 'runtime' | 'legacy'
  /** What that mapping is, in a sentence. */
  readonly mapping_note: string
  /** The tool, `delegate::<target>`, `respond` or `terminate`. */
  readonly subject: string
  /** As Cedar spells them; null when the call cannot be shown to policy. */
  readonly request: { readonly principal: string; readonly action: string; readonly resource: string } | null
  readonly policies: readonly PolicyPlace[]
  readonly errors: readonly (PolicyPlace & { readonly message: string })[]
}

export interface PolicyPlace {
  readonly name: string
  readonly file: string | null
  readonly line: number
}

/** Throws `INVALID_REQUEST` when the input is neither form. Everything about policy is in the result. */
export async function evaluatePolicy(
  world: World,
  input: unknown,
  options: EvaluateOptions,
): Promise<PolicyEvaluation> {
  const { outcome, ...subject } = subjectOf(input)
  if (outcome.kind === 'Unfit') return { ...subject, ...denied(outcome.reason), request: null }
  const { principal, action, resource } = outcome.request
  const asked = {
    ...subject,
    request: { principal: spell(principal), action: spell(action), resource: spell(resource) },
  }
  const reading = await readPolicyFolder(world, options.folder, options.surface)
  if (reading.kind === 'Bad') return { ...asked, ...denied(`the policies cannot be used: ${reading.problem.message}`) }
  if (reading.kind === 'None') return { ...asked, ...withoutPolicies(subject, options.allowMissing) }
  using judge = new Judge(options.engine ?? sharedEngine())
  try {
    judge.replace(reading.entries)
  } catch (error) {
    if (isFault(error)) return { ...asked, ...denied(`the policies cannot be used: ${error.message}`) }
    throw error
  }
  return { ...asked, ...judged(judge, outcome.request) }
}

type Ruling = Pick<PolicyEvaluation, 'decision' | 'reason' | 'policies' | 'errors'>

function judged(judge: Judge, request: CedarRequest): Ruling {
  const verdict = judge.judge(request)
  if (verdict.kind === 'Failed') return denied(`Cedar could not judge the call: ${verdict.message}`)
  const policies = verdict.policies.map((policy) => placeOfPolicy(policy))
  const errors = verdict.failures.map(({ policy, error }) => ({
    ...placeOfPolicy(policy, error),
    message: error.message,
  }))
  if (errors.length > 0) {
    return { ...denied(`${list(errors)} failed while it was evaluated, and a failed policy denies`), policies, errors }
  }
  if (verdict.allowed) return { decision: 'allow', reason: `permitted by ${list(policies)}`, policies, errors }
  const reason =
    policies.length > 0 ? `forbidden by ${list(policies)}` : 'no policy permits it, and the default is to deny'
  return { ...denied(reason), policies }
}

function withoutPolicies({ mapping, subject }: Subject, allowMissing: boolean): Ruling {
  const missing = 'there is no policy file'
  if (allowMissing) return { ...denied(`${missing}, and missing policies were asked to allow`), decision: 'allow' }
  if (mapping === 'runtime' && (subject === 'respond' || subject === 'terminate')) {
    return { ...denied(`${missing}: the fail-closed default allows replies only`), decision: 'allow' }
  }
  return denied(`${missing}: the fail-closed default denies tool calls and delegations`)
}

function denied(reason: string): Ruling {
  return { decision: 'deny', reason, policies: [], errors: [] }
}

function placeOfPolicy({ name, entry, part }: Policy, error?: CedarError): PolicyPlace {
  const [place] = error?.sourceLocations ?? []
  const start = part.start + (place === undefined ? 0 : indexOfByte(part.text, place.start))
  return { name, file: originOf(entry), line: placeOf(entry.source, start).line }
}

function list(places: readonly PolicyPlace[]): string {
  return places.map(({ name, file, line }) => `"${name}" (${file ?? 'policy'}:${line})`).join(', ')
}

interface Subject {
  readonly mapping: 'runtime' | 'legacy'
  readonly mapping_note: string
  readonly subject: string
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

function subjectOf(input: unknown): Subject & { readonly outcome: RequestOutcome } {
  if (isJsonObject(input) && Object.hasOwn(input, 'tool_name')) return legacySubject(input)
  const wanted = fit(runtimeShape, input, 'the call to evaluate')
  const call = callOf(wanted)
  const agent: AgentId = parseId('agent', wanted.agent_id ?? SOME_AGENT)
  return {
    mapping: 'runtime',
    mapping_note: 'judged as the gate of the runtime judges it',
    subject: wanted.tool ?? (wanted.delegate === undefined ? replyOf(wanted) : `delegate::${wanted.delegate}`),
    outcome: cedarRequest({
      call,
      agent_id: agent,
      trusted_context: wanted.context ?? {},
      approvedFingerprint: wanted.approved === true ? call.fingerprint : null,
    }),
  }
}

type Wanted = TypeOf<typeof runtimeShape>

function replyOf(wanted: Wanted): 'respond' | 'terminate' {
  return wanted.respond === undefined ? 'terminate' : 'respond'
}

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
  const { tool_name, tool_input } = fit(legacyShape, input, 'the call to evaluate')
  return {
    mapping: 'legacy',
    mapping_note:
      'judged by the older mapping (Symbi::Agent::"claude-code", Symbi::Action, context.tool_input), which is not the one of the runtime\'s gate',
    subject: tool_name,
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
