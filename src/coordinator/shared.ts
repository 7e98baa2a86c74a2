/** What all conversations of a coordinator share. Conversations are counted, and the count returns to 0 when they close. */
import type { Toolbox } from '../calls/index.ts'
import type { AgentId } from '../core/index.ts'
import type { LoopConfig } from '../events/index.ts'
import type { Activity } from '../fleet/index.ts'
import type { ClaimStore } from '../invocations/index.ts'
import type { Delegates } from '../loop/index.ts'
import type { Gate } from '../policy/index.ts'
import type { Provider } from '../providers/index.ts'
import type { World } from '../world/index.ts'

export interface Shared {
  readonly world: World
  readonly claims: ClaimStore
  readonly provider: Provider
  readonly gate: Gate
  readonly toolbox: Toolbox
  /** Who runs delegations; null where no agent can be delegated to. */
  readonly delegates: Delegates | null
  readonly config: LoopConfig
  /** One principal for every root turn, stable in this process. */
  readonly principal: AgentId
  readonly systemPrompt: string
  /** Feeds health and metrics. */
  readonly activity: Activity
  /** For the log: what went wrong where nobody else can be told. */
  readonly report: (what: string, error: unknown) => void
}
