/** The messages of `/ws/chat`, both ways, with exactly the member names that go over the wire. */
import type { Code } from '../core/index.ts'
import type { AuditReference } from '../events/index.ts'

export type ClientMessage =
  | { readonly type: 'ChatSend'; readonly id: string; readonly content: string }
  | { readonly type: 'ChatInspect'; readonly id: string; readonly content: string }
  | { readonly type: 'Ping' }

export type ServerMessage =
  | { readonly type: 'AuditOpened'; readonly request_id: string; readonly audit: AuditReference }
  | {
      readonly type: 'ChatChunk'
      readonly request_id: string
      readonly content: string
      readonly done: boolean
      readonly replayed: boolean
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
      readonly decision: 'allow' | 'partial_deny'
      readonly reason: string
    }
  | { readonly type: 'Error'; readonly request_id: string | null; readonly code: Code; readonly message: string }
  | { readonly type: 'Pong' }
