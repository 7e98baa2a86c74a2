/** Messages between agents, on the wire. */
import type { AgentId } from '../core/index.ts'

export type SendMessage = {
  readonly sender: AgentId
  readonly payload: string
  readonly ttl_seconds?: number
  /** With a topic the message is published instead of sent to one recipient. */
  readonly topic?: string
  readonly agentpin_jwt?: string
}

export type DeliveryStatus = 'pending' | 'delivered' | 'failed' | 'expired'

export type Message = {
  readonly message_id: string
  readonly sender: AgentId
  readonly recipient: AgentId | null
  readonly topic: string | null
  readonly payload: string
  readonly message_type: 'direct' | 'broadcast' | 'publish' | 'subscribe' | 'request' | 'response'
  /** Seconds since the epoch. */
  readonly timestamp_secs: number
  readonly ttl_seconds: number
}

/** The answer to sending, and to asking later. */
export type MessageStatus = { readonly message_id: string; readonly status: DeliveryStatus }
export type ReceivedMessages = { readonly messages: readonly Message[] }
