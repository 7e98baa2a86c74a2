/**
 * Results: what a client is told of a call. The text is for the model that reads it; the same facts stand beside it for a
 * program. A denial shows its reason and no name of a policy, and nothing says "done" that is not proved (law 3).
 */
import { CODES, type Code, cutText, type Fault, hexHash, type Json, type JsonObject } from '../core/index.ts'
import { isUnconfirmed, type Observation } from '../events/index.ts'
import type { IdentifiedOutcome } from '../session/index.ts'

interface TextPart {
  readonly type: 'text'
  readonly text: string
}

export interface ToolResult {
  readonly content: readonly [TextPart]
  readonly isError: boolean
  readonly structuredContent?: JsonObject
  readonly _meta?: JsonObject
  readonly [other: string]: unknown
}

export const OUTPUT_BYTES_MAX = 256 * 1024
/** The broker's own tools that a held call is followed up with. */
export const APPROVAL_STATUS = 'approval_status'
export const CALL_WITH_APPROVAL = 'call_with_approval'

const MESSAGE_UNITS_MAX = 8 * 1024
const PENDING: Code = 'APPROVAL_PENDING'

/** Of a call with an id of the caller: whatever it is, it is the one answer of that id. */
export function identifiedResult(outcome: IdentifiedOutcome, presented: boolean): ToolResult {
  switch (outcome.kind) {
    case 'Recorded': {
      const { observation, audit, replayed, hint } = outcome
      const result = resultOf(observation, presented)
      const meta = { 'symbi/run': audit.run_id, 'symbi/replayed': replayed }
      const content = hint === null ? result.content : ([text(`${result.content[0].text}\nhint: ${hint}`)] as const)
      return { ...result, content, _meta: { ...result._meta, ...meta } }
    }
    case 'Failed':
      return failure(
        'LOOP_ERROR',
        'Cannot answer the call: its run ended without a result',
        'Everything it did is recorded, and its id is used up. Use a new id to make the call again',
      )
    case 'Unresolved':
      return outcome.observation === null
        ? failure('INVOCATION_UNRESOLVED', CODES.INVOCATION_UNRESOLVED.says, NOT_KNOWN, 'unknown')
        : unknown(outcome.observation.content)
    case 'InProgress':
      return failure('INVOCATION_IN_PROGRESS', CODES.INVOCATION_IN_PROGRESS.says, 'Ask again later with the same id')
    case 'Reconciled':
      return failure('INVOCATION_RECONCILED', CODES.INVOCATION_RECONCILED.says, NOT_KNOWN)
  }
}

const NOT_KNOWN = 'It is not made again under this id. A person finds what happened in its journal'

/** `presented`: the call came with the handle of a held one. */
export function resultOf(observation: Observation, presented: boolean): ToolResult {
  const { content, is_error, metadata = {} } = observation
  if (metadata.error_type === 'approval_pending') {
    return pending(content, String(metadata.approval_id), String(metadata.expires_at))
  }
  if (isUnconfirmed(observation)) return unknown(content)
  if (metadata.tool_outcome === 'not_done') return notDone(content)
  if (!is_error) return done(content)
  if (metadata.denied_by === 'preparation') {
    const { refusal_code: code, refusal_hint: hint } = metadata
    if (code !== undefined && isCode(code)) return failure(code, content, `Nothing was executed. ${hint}`)
    return failure('CALL_INVALID', content, 'Nothing was executed. Correct the call and make it again')
  }
  return failure('POLICY_DENIED', content, `Nothing was executed. ${whatNow(metadata.denied_by, presented)}`)
}

/** What would help depends on who refused: policy, or the approval that the call needs. */
function whatNow(deniedBy: Json | undefined, presented: boolean): string {
  if (deniedBy !== 'approval') return 'The same call will be denied again while policy is as it is'
  if (!presented) return 'The call needs an approval, and the reason says why there is none'
  return 'An approval is good once, for the very call of this session that was held. To ask a person anew, make the call without the approval_id'
}

function isCode(text: string): text is Code {
  return Object.hasOwn(CODES, text)
}

export function done(content: string): ToolResult {
  const { shown, meta } = bounded(content)
  return { content: [text(shown)], isError: false, ...(meta === null ? {} : { _meta: meta }) }
}

/** The tool knows that it did not do it. Whoever looks at nothing but the mark must not take it for done. */
function notDone(content: string): ToolResult {
  const { content: shown, _meta } = done(content)
  const message = cutText(shown[0].text, 8 * 1024)
  const code: Code = 'CALL_NOT_DONE'
  return {
    content: shown,
    isError: true,
    structuredContent: { status: 'not_done', code, message },
    ...(_meta && { _meta }),
  }
}

/** A refusal before or behind the session. From 500 on the public sentence stands in place of a message (style 7). */
export function refusal(error: Fault): ToolResult {
  const { http, says } = CODES[error.code]
  return failure(error.code, http < 500 ? error.message : says, error.hint)
}

export function failure(code: Code, message: string, hint?: string, status: string = 'refused'): ToolResult {
  const said = cutText(message, MESSAGE_UNITS_MAX)
  return {
    content: [text(hint === undefined ? `${code}: ${said}` : `${code}: ${said}\nhint: ${hint}`)],
    isError: true,
    structuredContent: { status, code, message: said, ...(hint === undefined ? {} : { hint }) },
  }
}

/**
 * An error for whoever looks at nothing else: the effect that was asked for did not happen, and a client that takes every
 * result without that mark for a success must not take this one.
 */
function pending(reason: string, approvalId: string, expiresAt: string): ToolResult {
  const lines = [
    `${PENDING}: not executed. A person has to approve this very call: ${cutText(reason, 1024)}`,
    `approval_id: ${approvalId}, open until ${expiresAt}`,
    `hint: Ask "${APPROVAL_STATUS}" with this approval_id. Once it says approved, call "${CALL_WITH_APPROVAL}" with the approval_id, the same tool name and the same arguments`,
  ]
  return {
    content: [text(lines.join('\n'))],
    isError: true,
    structuredContent: { status: 'pending', code: PENDING, approval_id: approvalId, expires_at: expiresAt },
  }
}

function unknown(content: string): ToolResult {
  const { shown, meta } = bounded(content)
  const hint =
    'Whether it took effect is not known, and it is not tried again. This session ends here; a person finds what happened in its journal'
  return {
    content: [text(`CALL_UNCONFIRMED: ${shown}\nhint: ${hint}`)],
    isError: true,
    // a client that shows the model this alone must not lose what the tool said
    structuredContent: {
      status: 'unknown',
      outcome: 'unknown',
      code: 'CALL_UNCONFIRMED',
      message: cutText(content.toWellFormed(), MESSAGE_UNITS_MAX),
      hint,
    },
    ...(meta === null ? {} : { _meta: meta }),
  }
}

/** The journal holds the whole output, and the digest tells which it is. */
function bounded(content: string): { readonly shown: string; readonly meta: JsonObject | null } {
  const bytes = Buffer.byteLength(content)
  if (bytes <= OUTPUT_BYTES_MAX) return { shown: content.toWellFormed(), meta: null }
  const all = Buffer.from(content)
  let end = OUTPUT_BYTES_MAX
  while (end > 0 && ((all[end] ?? 0) & 0xc0) === 0x80) end -= 1 // never inside a character
  const digest = `sha256:${hexHash(all)}`
  return {
    shown: `${all.toString('utf8', 0, end)}\n[Cut: ${end} of ${bytes} bytes are shown; the whole output is ${digest}]`,
    meta: { 'symbi/output': { bytes, shown_bytes: end, digest } },
  }
}

function text(content: string): TextPart {
  return { type: 'text', text: content }
}
