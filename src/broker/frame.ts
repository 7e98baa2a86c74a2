/**
 * Frames: one JSON-RPC message of a client we do not trust, read strictly and sorted by kind. Nothing is repaired, and what
 * cannot be read says why in the words of the protocol.
 */
import { Fault, isFault, isJsonObject, type Json, type JsonObject, readJson } from '../core/index.ts'

export type RequestId = string | number

export type Frame =
  | { readonly kind: 'Request'; readonly id: RequestId; readonly method: string; readonly params: JsonObject }
  | { readonly kind: 'Notification'; readonly method: string; readonly params: JsonObject }
  /** We ask a client nothing, so whatever it answers belongs to nothing. */
  | { readonly kind: 'Response' }
  | Broken

export interface Broken {
  readonly kind: 'Broken'
  /** Null where the frame does not say, or cannot be trusted to say, whose answer this is. */
  readonly id: RequestId | null
  readonly problem: Fault
}

/** The errors of the protocol, for faults of the protocol. What goes wrong with a tool is a result of that tool. */
export const PROTOCOL = {
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  refused: -32000,
} as const

export const FRAME_BYTES_MAX = 1024 * 1024
/** The frame around the arguments, which may be 64 levels deep themselves. */
const DEPTH_MAX = 72
const ID_BYTES_MAX = 256
const METHOD_CHARS_MAX = 128

export function readFrame(bytes: Uint8Array): Frame {
  try {
    return frameOf(readJson(bytes, { bytesMax: FRAME_BYTES_MAX, depthMax: DEPTH_MAX }))
  } catch (error) {
    if (!isFault(error)) throw error
    return { kind: 'Broken', id: idAtTheEdge(bytes), problem: error }
  }
}

/** A value that the strict reader gave. */
export function frameOf(value: Json): Frame {
  if (!isJsonObject(value)) return broken(null, 'it is no object; batches are not taken')
  if (value.jsonrpc !== '2.0') return broken(null, '"jsonrpc" must be "2.0"')
  const { id, method, params = {} } = value
  if (method === undefined)
    return 'result' in value || 'error' in value ? { kind: 'Response' } : broken(null, 'it names no method')
  if (id !== undefined && !isRequestId(id)) return broken(null, '"id" must be a short string or a whole number')
  const own = id ?? null
  if (typeof method !== 'string' || method.length > METHOD_CHARS_MAX)
    return broken(own, '"method" must be a short string')
  if (!isJsonObject(params)) return broken(own, '"params" must be an object')
  return id === undefined ? { kind: 'Notification', method, params } : { kind: 'Request', id, method, params }
}

/** A short string or a whole number: of those a client may have as many repeated to it as it likes. */
export function isRequestId(value: Json): value is RequestId {
  if (typeof value === 'string') return Buffer.byteLength(value) <= ID_BYTES_MAX
  return Number.isSafeInteger(value)
}

function broken(id: RequestId | null, state: string): Broken {
  const problem = new Fault('INVALID_REQUEST', {
    message: `Cannot read the frame: ${state}`,
    hint: 'Send one JSON-RPC 2.0 message at a time',
  })
  return { kind: 'Broken', id, problem }
}

const EDGE_BYTES = 320
const AT_THE_START = /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*("[\w.:-]{0,128}"|-?\d{1,15})\s*,/
const AT_THE_END = /,\s*"id"\s*:\s*("[\w.:-]{0,128}"|-?\d{1,15})\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$/

/**
 * Whose answer a frame that cannot be read is, as far as its edges say so: a client whose frame was too long should not wait
 * for ever. A wrong guess reaches nobody but the client that wrote it.
 */
export function idAtTheEdge(bytes: Uint8Array): RequestId | null {
  const start = Buffer.from(bytes.subarray(0, EDGE_BYTES)).toString('latin1')
  const end = Buffer.from(bytes.subarray(-EDGE_BYTES)).toString('latin1')
  const found = AT_THE_START.exec(start)?.[1] ?? AT_THE_END.exec(end)?.[1]
  if (found === undefined) return null
  return found.startsWith('"') ? found.slice(1, -1) : Number(found)
}
