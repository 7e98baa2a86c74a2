/**
 * A law of the runtime, as somebody outside of it can hold it against what he saw: what took effect, what was durable at that
 * moment, what clients were told, and what lies on the disk in the end. Laws share no code with what they judge, except
 * where they say so.
 */
import type { JsonObject } from '../../../core/index.ts'
import type { Seen } from './seen.ts'

export const LAW_NAMES = [
  'intent before effect',
  'at most once',
  'unknown is no success',
  'stop after uncertainty',
  'every call is accounted for',
  'limits are kept',
  'evidence verifies',
  'evidence is kept',
  'budgets are not minted',
  'claims answer the evidence',
  'nothing is held',
  'policy is obeyed',
  'approvals are spent once',
  'the runtime stays up',
] as const

export type LawName = (typeof LAW_NAMES)[number]

export interface Law {
  readonly name: LawName
  /** Called with each event, in order, in the moment it happens. Says what is wrong with it, or nothing. */
  watch?(seen: Seen, disk: DiskView): string | null
  /** Called once, when the last process has ended and everything is quiet. */
  settle?(life: Life): string | null | Promise<string | null>
}

/**
 * The disk as it is at the moment of asking. Paths are absolute. Bytes that were handed out are not changed afterwards; the same
 * object again means that nothing has changed.
 */
export interface DiskView {
  /** What would be there if the power failed now and took everything that was not synced; null when the name would be gone. */
  durable(path: string): Uint8Array | null
  /** What a program sees; null when the name is not there. */
  visible(path: string): Uint8Array | null
  /** The names that would be left in a folder after the power failed, sorted; none where the folder would not be there. */
  durableNames(folder: string): readonly string[]
  visibleNames(folder: string): readonly string[]
  /**
   * The process that was told that a sync of the file failed, whose bytes the system has taken for written ever since: it will lose
   * them with the power. Null when there was none.
   */
  forgot?(path: string): number | null
}

/** What the laws have to know of a life beforehand, because nothing that the runtime writes can be trusted to say it. */
export interface Scenario {
  /** The project's folder; journals lie in `.symbiont/governed`, claims in `.symbiont/invocations`. */
  readonly project: string
  /** What these policies say of a call, whether or not a person approves it; null is what the life began with. */
  allows(tool: string, args: JsonObject, policies: string | null): boolean
  /** Whether a policy of this name permits, and does not forbid. Default: all of them. */
  permits?(policy: string): boolean
  /** Whether these policies are none at all: a process that never had any lets an agent answer, and nothing else. Default: no. */
  areNone?(policies: string | null): boolean
  /** Whether the disk may have kept a process from reading policies that were written. Default: no. */
  readonly mayReadStale?: boolean
  /** Whether somebody sets the clock back. Default: no. */
  readonly clockGoesBack?: boolean
  /** Whether a person has to approve it first. */
  needsApproval(tool: string, args: JsonObject): boolean
  /** The `request` of the `Asked` that this token, or this subject of an inference, was made from; null for one of nobody. */
  requestOf(token: string): string | null
  /** Whether the trouble of the disk so far explains that a boot failed with this code. */
  bootMayFail(code: string): boolean
}

/** One simulated life, from the first boot to the end. */
export interface Life {
  readonly seen: readonly Seen[]
  readonly disk: DiskView
  /** The project's folder; journals lie in `.symbiont/governed`, claims in `.symbiont/invocations`. */
  readonly project: string
  /** 64 hex digits, as the first audit reference or the key file says; null when no key was ever made. */
  readonly publicKey: string | null
}

export interface Violation {
  readonly law: LawName
  readonly what: string
  /** How many events had been seen. */
  readonly at: number
}
