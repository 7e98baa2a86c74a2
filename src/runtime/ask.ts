/** One turn, asked and answered in this process: the messages of a session folded into one reply. */

import type { Coordinator, ServerMessage } from '../coordinator/index.ts'
import { Fault, newId } from '../core/index.ts'
import type { AuditReference } from '../events/index.ts'
import type { World } from '../world/index.ts'

export interface AskOptions {
  /** A UUID of yours: asked twice with the same content, the turn runs once and its saved reply is returned. */
  readonly id?: string
  /** Watches. What it throws or rejects with is dropped: it decides nothing about the turn. */
  readonly onMessage?: (message: ServerMessage) => void | Promise<void>
}

export interface Reply {
  /** The id under which the turn was claimed. The same id and content again give the same reply. */
  readonly id: string
  readonly content: string
  /** True when the reply was saved earlier, and nothing ran now. */
  readonly replayed: boolean
  /** Names the journal, and the key that verifies it. */
  readonly audit: AuditReference
}

/** Throws the chat's error as a Fault with its code, for example `LOOP_ERROR` or `INVOCATION_UNRESOLVED`. */
export async function ask(
  coordinator: Coordinator,
  world: World,
  content: string,
  options: AskOptions = {},
): Promise<Reply> {
  const id = options.id ?? newId('invocation', world.random)
  let audit: AuditReference | null = null
  let answer: (ServerMessage & { type: 'ChatChunk' }) | null = null
  let problem: (ServerMessage & { type: 'Error' }) | null = null
  const session = coordinator.sdkSession((message) => {
    if (message.type === 'AuditOpened') audit = message.audit
    else if (message.type === 'ChatChunk' && message.done) answer = message
    else if (message.type === 'Error') problem = message
    watch(options, message)
  })
  try {
    await session.handleChatWithId(id, content)
  } finally {
    await session.close()
  }
  return replyOf(id, audit, answer, problem)
}

function watch({ onMessage }: AskOptions, message: ServerMessage): void {
  try {
    Promise.resolve(onMessage?.(message)).catch(() => undefined)
  } catch {
    // law 3 the other way round: a turn that ran is not turned into a failure by somebody who only watches
  }
}

function replyOf(
  id: string,
  audit: AuditReference | null,
  answer: (ServerMessage & { type: 'ChatChunk' }) | null,
  problem: (ServerMessage & { type: 'Error' }) | null,
): Reply {
  if (answer !== null && audit !== null) return { id, content: answer.content, replayed: answer.replayed, audit }
  if (problem !== null) throw new Fault(problem.code, { message: problem.message, facts: { id } })
  throw new Fault('INVOCATION_UNRESOLVED', { message: 'The session ended before the turn was answered', facts: { id } })
}
