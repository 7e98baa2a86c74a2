/** Channels (chat adapters) on the wire. Like schedules, these answers never gain a member. */
import type { JsonObject, Timestamp } from '../core/index.ts'

export type ChannelPlatform = 'slack' | 'teams' | 'mattermost'
export type ChannelState = 'running' | 'stopped' | 'error'

export type RegisterChannel = {
  readonly name: string
  readonly platform: ChannelPlatform
  readonly config: JsonObject
}
export type UpdateChannel = { readonly config?: JsonObject }

/** Also the answer to registering one. */
export type ChannelSummary = {
  readonly id: string
  readonly name: string
  readonly platform: ChannelPlatform
  readonly status: ChannelState
}

export type ChannelDetail = ChannelSummary & {
  /** Secrets are replaced by `"***"`. */
  readonly config: JsonObject
  readonly created_at: Timestamp
  readonly updated_at: Timestamp
}

export type ChannelDeleted = { readonly id: string; readonly deleted: boolean }
export type ChannelAction = {
  readonly id: string
  readonly action: 'start' | 'stop'
  readonly status: ChannelState
}

export type ChannelHealth = {
  readonly id: string
  readonly connected: boolean
  readonly platform: ChannelPlatform
  readonly workspace_name: string | null
  readonly channels_active: number
  readonly last_message_at: Timestamp | null
  readonly uptime_secs: number
}

export type AddMapping = {
  readonly platform_user_id: string
  readonly symbiont_user_id: string
  readonly email?: string
  readonly display_name: string
  readonly roles: readonly string[]
}

export type IdentityMapping = {
  readonly platform_user_id: string
  readonly platform: ChannelPlatform
  readonly symbiont_user_id: string
  readonly email: string | null
  readonly display_name: string
  readonly roles: readonly string[]
  readonly verified: boolean
  readonly created_at: Timestamp
}

export type ChannelAuditEntry = {
  readonly timestamp: Timestamp
  readonly event_type: string
  readonly user_id: string | null
  readonly channel_id: string | null
  readonly agent: string | null
  readonly details: JsonObject
}
export type ChannelAudit = { readonly channel_id: string; readonly entries: readonly ChannelAuditEntry[] }
