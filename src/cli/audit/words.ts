/** The words of a timeline: single entries, and parts of them, as a person reads them. */
import { isJsonObject, type Json, type JsonObject, millisecondsOf } from '../../core/index.ts'
import type { Event, ProposedAction } from '../../events/index.ts'
import { endingOf } from './project-evidence.ts'

/** `good` and `plain` are ordinary; `denied` and `unknown` must not be missed. */
export type Tone = 'plain' | 'good' | 'dim' | 'call' | 'denied' | 'unknown'

/** What one entry says, before it has a place. */
export interface Said {
  readonly tag: string
  readonly tone: Tone
  readonly text: string
  /** Continues below, indented. */
  readonly details: readonly string[]
}

export const line = (tag: string, tone: Tone, text: string, ...details: readonly string[]): Said => ({
  tag,
  tone,
  text,
  details,
})

export function endLine({ reason, iterations }: Event & { readonly kind: 'Terminated' }): Said {
  const text = `${endingOf(reason)} after ${amount(iterations)} iteration${iterations === 1 ? '' : 's'}`
  if (reason === 'Completed') return line('ended', 'good', text)
  const why =
    typeof reason !== 'object' ? [] : 'Error' in reason ? [reason.Error.message] : [reason.PolicyDenial.reason]
  return line('ENDED', reason === 'UnconfirmedEffects' ? 'unknown' : 'denied', text, ...why)
}

export function limitsOf(config: (Event & { readonly kind: 'Started' })['config']): string {
  const limits = [
    `${amount(config.max_iterations)} iterations`,
    tokens(config.max_total_tokens),
    `${amount(millisecondsOf(config.timeout) / 1000)} s`,
  ]
  return `with at most ${limits.join(', ')}`
}

export function actionWords(action: ProposedAction): [text: string, ...details: string[]] {
  if ('ToolCall' in action) return [`${action.ToolCall.name} ${action.ToolCall.arguments}`]
  if ('Delegate' in action) return [`delegate to ${action.Delegate.target}`, action.Delegate.message]
  if ('Respond' in action) return ['reply', action.Respond.content]
  return [`terminate: ${action.Terminate.reason}`, action.Terminate.output]
}

/** What a decision speaks about. The evidence of a decision is open JSON, so nothing in it is taken for granted. */
export function subjectOf(action: Json | undefined): string {
  if (!isJsonObject(action)) return 'an action'
  const [kind] = Object.keys(action)
  const members = kind === undefined ? undefined : action[kind]
  const of = (name: string): string => (isJsonObject(members) ? String(members[name]) : '')
  if (kind === 'ToolCall') return of('name')
  if (kind === 'Delegate') return `delegate to ${of('target')}`
  return kind === 'Respond' ? 'reply' : 'terminate'
}

/** A policy that failed decides alone: what else matched did not lead to the denial. An error begins with its policy's name. */
export function decidedBy({ determining_policies, policy_errors }: JsonObject): string {
  const failed = textsIn(policy_errors).map((error) => error.split(': ')[0] ?? error)
  if (failed.length > 0) return `  by ${failed.map((policy) => `"${policy}"`).join(', ')}, which failed`
  const policies = textsIn(determining_policies)
  return policies.length === 0 ? '' : `  by ${policies.map((policy) => `"${policy}"`).join(', ')}`
}

export function textsIn(value: Json | undefined): readonly string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : []
}

export function tokens(count: number): string {
  return `${amount(count)} token${count === 1 ? '' : 's'}`
}

export function amount(count: number): string {
  return count.toLocaleString('en')
}
