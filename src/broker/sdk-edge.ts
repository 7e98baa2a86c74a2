/** The edge to the SDK: what it is shown of a request, and how its own refusals are told. */
import { isJsonObject, type JsonObject } from '../core/index.ts'
import { PROTOCOL } from './frame.ts'

/**
 * What the SDK is shown of the parameters: no more than it needs, because it answers nothing at all where a member that it knows
 * has another form. What was really asked is ours to read: `requestOf`.
 */
export function knownParams(method: string, { _meta, ...params }: JsonObject): JsonObject {
  if (method === 'initialize') return params
  return method === 'tools/call' ? { name: 'asked' } : {}
}

/** A refusal of ours comes with its data. The SDK's own are told in our words: there is no such method, or its parameters do not fit. */
export function publicError(
  { code, message, data }: { readonly code: number; readonly message: string; readonly data?: unknown },
  method: string,
): object {
  if (isJsonObject(data as never)) return { code, message: message.slice(0, 1024).toWellFormed(), data }
  const name = JSON.stringify(method.slice(0, 64).toWellFormed())
  if (code === PROTOCOL.methodNotFound) {
    const hint = 'Send "initialize", "ping", "tools/list" or "tools/call"'
    const said = `Cannot take the request: there is no method ${name} here`
    return { code, message: said, data: { code: 'INVALID_REQUEST', hint } }
  }
  const hint = 'Send the parameters that the protocol has for this method'
  const said = `Cannot take the request: its parameters do not fit the method ${name}`
  return { code: PROTOCOL.invalidParams, message: said, data: { code: 'INVALID_REQUEST', hint } }
}
