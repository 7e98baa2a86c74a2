/** The two tools that a client follows a held call up with. They belong to the broker, and reach no tool by themselves. */
import { Fault, type JsonObject } from '../core/index.ts'
import type { ToolDefinition } from '../events/index.ts'
import { APPROVAL_STATUS, CALL_WITH_APPROVAL, failure, type ToolResult } from './results.ts'
import type { HeldCalls } from './session-port.ts'

const HANDLE: JsonObject = {
  type: 'string',
  pattern: '^[0-9a-f]{16}$',
  description: 'The approval_id of the result that said that the call is held',
}

export function approvalTools(): readonly ToolDefinition[] {
  return [
    {
      name: APPROVAL_STATUS,
      description: 'Says whether a held call was approved, denied, used, or still waits for a person. Takes no effect.',
      parameters: {
        type: 'object',
        properties: { approval_id: HANDLE },
        required: ['approval_id'],
        additionalProperties: false,
      },
    },
    {
      name: CALL_WITH_APPROVAL,
      description: 'Makes a held call again once it was approved: the same tool and the same arguments, once.',
      parameters: {
        type: 'object',
        properties: {
          approval_id: HANDLE,
          name: { type: 'string', description: 'The name of the tool, as in the held call' },
          arguments: { type: 'object', description: 'The arguments, exactly as in the held call' },
        },
        required: ['approval_id', 'name', 'arguments'],
        additionalProperties: false,
      },
    },
  ]
}

export function refuseTakenNames(definitions: readonly ToolDefinition[]): void {
  const own = new Set([APPROVAL_STATUS, CALL_WITH_APPROVAL])
  const taken = definitions.find(({ name }) => own.has(name))
  if (taken === undefined) return
  throw new Fault('CONFIG_INVALID', {
    message: `Cannot offer the tool "${taken.name}": the broker has a tool of this name, which follows held calls up`,
    hint: 'Give the tool another name',
  })
}

const WHAT_NOW = {
  pending: 'A person has not decided yet. Ask again later, not more often than every few seconds',
  approved: `Once, and not again after that: call "${CALL_WITH_APPROVAL}" with this approval_id, the same tool name and the same arguments`,
  used: 'The approval was used by a call, and is worth nothing more. The same call needs a new approval',
  denied: 'The call was denied. Nothing was executed, and asking again needs a new approval',
  expired: 'Nobody approved the call in time. Nothing was executed; make the call again to ask anew',
} as const

/** Of this session's own calls only: about others there is nothing to learn here, not even that they exist. */
export function approvalStatus(handle: string, own: ReadonlySet<string>, held: HeldCalls): ToolResult {
  const found = own.has(handle) ? held.find(handle) : null
  if (found === null) {
    return failure('APPROVAL_UNKNOWN', `Cannot tell about "${handle}": this session has no held call of this id`)
  }
  const { expires_at } = found
  const status = held.isSpent(handle) ? 'used' : found.status
  const text = `${status}, open until ${expires_at}\n${WHAT_NOW[status]}`
  const structuredContent = { status, approval_id: handle, expires_at }
  return { content: [{ type: 'text', text }], isError: false, structuredContent }
}
