/**
 * A tool call as a client sends it: a name, arguments, and a `_meta` of which five members are read, as data. A handle or an
 * id in it is a name and no authority; everything else there, whatever it claims, is not looked at (law 9).
 */
import {
  derivedId,
  Fault,
  type InvocationId,
  idOrNull,
  isJsonObject,
  type Json,
  type JsonObject,
} from '../core/index.ts'
import { isRequestId } from './frame.ts'

export interface AskedCall {
  readonly name: string
  readonly arguments: JsonObject
  /** The handle of a held call. */
  readonly presented: string | null
  readonly invocation: InvocationId | null
  readonly progressToken: string | number | null
}

const META = {
  approval: 'symbi/approval',
  invocation: 'symbi/invocationId',
  /** What agent CLIs send by themselves. */
  ofClients: ['claudecode/toolUseId', 'callId'],
} as const

/** The members of `tools/call`, or null where they break the protocol. `session` names the client's session. */
export function readToolCall(params: JsonObject, session: string): AskedCall | null {
  const { name, arguments: args = {}, _meta: meta = {}, ...others } = params
  if (typeof name !== 'string' || !isJsonObject(args) || !isJsonObject(meta)) return null
  if (Object.keys(others).length > 0) return null
  const presented = meta[META.approval] ?? null
  if (presented !== null && !isHandle(presented)) throw badHandle()
  const token = meta.progressToken
  return {
    name,
    arguments: args,
    presented,
    invocation: invocationOf(meta, session),
    progressToken: token !== undefined && isRequestId(token) ? token : null, // repeated every few seconds, so as short as an id
  }
}

/** `call_with_approval`: another call, and the handle that it comes back with. */
export function readApprovedCall(args: JsonObject): Pick<AskedCall, 'name' | 'arguments' | 'presented'> {
  const { approval_id: handle, name, arguments: inner = {}, ...others } = args
  if (!isHandle(handle)) throw badHandle()
  if (typeof name !== 'string' || !isJsonObject(inner) || Object.keys(others).length > 0) {
    throw new Fault('CALL_INVALID', {
      message: 'Cannot make the call: it takes "approval_id", "name" and "arguments", and nothing else',
      hint: 'Give the name and the arguments of the held call exactly as they were',
    })
  }
  return { name, arguments: inner, presented: handle }
}

export function readHandle(args: JsonObject): string {
  const { approval_id: handle, ...others } = args
  if (!isHandle(handle) || Object.keys(others).length > 0) throw badHandle()
  return handle
}

function isHandle(value: Json | undefined): value is string {
  return typeof value === 'string' && /^[0-9a-f]{16}$/.test(value)
}

function badHandle(): Fault {
  return new Fault('CALL_INVALID', {
    message: 'Cannot use the approval id: it is not 16 hex digits',
    hint: 'Give the approval_id of the result that said that the call is held',
  })
}

/** Of a member that a client sends by itself, what is long enough to be meant as an id of one call only. */
const LONG_ENOUGH = /^[A-Za-z0-9_.:-]{16,128}$/
/** Under this, the ids that agent CLIs give their calls become ids of ours. */
const NAMESPACE = '6f1a3a0e-5f0b-5d3f-9a52-0a5d1c7e9b44'

/**
 * Our own member must hold a UUID. What agent CLIs send by themselves is taken where it can be unique: a UUID as it is, other
 * text as a name inside this session, since nobody promised that it means the same call anywhere else.
 */
function invocationOf(meta: JsonObject, session: string): InvocationId | null {
  const own = meta[META.invocation]
  if (own !== undefined) {
    const id = idOrNull('invocation', own)
    if (id !== null) return id
    throw new Fault('INVALID_INVOCATION_ID', {
      message: `Cannot use "${META.invocation}": it is not a UUID of 36 characters, or it is nil`,
      hint: 'Give a fresh hyphenated UUID for each call, or leave the member out',
    })
  }
  for (const member of META.ofClients) {
    const given = meta[member]
    if (typeof given !== 'string' || !LONG_ENOUGH.test(given)) continue
    return idOrNull('invocation', given) ?? derivedId('invocation', NAMESPACE, `${session} ${member} ${given}`)
  }
  return null
}
