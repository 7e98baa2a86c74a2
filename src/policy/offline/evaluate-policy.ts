/**
 * What `symbi policy evaluate` says: the decision for one call, with the policies and lines that made it.
 *
 * The input is judged by the runtime's own mapping, so that the answer is the gate's answer. The older form
 * is still understood, and the result says which mapping it was. Approval comes before policy: the decision is that of
 * policy, and the result says when nobody would have asked it yet. A folder without policies denies, as the gate does, unless the caller asks otherwise.
 */
import type { PreparedCall } from '../../calls/index.ts'
import { isFault, type JsonObject } from '../../core/index.ts'
import type { ProposedAction } from '../../events/index.ts'
import type { World } from '../../world/index.ts'
import { type CedarEngine, type CedarRequest, sharedEngine } from '../cedar/cedar-engine.ts'
import { spell } from '../cedar/cedar-request.ts'
import { Judge } from '../cedar/judge.ts'
import { readPolicyFolder } from '../folder/policy-folder.ts'
import { asGiven, type Subject, subjectOf } from './evaluated-call.ts'
import { type PolicyPlace, placeOfPolicy } from './policy-place.ts'

export interface EvaluateOptions {
  readonly folder: string
  /** Which surface's files are read beside the shared ones; null for none. */
  readonly surface: string | null
  /** True: a folder without any policy allows. */
  readonly allowMissing: boolean
  /** Prepares a written call as a run would, or throws `CALL_INVALID`. Default: as a tool without a contract of its own. */
  readonly prepare?: (action: ProposedAction) => Promise<PreparedCall>
  /** What the trusted context of every run of the surface holds; what the input says of it wins. */
  readonly context?: JsonObject
  /** Tools of which the operator wants every call approved. */
  readonly approvalTools?: readonly string[]
  readonly engine?: CedarEngine
}

export interface PolicyEvaluation extends Subject {
  readonly decision: 'allow' | 'deny'
  readonly reason: string
  /** As Cedar spells them; null when the call cannot be shown to policy. */
  readonly request: { readonly principal: string; readonly action: string; readonly resource: string } | null
  readonly policies: readonly PolicyPlace[]
  readonly errors: readonly (PolicyPlace & { readonly message: string })[]
}

/** Throws `INVALID_REQUEST` when the input is neither form. Everything about policy is in the result. */
export async function evaluatePolicy(
  world: World,
  input: unknown,
  options: EvaluateOptions,
): Promise<PolicyEvaluation> {
  const { prepare = asGiven, context = {}, approvalTools = [] } = options
  const around = { prepare, context, approvalTools: new Set(approvalTools) }
  const { outcome, ...subject } = await subjectOf(input, around)
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

function list(places: readonly PolicyPlace[]): string {
  return places.map(({ name, file, line }) => `"${name}" (${file ?? 'policy'}:${line})`).join(', ')
}
