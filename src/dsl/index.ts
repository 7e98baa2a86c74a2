export {
  DIAGNOSTIC_CODES,
  type Diagnostic,
  type DiagnosticCode,
  type DiagnosticKind,
  type Position,
} from './diagnostic.ts'
export {
  type Comparison,
  type Condition,
  INLINE_SEMANTICS,
  type InlinePolicy,
  type PolicyBlock,
  type PolicyRule,
  type Scalar,
  type SourcePolicy,
} from './inline-policy.ts'
