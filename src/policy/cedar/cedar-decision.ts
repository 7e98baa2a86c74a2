/**
 * From a verdict of Cedar to a decision about a call, the same for the gate and for whoever judges a recorded call again.
 *
 * Cedar itself skips a policy whose condition fails, a `forbid` included; here any failure denies and names the policy
 * (law 5).
 */

import { type Decision, deny } from '../gate.ts'
import type { CedarRequest } from './cedar-engine.ts'
import { spell } from './cedar-request.ts'
import type { Judge, PolicyFailure } from './judge.ts'

export function decisionOf(judge: Judge, request: CedarRequest): Decision {
  const verdict = judge.judge(request)
  if (verdict.kind === 'Failed') return deny(`policy could not judge ${wordsFor(request)}`, [], [verdict.message])
  const policies = verdict.policies.map(({ name }) => name)
  if (verdict.failures.length > 0) {
    const names = verdict.failures.map(({ policy }) => `"${policy.name}"`).join(', ')
    const errors = verdict.failures.map(failureText)
    return deny(`policy ${names} failed while it judged ${wordsFor(request)}`, policies, errors)
  }
  // A denial by default and one by `forbid` look alike to the model; the journal has the names.
  return verdict.allowed ? { kind: 'Allow', policies } : deny(`policy does not allow ${wordsFor(request)}`, policies)
}

export function wordsFor({ action, principal }: CedarRequest): string {
  return `${spell(action)} for ${spell(principal)}`
}

function failureText({ policy, error }: PolicyFailure): string {
  return `${policy.name}: ${error.message}`
}
