/**
 * The reason step: one inference under a durable reservation, and the actions that its reply proposes. Nothing is done
 * here. A reply that is cut, empty or refused proposes nothing and ends the run with its reason.
 */
import { inputTokensOf } from '../budget/index.ts'
import { digestOfCanonical, Fault, isFault } from '../core/index.ts'
import type { ProposedAction } from '../events/index.ts'
import type { Conversation, InferenceOptions, Message, ToolChoice } from '../providers/index.ts'
import { fitContext } from './context.ts'
import { proposalOf } from './delegates.ts'
import type { Observed } from './observe.ts'
import { type ReadReply, readReply } from './reply.ts'
import { type Finished, failedWith, finished, type Run } from './run.ts'

const REQUEST_BYTES_MAX = 4 * 1024 * 1024

declare const step: unique symbol
export interface Reasoned {
  readonly kind: 'reasoned'
  readonly [step]: true
  readonly actions: readonly ProposedAction[]
}

export async function reason(run: Run, _observed: Observed, signal: AbortSignal): Promise<Reasoned | Finished> {
  if (run.iteration >= run.config.max_iterations) return finished('MaxIterations')
  if (run.budget.snapshot().usage.total_tokens >= run.config.max_total_tokens) return finished('MaxTokens')
  const inferred = await infer(run, signal)
  if (inferred.kind === 'finished') return inferred
  const { reply } = inferred
  const refusal = reply.flaw ?? refusalOf(reply)
  if (refusal !== null) return failedWith(refusal)
  const actions = proposedBy(run, reply)
  run.recorder.stage({ kind: 'ReasoningComplete', iteration: run.nextIteration(), actions, usage: reply.usage })
  return { kind: 'reasoned', actions } as unknown as Reasoned
}

interface Inferred {
  readonly kind: 'inferred'
  readonly reply: ReadReply
}

/** Law 1 for inference: the reservation is durable before the provider is asked, with every receipt that waits. */
async function infer(run: Run, signal: AbortSignal): Promise<Inferred | Finished> {
  const { provider } = run.setup
  const { conversation, options, text } = requestOf(run)
  const bytes = Buffer.byteLength(text)
  if (bytes > REQUEST_BYTES_MAX)
    return failedWith(`the request to the model is ${bytes} bytes long, and ${REQUEST_BYTES_MAX} are allowed`)
  run.pendingObservations = []
  if (run.setup.budget !== undefined) {
    await run.recorder.commit() // `begin` below syncs the root's journal, and this is another
    signal.throwIfAborted() // before tokens are held: between that and `begin` nothing may come, or nobody gives them back
  }
  // after a machine has slept, the clock may say so before the timer of the run does
  if (run.world.clock.monotonicMs() >= run.deadlineMs)
    throw new Fault('RUN_TIMEOUT', { message: 'Cannot ask the model: the run has no time left' })
  let reservation: ReturnType<Run['budget']['reserve']>
  try {
    reservation = run.budget.reserve({
      inputTokens: inputTokensOf(provider.countInput(conversation, options), bytes),
      outputTokensMax: options.max_tokens,
      agent_id: run.setup.principal,
      audit: run.recorder.audit,
      iteration: run.iteration,
      provider: provider.name,
      model: options.model ?? provider.defaultModel,
      request_hash: digestOfCanonical(text),
      request_bytes: bytes,
    })
  } catch (error) {
    if (isFault(error, 'BUDGET_REFUSED')) return finished('MaxTokens')
    throw error
  }
  await reservation.begin(signal)
  let reply: ReadReply
  try {
    reply = readReply(
      await provider.complete(conversation, { ...options, max_tokens: reservation.outputTokens }, signal),
    )
  } catch (error) {
    signal.throwIfAborted() // after a cancellation nobody settles: the open reservation says what is unknown
    reservation.settle({ prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 })
    throw error
  }
  signal.throwIfAborted()
  reservation.settle(reply.usage)
  return { kind: 'inferred', reply }
}

function requestOf(run: Run): { conversation: Conversation; options: InferenceOptions; text: string } {
  const { config } = run
  const used = run.budget.snapshot().usage.total_tokens
  const tokens = run.requests.tokensOf(run.messages)
  const messages = fitContext(run.messages, config.context_token_budget, run.setup.contextStrategy, tokens)
  const options: InferenceOptions = {
    max_tokens: Math.min(config.max_total_tokens - used, config.max_output_tokens),
    temperature: config.temperature,
    response_format: { type: 'text' },
    ...(run.tools.length === 0 ? {} : { tool_definitions: run.tools }),
    ...(config.tool_choice === undefined ? {} : { tool_choice: config.tool_choice as ToolChoice }),
  }
  return { options, ...run.requests.next(messages, options) }
}

function refusalOf(reply: ReadReply): string | null {
  switch (reply.finish_reason) {
    case 'refusal':
      return 'the model refused to answer'
    case 'content_filter':
      return 'the reply of the model was withheld by a content filter'
    case 'max_tokens':
      return 'the reply of the model was cut by its length limit; raise max_output_tokens or ask for less'
    case 'stop':
    case 'tool_calls':
      return reply.tool_calls.length === 0 && reply.content.trim() === '' ? 'the model answered with nothing' : null
  }
}

function proposedBy(run: Run, reply: ReadReply): readonly ProposedAction[] {
  if (reply.tool_calls.length === 0) {
    run.messages.push({ role: 'assistant', content: reply.content })
    return [{ Respond: { content: reply.content } }]
  }
  const message: Message = { role: 'assistant', content: reply.content, tool_calls: reply.tool_calls }
  run.messages.push(message)
  return reply.tool_calls.map((call) => proposalOf(call, run.setup.delegates !== undefined))
}
