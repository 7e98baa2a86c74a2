export { canonicalProblems } from './canonical.ts'
export { timeoutSecondsOf } from './check/timeouts.ts'
export { type SandboxTier, sandboxTierOf, type WithSettings, withSettings } from './check/with-settings.ts'
export { checkSource } from './check-source.ts'
export { type CompiledPolicy, compileInlinePolicy, inlinePolicyDiagnostics } from './compile-policy.ts'
export {
  DIAGNOSTIC_CODES,
  type Diagnostic,
  type DiagnosticCode,
  type DiagnosticKind,
  type Position,
} from './diagnostic.ts'
export { format } from './format.ts'
export {
  type Comparison,
  type Condition,
  type EffectName,
  HIDDEN_CONTEXT,
  INLINE_SEMANTICS,
  type InlinePolicy,
  type PolicyBlock,
  type PolicyRule,
  type Scalar,
  type SourcePolicy,
} from './inline-policy.ts'
export { LineMap } from './line-map.ts'
export { followsGrammar, type Parsed, parse } from './parse.ts'
export { meant } from './parser/near-misses.ts'
export { print } from './print.ts'
export { DIAGNOSTICS_MAX } from './problems.ts'
export { readSource, SOURCE_BYTES_MAX, type SourceText } from './read-source.ts'
export { agentsOf, repeatedAgent, type SelectedAgent, selectAgent } from './select.ts'
export { type DiagnosticRow, diagnosticJson, showDiagnostic } from './show.ts'
export type {
  Agent,
  Argument,
  ArrayLiteral,
  Assign,
  AssignOperator,
  Binary,
  BinaryOperator,
  Block,
  BooleanLiteral,
  Call,
  Capabilities,
  Catch,
  Channel,
  Comment,
  Construct,
  DurationLiteral,
  DurationUnit,
  Expression,
  ExpressionStatement,
  Field,
  FieldAccess,
  For,
  FunctionDefinition,
  Group,
  If,
  IfExpression,
  Index,
  Item,
  ItemKind,
  Lambda,
  Let,
  LetPattern,
  Match,
  MatchArm,
  Member,
  Memory,
  Metadata,
  Name,
  NumberLiteral,
  Parameter,
  Pattern,
  Policy,
  Property,
  RecordLiteral,
  Return,
  Rule,
  RuleEffect,
  Schedule,
  Source,
  Span,
  Statement,
  StringLiteral,
  Struct,
  SubBlock,
  Try,
  Type,
  TypeDefinition,
  Unary,
  VaultUrl,
  Webhook,
  With,
} from './tree.ts'
export { type KnownArguments, unknownArguments } from './unknown-arguments.ts'
export { unknownNames } from './unknown-names.ts'
