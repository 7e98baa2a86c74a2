export type { ClientMessage, ServerMessage } from './messages.ts'
export type { Chat, ChatHost, Outbound } from './outbound.ts'
