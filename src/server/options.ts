/** What a server can be told, with the defaults. The command line reads flags and environment and fills this in, once. */
import type { ApiKeys } from '../access/index.ts'
import { type ChatHost, FRAME_BYTES_MAX } from '../coordinator/index.ts'
import type { ServerLimits } from '../world/index.ts'
import type { ApprovalDesk } from './approval-routes.ts'
import type { ChatLimits } from './chat-door.ts'
import type { Log } from './log.ts'
import type { Mount } from './mount.ts'
import { OUTBOUND_LIMITS } from './outbound-queue.ts'
import { RATE_LIMIT, type RateLimit } from './rate-limiter.ts'
import type { ServedApi } from './served-api.ts'

export type ServerOptions = {
  readonly api: ServedApi
  readonly keys: ApiKeys
  /** Null where there is no model to talk to: then `/ws/chat` does not exist. */
  readonly chats: ChatHost | null
  /** Where held actions are shown and decided; without it the routes of the approvals do not exist. */
  readonly approvals?: ApprovalDesk
  readonly log: Log
  /** The version that health and status tell. */
  readonly version: string
  /** Doors that add routes of their own. */
  readonly mounts?: readonly ((mount: Mount) => void)[]
  /** False while a store that requests need is not open. Asked at each readiness probe. Default: always true. */
  readonly isReady?: () => boolean
  /** Default 127.0.0.1. An address that others can reach needs a credential. */
  readonly host?: string
  /** Default 8080. 0 takes any free port. */
  readonly port?: number
  /** Exact origins of web pages. Default: the two local development origins. Empty: none, and no CORS headers. */
  readonly corsOrigins?: readonly string[]
  /** Addresses or blocks whose forwarded headers are believed. Default none. */
  readonly trustedProxies?: readonly string[]
  /** Default 100 a minute, 100 at once, 100,000 clients. Null switches the limiter off. */
  readonly rateLimit?: RateLimit | null
  readonly http?: Partial<HttpLimits>
  readonly chat?: Partial<ChatLimits>
}

export type HttpLimits = ServerLimits & { readonly bodyBytesMax: number }

export const HTTP_LIMITS: HttpLimits = {
  /** Holds a token of the greatest length in the query, and some. */
  headerBytesMax: 16 * 1024,
  headersTimeoutMs: 15_000,
  requestTimeoutMs: 60_000,
  keepAliveTimeoutMs: 10_000,
  bodyBytesMax: 2 * 1024 * 1024,
}

export const CHAT_LIMITS: ChatLimits = {
  socketsMax: 16_384,
  frameBytesMax: FRAME_BYTES_MAX,
  heartbeatMs: 30_000,
  closeMsMax: 2_000,
  outbound: OUTBOUND_LIMITS,
}

export const CORS_ORIGINS: readonly string[] = ['http://localhost:3001', 'http://localhost:3000']

export { RATE_LIMIT }
