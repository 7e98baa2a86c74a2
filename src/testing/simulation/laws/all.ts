/** The laws of one life. Each has a memory of its own, and all look at the same disk, so they are made anew for each life. */
import { approvalsAreSpentOnce } from './approvals-are-spent-once.ts'
import { atMostOnce } from './at-most-once.ts'
import { budgetsAreNotMinted } from './budgets-are-not-minted.ts'
import { claimsAnswerTheEvidence } from './claims-answer-the-evidence.ts'
import { everyCallIsAccountedFor } from './every-call-is-accounted-for.ts'
import { EvidenceReader } from './evidence.ts'
import { evidenceIsKept } from './evidence-is-kept.ts'
import { evidenceVerifies } from './evidence-verifies.ts'
import { intentBeforeEffect } from './intent-before-effect.ts'
import type { Law, Scenario } from './law.ts'
import { limitsAreKept } from './limits-are-kept.ts'
import { nothingIsHeld } from './nothing-is-held.ts'
import { policyIsObeyed } from './policy-is-obeyed.ts'
import { stopAfterUncertainty } from './stop-after-uncertainty.ts'
import { theRuntimeStaysUp } from './the-runtime-stays-up.ts'
import { unknownIsNoSuccess } from './unknown-is-no-success.ts'

export function lawsOf(scenario: Scenario): readonly Law[] {
  const reader = new EvidenceReader(scenario.project)
  return [
    policyIsObeyed(reader, scenario),
    intentBeforeEffect(reader, scenario),
    atMostOnce(reader),
    stopAfterUncertainty(reader, scenario),
    everyCallIsAccountedFor(reader, scenario),
    limitsAreKept(reader),
    approvalsAreSpentOnce(reader, scenario),
    unknownIsNoSuccess(reader, scenario),
    claimsAnswerTheEvidence(reader, scenario),
    evidenceIsKept(reader),
    evidenceVerifies(reader),
    budgetsAreNotMinted(reader, scenario),
    nothingIsHeld(),
    theRuntimeStaysUp(scenario),
  ]
}
