/**
 * What an observer outside of the runtime sees of its life. Tokens are the thread through it: every call that a model or a tool
 * client proposes carries a `token` argument that nobody else uses, made from the request that led to it: the same request
 * run twice proposes the same tokens again.
 */
import type { Code, JsonObject } from '../../../core/index.ts'

export type Seen =
  | { readonly kind: 'Booted'; readonly life: number }
  /** A client started a process for itself, beside the one that serves. It is never `Booted`, and decides nothing for others. */
  | { readonly kind: 'Started'; readonly life: number }
  /** Of one process: `kill` keeps what was written, `power` only what was synced and some of the rest. */
  | { readonly kind: 'Crashed'; readonly life: number; readonly how: 'kill' | 'power' }
  /** The process ended by itself, cleanly; `held` is what it had not let go, by name and number. */
  | { readonly kind: 'Closed'; readonly life: number; readonly held: Readonly<Record<string, number>> }
  /** A boot that failed, with the code of its Fault. */
  | { readonly kind: 'BootFailed'; readonly life: number; readonly code: string }
  /** Somebody wrote other policies; null is what the life began with. `usable`: they can be read, though they may be none. */
  | { readonly kind: 'PoliciesWritten'; readonly policies: string | null; readonly usable: boolean }
  /** Sent by a client; whether it arrives is another matter. `id` is the invocation id, null where the surface has none. */
  | {
      readonly kind: 'Asked'
      readonly client: string
      /** What stands for the credential that it came with. Default: the one that everybody holds. */
      readonly caller?: string
      readonly surface: Surface
      readonly id: string | null
      readonly request: string
      readonly token: string | null
      /** What a tool client asks for. */
      readonly call?: AskedCall
    }
  /** A chat client asked about a message that somebody sent under this id. */
  | { readonly kind: 'AskedAbout'; readonly id: string }
  /**
   * Reached a client. `token` is that of the call it answers; for `mcp`, whose calls have no id, it says which. `askedAt`, of a question
   * about an id: how many events had been seen when it was asked. It may be answered at once, and the answer arrive late.
   */
  | {
      readonly kind: 'Told'
      readonly client: string
      readonly caller?: string
      readonly surface: Surface
      readonly id: string | null
      readonly answer: ClientAnswer
      readonly token?: string | null
      readonly askedAt?: number
    }
  /**
   * The request reached the model. `subject` names what its run was asked: the `request` of the `Asked`, and for a delegated run
   * the token of the call that delegated. `requestHash`, where it is known, is the one that its reservation has.
   */
  | {
      readonly kind: 'InferenceBegan'
      readonly life: number
      readonly inference: number
      readonly subject: string
      readonly requestHash?: string
    }
  /** What the model really used, whatever it says; `told` is what it says of it, null when it says nothing or nothing arrives. */
  | { readonly kind: 'InferenceEnded'; readonly inference: number; readonly used: number; readonly told: number | null }
  /** A call left for a foreign server. It may arrive later, also when whoever sent it does not wait any more. */
  | {
      readonly kind: 'CallSent'
      readonly life: number
      readonly sent: number
      readonly tool: string
      readonly token: string
      readonly args: JsonObject
    }
  /**
   * The tool's code was entered: the effect begins here, whether or not it will happen. `sent`: of the call that arrived; what had
   * to be durable before it, had to be when it was sent.
   */
  | {
      readonly kind: 'EffectBegan'
      readonly life: number
      readonly effect: number
      readonly tool: string
      readonly token: string
      readonly args: JsonObject
      readonly sent?: number
    }
  /** It happened in the world outside; a crash of the process no longer stops it. */
  | { readonly kind: 'EffectHappened'; readonly effect: number }
  /** What the tool said to the runtime, when it did. `late`: after its signal was aborted. */
  | {
      readonly kind: 'EffectAnswered'
      readonly effect: number
      readonly answer: 'done' | 'not done' | 'error' | 'thrown'
      readonly late: boolean
    }
  /** A person decided and said so; the server may never hear of it. Once for each handle. `token` is that of the call. */
  | { readonly kind: 'Decided'; readonly handle: string; readonly token: string; readonly decision: 'approve' | 'deny' }
  /** The person was told that the decision counts. */
  | { readonly kind: 'DecisionTold'; readonly handle: string }
  /** In the end, in a fresh process without faults: what the runtime answers of an id. */
  | {
      readonly kind: 'Settled'
      readonly surface: Surface
      readonly id: string
      readonly request: string
      readonly answer: ClientAnswer
    }
  /** Something that no World and no client can cause was reported or thrown: a Bug, an unhandled rejection. */
  | { readonly kind: 'Broke'; readonly life: number; readonly what: string }

export interface AskedCall {
  readonly tool: string
  readonly args: JsonObject
}

export type Surface = 'chat' | 'mcp' | 'identified'

/** What a door said instead of a result. Typed, so that a code that is renamed is renamed in the laws. */
export type SaidCode = Code | `HTTP ${number}`

/** Codes of an id whose end nobody knows, or not yet. */
export const UNSETTLED: ReadonlySet<SaidCode> = new Set<SaidCode>([
  'INVOCATION_UNRESOLVED',
  'INVOCATION_IN_PROGRESS',
  'INVOCATION_RECONCILED',
])

export type ClientAnswer =
  /** Chat only: the journal of this request, by the name of its file. */
  | { readonly kind: 'Opened'; readonly journal: string }
  /** The final answer of a chat, or a result of a tool call that says that it was done. `replayed`: it was recorded before. */
  | { readonly kind: 'Done'; readonly content: string; readonly replayed: boolean }
  /** Held for a person; MCP only. */
  | { readonly kind: 'Pending'; readonly handle: string }
  /** Nothing was executed, and the client was told so: denied, refused, not found, busy. */
  | { readonly kind: 'Refused'; readonly code: SaidCode }
  /** Nobody knows; or a run that ended otherwise than well. */
  | { readonly kind: 'Unknown'; readonly code: SaidCode }
  /** The run ended without success, for a known reason: for a chat an error that is no refusal. */
  | { readonly kind: 'Failed'; readonly code: SaidCode }

export type Beginning = Extract<Seen, { readonly kind: 'EffectBegan' | 'CallSent' }>

/**
 * What the runtime begins here, or null: a call of a foreign server begins when it is sent, whenever it arrives, and any other effect when its
 * tool is entered. What has to be durable, claimed and allowed before, has to be by then.
 */
export function beginningIn(seen: Seen): Beginning | null {
  if (seen.kind === 'CallSent') return seen
  return seen.kind === 'EffectBegan' && seen.sent === undefined ? seen : null
}
