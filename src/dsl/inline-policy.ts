/**
 * The inline policy of one agent: file-wide blocks and its own, as plain data that needs no text any more. It only restricts
 * (9.1): it grants no tool, waives no approval and replaces no decision of the gate.
 */
import type { Hash } from '../core/index.ts'
import type { Position } from './diagnostic.ts'

export const INLINE_SEMANTICS = 'inline_effect_policy_v1'

/** What the trusted context, the fingerprint and the journal say about it (2.9). */
export interface SourcePolicy {
  readonly semantics: typeof INLINE_SEMANTICS
  /** Digest of the whole text, as a JSON string. */
  readonly source_hash: Hash
  /** Digest of the text of the declaration, as a JSON string. */
  readonly declaration_hash: Hash
  readonly agent_name: string
  /** The names of the blocks, file-wide ones first. */
  readonly policies: readonly string[]
}

/**
 * Members of the trusted context that no condition may read: they speak of the approval, which is only asked for after the
 * inline policy let the call pass.
 */
export const HIDDEN_CONTEXT: readonly string[] = ['has_human_approval', 'approved_fingerprint']

export interface InlinePolicy {
  readonly metadata: SourcePolicy
  /** In the order of evaluation. All of them must pass. */
  readonly blocks: readonly PolicyBlock[]
}

export interface PolicyBlock {
  readonly name: string
  /** Never empty. */
  readonly rules: readonly PolicyRule[]
}

export interface PolicyRule {
  readonly effect: 'allow' | 'deny'
  /** Exact names; `true` stands for every effect, `false` for none. */
  readonly selector: readonly EffectName[] | boolean
  readonly condition: Condition | null
  /** As the author wrote it, for explanations. */
  readonly text: string
  readonly start: Position
}

/** A tool's name, or `delegate::` and the declared name of a target. Its place is where a warning about it points. */
export interface EffectName {
  readonly text: string
  readonly start: Position
  readonly end: Position
}

export type Scalar = boolean | string | bigint
export type Comparison = '==' | '!=' | '<' | '>' | '<=' | '>='

export type Condition =
  | { readonly kind: 'literal'; readonly value: Scalar }
  | {
      readonly kind: 'path'
      readonly root: 'principal' | 'invocation' | 'context'
      readonly fields: readonly string[]
    }
  | { readonly kind: 'not'; readonly operand: Condition }
  | { readonly kind: 'and' | 'or'; readonly left: Condition; readonly right: Condition }
  | {
      readonly kind: 'compare'
      readonly operator: Comparison
      readonly left: Condition
      readonly right: Condition
    }
  | { readonly kind: 'in'; readonly operand: Condition; readonly items: readonly Scalar[] }
