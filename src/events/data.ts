/**
 * The data inside events: usage, observations, actions, configuration, budgets. Names and members are spelled as on
 * disk; each type is derived from its shape. Members that a newer writer added are ignored on the way back from disk,
 * except in references and reservations, where an unknown member is refused.
 */
import { deepFreeze, type JsonObject, type Shape, shapes, type TypeOf } from '../core/index.ts'

const {
  text,
  bool,
  u32,
  uint,
  real,
  hash,
  jsonObject,
  json,
  duration,
  id,
  literal,
  list,
  record,
  nullable,
  optional,
  object,
  tagged,
  open,
} = shapes

/** Tokens. Additions saturate at 4294967295. */
export const usageShape = open({ prompt_tokens: u32, completion_tokens: u32, total_tokens: u32 })
export type Usage = TypeOf<typeof usageShape>
export const NO_USAGE: Usage = Object.freeze({ prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 })

export function addUsage(left: Usage, right: Usage): Usage {
  const sum = (a: number, b: number): number => Math.min(0xffffffff, a + b)
  return {
    prompt_tokens: sum(left.prompt_tokens, right.prompt_tokens),
    completion_tokens: sum(left.completion_tokens, right.completion_tokens),
    total_tokens: sum(left.total_tokens, right.total_tokens),
  }
}

/** Names a journal and the key that verifies it. It asserts nothing about completion. */
export const auditReferenceShape = object({ run_id: id('run'), path: text, public_key: shapes.hexHash })
export type AuditReference = TypeOf<typeof auditReferenceShape>

export const terminationShape = tagged(
  {
    Completed: {},
    MaxIterations: {},
    MaxTokens: {},
    Timeout: {},
    UnconfirmedEffects: {},
    PolicyDenial: { reason: text },
    Error: { message: text },
  },
  'allowed',
)
export type TerminationReason = TypeOf<typeof terminationShape>

export const actionShape = tagged(
  {
    ToolCall: { call_id: text, name: text, arguments: text },
    Delegate: { call_id: text, target: text, message: text },
    Respond: { content: text },
    Terminate: { reason: text, output: text },
  },
  'allowed',
)
/** What the model proposed, before anybody judged it. */
export type ProposedAction = TypeOf<typeof actionShape>

export const observationShape = open({
  source: text,
  content: text,
  is_error: bool,
  call_id: optional(text),
  metadata: optional(record(text)),
})
export type Observation = TypeOf<typeof observationShape>

/** True exactly when we cannot prove what the effect did. */
export function isUnconfirmed(observation: Observation): boolean {
  return observation.metadata?.effect_outcome === 'unknown'
}

export const toolDefinitionShape = open({ name: text, description: text, parameters: jsonObject })
export type ToolDefinition = TypeOf<typeof toolDefinitionShape>

const toolChoiceShape = open({ type: literal('auto', 'any', 'tool'), name: optional(text) })

export const recoveryStrategyShape = tagged(
  {
    Retry: { max_attempts: u32, base_delay: duration },
    Fallback: { alternatives: list(text) },
    CachedResult: { max_staleness: duration },
    LlmRecovery: { max_recovery_attempts: u32 },
    Escalate: { queue: text, context_snapshot: json },
    DeadLetter: {},
  },
  'allowed',
)
export type RecoveryStrategy = TypeOf<typeof recoveryStrategyShape>

export const loopConfigShape = open({
  max_iterations: u32,
  max_total_tokens: u32,
  timeout: duration,
  tool_timeout: duration,
  default_recovery: recoveryStrategyShape,
  max_concurrent_tools: u32,
  context_token_budget: u32,
  temperature: real,
  max_output_tokens: u32,
  max_delegation_depth: u32,
  delegation_depth: u32,
  delegation_chain: list(text),
  tool_definitions: optional(list(toolDefinitionShape)),
  tool_choice: optional(toolChoiceShape),
  tool_profile: optional(jsonObject),
  step_iteration: optional(jsonObject),
  pre_hydration: optional(jsonObject),
})
export type LoopConfig = TypeOf<typeof loopConfigShape>

export const DEFAULT_LOOP_CONFIG: LoopConfig = deepFreeze({
  max_iterations: 25,
  max_total_tokens: 100_000,
  timeout: { secs: 300, nanos: 0 },
  tool_timeout: { secs: 30, nanos: 0 },
  default_recovery: { Retry: { max_attempts: 2, base_delay: { secs: 0, nanos: 500_000_000 } } },
  max_concurrent_tools: 5,
  context_token_budget: 32_000,
  temperature: 0.3,
  max_output_tokens: 16_384,
  max_delegation_depth: 3,
  delegation_depth: 0,
  delegation_chain: [],
})

export const budgetSnapshotShape = open({
  root_id: id('root'),
  scope: uint,
  limit: u32,
  usage: usageShape,
  reserved_tokens: u32,
  uncertain_tokens: u32,
  available_tokens: u32,
  exceeded: bool,
})
export type BudgetSnapshot = TypeOf<typeof budgetSnapshotShape>

/** Tokens held back, in every scope from the leaf to the root, before a provider is asked. */
export const reservationShape = object({
  id: id('reservation'),
  root_id: id('root'),
  ancestors: list(object({ scope: uint, parent: nullable(uint), limit: u32 })),
  input_tokens: u32,
  output_tokens: u32,
  agent_id: id('agent'),
  audit: nullable(auditReferenceShape),
  iteration: u32,
  provider: text,
  model: text,
  request_hash: hash,
  request_bytes: uint,
})
export type InferenceReservation = TypeOf<typeof reservationShape>

export const finishReasonShape = literal('stop', 'tool_calls', 'max_tokens', 'content_filter', 'refusal')
export type FinishReason = TypeOf<typeof finishReasonShape>

/** What a tool tells the journal about its own effects: hashes and counts, never bodies, headers or credentials. */
export const toolEffectShape = tagged(
  {
    NetworkRequestStarted: { request_id: text, method: text, url: text, request_hash: text, request_bytes: uint },
    NetworkRequestFinished: {
      request_id: text,
      status: nullable(shapes.u16),
      response_hash: nullable(text),
      response_headers_hash: nullable(text),
      response_bytes: uint,
      error: nullable(text),
    },
    FilePublicationPrepared: {
      intent: open({ publication_id: id('publication') }) as Shape<JsonObject & { readonly publication_id: string }>,
    },
    FilePublicationFinished: { publication_id: id('publication'), confirmed: bool, error: nullable(text) },
  },
  'allowed',
)
export type ToolEffect = TypeOf<typeof toolEffectShape>
