/**
 * What a chat server says, read strictly and understood leniently: a message of a type that is not known here, or that
 * does not have its shape, is passed over, so that a newer server can be talked to.
 */
import { fits, isJsonObject, readJson, shapes } from '../../core/index.ts'
import { type AuditReference, auditReferenceShape } from '../../events/index.ts'

const { bool, nullable, open, optional, text } = shapes

const SHAPES = {
  AuditOpened: open({ request_id: text, audit: auditReferenceShape }),
  ChatChunk: open({ request_id: text, content: text, done: bool, replayed: optional(bool) }),
  ToolCallStarted: open({ request_id: text, call_id: text, tool_name: text, arguments: text }),
  ToolCallResult: open({ request_id: text, call_id: text, result: text, is_error: bool }),
  PolicyDecision: open({ request_id: text, action: text, decision: text, reason: text }),
  Error: open({ request_id: nullable(text), code: text, message: text }),
}

export type ServerSaid =
  | { readonly type: 'AuditOpened'; readonly request_id: string; readonly audit: AuditReference }
  | {
      readonly type: 'ChatChunk'
      readonly request_id: string
      readonly content: string
      readonly done: boolean
      readonly replayed?: boolean
    }
  | {
      readonly type: 'ToolCallStarted'
      readonly request_id: string
      readonly call_id: string
      readonly tool_name: string
      readonly arguments: string
    }
  | {
      readonly type: 'ToolCallResult'
      readonly request_id: string
      readonly call_id: string
      readonly result: string
      readonly is_error: boolean
    }
  | {
      readonly type: 'PolicyDecision'
      readonly request_id: string
      readonly action: string
      readonly decision: string
      readonly reason: string
    }
  /** The code is one of ours, or one that a newer server knows. */
  | { readonly type: 'Error'; readonly request_id: string | null; readonly code: string; readonly message: string }

/** The message, or null for a heartbeat and for everything that is not understood. */
export function readServerMessage(frame: string): ServerSaid | null {
  let value: unknown
  try {
    value = readJson(frame)
  } catch {
    return null
  }
  if (!isJsonObject(value) || typeof value.type !== 'string' || !Object.hasOwn(SHAPES, value.type)) return null
  return fits(SHAPES[value.type as keyof typeof SHAPES] as shapes.Shape<unknown>, value)
    ? (value as unknown as ServerSaid)
    : null
}
