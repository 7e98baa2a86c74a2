/**
 * Keeping the conversation within its token budget. A group is an assistant message with tool calls together with the
 * results that answer them; groups are never split, and at least the newest one stays even when it alone is too long.
 */
import type { Message } from '../providers/index.ts'

export type ContextStrategy =
  | { readonly kind: 'sliding-window' }
  | { readonly kind: 'observation-masking' }
  | { readonly kind: 'anchored-summary'; readonly newest: number }

const MASKED_BEFORE_NEWEST = 6
const MASK = '[Earlier tool result omitted]'

/** The messages to send. The given list is not changed. `tokens`: of all of them, where they are counted already. */
export function fitContext(
  messages: readonly Message[],
  tokensMax: number,
  strategy: ContextStrategy = { kind: 'sliding-window' },
  tokens = tokensOf(messages),
): readonly Message[] {
  if (tokens <= tokensMax) return messages
  switch (strategy.kind) {
    case 'sliding-window':
      return slidingWindow(messages, tokensMax)
    case 'observation-masking':
      return orWindow(maskObservations(messages), tokensMax)
    case 'anchored-summary':
      return orWindow(anchoredSummary(messages, strategy.newest), tokensMax)
  }
}

function orWindow(messages: readonly Message[], tokensMax: number): readonly Message[] {
  return tokensOf(messages) <= tokensMax ? messages : slidingWindow(messages, tokensMax)
}

export function tokensOf(messages: readonly Message[]): number {
  return messages.reduce((sum, message) => sum + tokensOfOne(message), 0)
}

const counted = new WeakMap<Message, number>()

/** A message never changes, and every iteration counts all of them: each is counted once. */
function tokensOfOne(message: Message): number {
  const known = counted.get(message)
  if (known !== undefined) return known
  const tokens = count(message)
  counted.set(message, tokens)
  return tokens
}

function count(message: Message): number {
  let bytes = Buffer.byteLength(message.content)
  for (const call of message.tool_calls ?? []) {
    bytes += Buffer.byteLength(call.name) + Buffer.byteLength(call.arguments) + Buffer.byteLength(call.id) + 30
  }
  if (message.tool_call_id !== undefined) bytes += Buffer.byteLength(message.tool_call_id) + 20
  return Math.max(1, Math.floor((bytes * 10) / 33)) + 7
}

function slidingWindow(messages: readonly Message[], tokensMax: number): readonly Message[] {
  const system = messages[0]?.role === 'system' ? messages.slice(0, 1) : []
  const groups = groupsOf(messages.slice(system.length))
  const kept: Message[][] = []
  let left = tokensMax - tokensOf(system)
  for (const group of groups.toReversed()) {
    left -= tokensOf(group)
    if (left < 0 && kept.length > 0) break
    kept.unshift(group)
  }
  return [...system, ...withoutLeadingResults(kept.flat())]
}

function groupsOf(messages: readonly Message[]): Message[][] {
  const groups: Message[][] = []
  for (const message of messages) {
    const open = groups.at(-1)
    if (message.role === 'tool' && open !== undefined && (open[0]?.tool_calls?.length ?? 0) > 0) open.push(message)
    else groups.push([message])
  }
  return groups
}

function withoutLeadingResults(messages: readonly Message[]): readonly Message[] {
  const first = messages.findIndex((message) => message.role !== 'tool')
  return first === -1 ? [] : messages.slice(first)
}

function maskObservations(messages: readonly Message[]): readonly Message[] {
  if (messages.length <= 3) return messages
  const newest = messages.length - MASKED_BEFORE_NEWEST
  return messages.map((message, index) =>
    message.role === 'tool' && index < newest ? { ...message, content: MASK } : message,
  )
}

function anchoredSummary(messages: readonly Message[], newest: number): readonly Message[] {
  const system = messages[0]?.role === 'system' ? messages.slice(0, 1) : []
  const firstUser = messages.findIndex((message) => message.role === 'user')
  const anchor = firstUser === -1 ? [] : messages.slice(firstUser, firstUser + 1)
  const bodyStart = Math.max(system.length, firstUser + 1)
  const groups = groupsOf(messages.slice(bodyStart))
  const tail: Message[][] = []
  for (const group of groups.toReversed()) {
    if (tail.length > 0 && tail.flat().length + group.length > newest) break
    tail.unshift(group)
  }
  const kept = withoutLeadingResults(tail.flat())
  const omitted = messages.length - bodyStart - kept.length
  if (omitted <= 0) return messages
  const summary: Message = { role: 'user', content: `[${omitted} earlier messages of this conversation were omitted]` }
  return [...system, ...anchor, summary, ...kept]
}
