/**
 * The gate's contract: one question about approval, one about policy. Every gate answers from what the runtime knows, and
 * every doubt is a Deny with a reason of its own (law 5).
 */
import { type ActionName, type Approval, type PreparedCall, type RunContext, sessionBinding } from '../calls/index.ts'
import type { Hash, Timestamp } from '../core/index.ts'
import type { ProposedAction } from '../events/index.ts'

export type Decision =
  | { readonly kind: 'Allow'; readonly policies: readonly string[] }
  | {
      readonly kind: 'Deny'
      /** What the model may see. */
      readonly reason: string
      /** Names of the policies that decided, for operators: they go to the journal only. */
      readonly policies: readonly string[]
      /** What failed while it was evaluated, each with its policy's name: for operators, like `policies`. */
      readonly errors: readonly string[]
    }
  | {
      readonly kind: 'Modify'
      readonly modified_action: ProposedAction
      readonly reason: string
      readonly policies: readonly string[]
    }

/** What evidence holds in place of an approval where policy was asked what it would say of the call with one. */
export const ASSUMED_APPROVAL = 'assumed'

export type ApprovalAnswer =
  | { readonly kind: 'NotNeeded' }
  | { readonly kind: 'Approved'; readonly approval: Approval }
  | {
      readonly kind: 'Refused'
      readonly reason: string
      /** As of a denial: for the journal, where policy was what refused. */
      readonly policies?: readonly string[]
      readonly errors?: readonly string[]
      /** Nobody was asked, because policy denies the call even when it is approved. */
      readonly by_policy?: boolean
    }
  /** Nobody decided yet and nobody waits: the caller may ask again, with a new call that presents this handle (8.5). */
  | {
      readonly kind: 'Pending'
      readonly reason: string
      readonly approval_id: string
      /** When the request stops to be answerable. */
      readonly expires_at: Timestamp
    }

export interface GateQuestion {
  readonly call: PreparedCall
  readonly run: RunContext
  /** The approval that was just obtained, or null. The gate derives `has_human_approval` from it and from nothing else. */
  readonly approval: Approval | null
  /**
   * The handle of a held request that the caller presented, or null. A name and no authority: what it is worth is looked
   * up in the queue, and must fit this call.
   */
  readonly presented: string | null
  /** The session binding (6.3) that a held request belongs to, where that is not the run's own: see `heldBinding`. */
  readonly session?: Hash
  /** How long an answer may take; also the longest life of an approval. */
  readonly remainingMs: number
}

export interface Gate {
  /** For logs and doctor: which gate this is. */
  readonly name: string
  approve(question: GateQuestion, signal: AbortSignal): Promise<ApprovalAnswer>
  decide(question: GateQuestion, signal: AbortSignal): Promise<Decision>
  /**
   * What `decide` would answer if a person approved this very call. It grants nothing: it is asked so that nobody is shown a
   * call that policy denies anyway. Without it, a person is asked first.
   */
  preview?(question: GateQuestion, signal: AbortSignal): Promise<Decision>
  /**
   * For lists of tools, before there is a call: for each of these actions of tools, in order, false only when no call of it can be
   * allowed at the moment, whoever asks, with whatever arguments and approval. It decides nothing. Without it, true.
   */
  mayAllow?(actions: readonly ActionName[], signal: AbortSignal): Promise<readonly boolean[]>
}

/** What a gate says of these actions; true of each where it says nothing. */
export async function mayAllow(
  gate: Gate,
  actions: readonly ActionName[],
  signal: AbortSignal,
): Promise<readonly boolean[]> {
  return (await gate.mayAllow?.(actions, signal)) ?? actions.map(() => true)
}

/**
 * What a held request is bound to, beside its subject. An identified call is a run of its own that belongs to a session: a
 * request held for one such run may be presented by the next of the same session, and by nobody else.
 */
export function heldBinding({ session, run }: Pick<GateQuestion, 'session' | 'run'>): Hash {
  return session ?? sessionBinding(run)
}

export function deny(reason: string, policies: readonly string[] = [], errors: readonly string[] = []): Decision {
  return { kind: 'Deny', reason, policies, errors }
}

/** How the reason ends where a call needs an approval, and nobody can be asked. */
export const NO_APPROVER = 'and no approver is configured'

/** The answer of every gate that has no approver: policy never waives an approval that the contract requires. */
export function withoutApprover({ call: { contract } }: GateQuestion): ApprovalAnswer {
  if (contract?.requires_approval !== true) return { kind: 'NotNeeded' }
  return {
    kind: 'Refused',
    reason: `the tool "${contract.name}" requires human approval, ${NO_APPROVER}`,
  }
}
