/** How a tool client reaches its session, whatever carries the bytes. */
import type { SaidCode } from '../laws/seen.ts'

export interface ToolLine {
  /** What stands for the client's credential; absent where it holds the one that everybody does. */
  readonly caller?: string
  /** True once the client itself is gone: it asks nothing more. */
  readonly isGone: boolean
  /** One request in a session, which is opened when there is none; null when no answer arrived whole. */
  ask(method: string, params: object): Promise<LineAnswer | null>
  /** The client ends its session. */
  leave(): Promise<unknown>
}

export interface LineAnswer {
  /** The message as JSON, or as the last of a stream of events. */
  readonly body: string
  /** What it says when it holds neither a result nor a code. */
  readonly otherwise: SaidCode
}

export function greetingOf(name: string): object {
  return { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name, version: '1' } }
}
