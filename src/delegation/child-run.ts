/**
 * The child's run: an ordinary run of the loop, restricted by its source's inline policy, bounded by what is left of its
 * parent, and linked to it. What it reports is believed only when its journal, read back and verified, says the same.
 */

import type { BudgetScope } from '../budget/index.ts'
import { canonical, deepFreeze, durationOf, Fault, type JsonObject, millisecondsOf } from '../core/index.ts'
import { DEFAULT_LOOP_CONFIG, type EventOf, type LoopConfig, type TerminationReason } from '../events/index.ts'
import { answerIn, type Journal, recoveryReport, verifyRunPrefix } from '../journal/index.ts'
import { parsePublicKey } from '../keys/index.ts'
import { type LoopResult, runLoop } from '../loop/index.ts'
import { restrictedBy } from '../policy/index.ts'
import type { World } from '../world/index.ts'
import type { DelegationScope, Errand } from './delegate.ts'
import { targetMetadata } from './target.ts'

export interface ChildEvidence {
  readonly journal: Journal
  readonly allowance: BudgetScope
  /** The parent's durable intent. */
  readonly started: EventOf<'DelegationStarted'>
}

export interface ProvenEnd {
  readonly reason: TerminationReason
  readonly output: string
}

/** Runs the child until its end is durable and proven, or throws: then nobody can say what it did (law 6). */
export async function runChild(scope: DelegationScope, errand: Errand, evidence: ChildEvidence): Promise<ProvenEnd> {
  const { world, childToolbox, family, onChild } = scope
  const { target, prompt, task, parent } = errand
  const { journal, allowance } = evidence
  const counted = onChild?.()
  let outcome: 'succeeded' | 'failed' | 'unresolved' = 'unresolved'
  try {
    const result = await runLoop(
      {
        world,
        principal: target.principal,
        provider: parent.provider,
        gate: parent.gate,
        toolbox: restrictedBy(childToolbox, target.policy),
        log: journal,
        config: childConfig(errand, world.clock.monotonicMs()),
        budget: allowance,
        messages: [
          { role: 'system', content: prompt },
          { role: 'user', content: task },
        ],
        trustedContext: linkOf(errand, evidence),
      },
      family.cancel.signal,
    )
    await requireProven(world, journal, result)
    outcome = result.termination_reason === 'Completed' ? 'succeeded' : 'failed'
    return { reason: result.termination_reason, output: result.output }
  } finally {
    counted?.(outcome)
  }
}

const CHILD_TIMEOUT_MAX_MS = 120_000
const CHILD_OUTPUT_TOKENS_MAX = 4096

function childConfig({ grant, target, parent }: Errand, nowMs: number): LoopConfig {
  const { config } = parent.context
  const timeoutMs = Math.min(
    millisecondsOf(config.timeout),
    grant.deadlineMs - nowMs,
    target.timeout_seconds === null ? CHILD_TIMEOUT_MAX_MS : target.timeout_seconds * 1000,
    CHILD_TIMEOUT_MAX_MS,
  )
  return {
    ...DEFAULT_LOOP_CONFIG,
    max_iterations: config.max_iterations,
    max_total_tokens: config.max_total_tokens,
    max_output_tokens: Math.min(config.max_output_tokens, CHILD_OUTPUT_TOKENS_MAX),
    timeout: durationOf(Math.max(0, timeoutMs)),
    max_delegation_depth: config.max_delegation_depth,
    delegation_depth: config.delegation_depth + 1,
    delegation_chain: [...config.delegation_chain, target.name],
  }
}

/** What the child's first entry says about its origin: the parent's intent, member for member, and who the parent is. */
function linkOf({ target, parent }: Errand, { started }: ChildEvidence): JsonObject {
  const { kind: _, ...link } = started
  const { audit } = parent.recorder
  return deepFreeze({
    agent_definition: targetMetadata(target),
    delegation: {
      ...link,
      parent_agent_id: parent.context.agent_id,
      ...(audit === null ? {} : { parent_audit: audit }),
    },
  } as unknown as JsonObject)
}

/**
 * Reads the evidence back as a stranger would. A child that says it completed while its journal leaves something unknown is
 * not believed: the run that delegated would otherwise record as done what an operator has to look at (law 3).
 */
async function requireProven(world: World, { audit }: Journal, result: LoopResult): Promise<void> {
  if (audit === null) throw unproven('it has no journal')
  const key = parsePublicKey(audit.public_key)
  const prefix = await verifyRunPrefix(world, audit.path, key, audit.run_id)
  const last = prefix.entries.at(-1)?.event
  if (last?.kind !== 'Terminated' || prefix.unverified_tail_bytes > 0) throw unproven('its journal lacks its end')
  if (canonical(last.reason) !== canonical(result.termination_reason)) throw unproven('its journal says another end')
  if (last.reason !== 'Completed') return
  if (answerIn(prefix.entries) !== result.output) throw unproven('its journal says another answer')
  if (recoveryReport(prefix).requires_reconciliation) {
    throw unproven('it completed, and its journal leaves something unknown')
  }
}

function unproven(reason: string): Fault {
  return new Fault('EVIDENCE_INVALID', {
    message: `Cannot use the result of the delegated run: ${reason}`,
    hint: 'Keep both journals, and inspect the delegated one with "symbi audit show"',
  })
}
