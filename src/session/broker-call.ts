/**
 * A broker call: all that an untrusted client may say. An id, the name of a tool, an object of arguments, and no fourth
 * member: who it speaks for, what was approved and what policy thinks are never read from a client (law 9).
 */
import { canonical, Fault, fits, isJsonObject, type Json, type JsonObject, shapes } from '../core/index.ts'

export interface BrokerCall {
  /** 1 to 128 bytes of `A–Z a–z 0–9 _ - . : /`, used once in a session. */
  readonly call_id: string
  /** Of a tool that the session offers; the same letters and length. */
  readonly name: string
  readonly arguments: JsonObject
}

const callShape = shapes.object({ call_id: shapes.text, name: shapes.text, arguments: shapes.jsonObject })

/** Exactly `{call_id, name, arguments}`, or `CALL_INVALID`. Ids and sizes are judged when the call is made. */
export function readBrokerCall(value: Json): BrokerCall {
  if (fits<BrokerCall>(callShape, value)) return value
  const misfit = callShape.check(value, '')
  throw invalid(`${misfit?.path === '' ? 'it' : `"${misfit?.path}"`} ${misfit?.reason}`)
}

export const CALL_BYTES_MAX = 1024 * 1024
/**
 * The arguments as they stand in the journal: a text inside JSON. An entry holds 1 MiB; the decision repeats the arguments as
 * a value, and the result stands beside them. A call that could not be recorded is refused before anything happens.
 */
export const RECORDED_BYTES_MAX = 448 * 1024

const IDENTIFIER = /^[A-Za-z0-9_.:/-]{1,128}$/

export function isIdentifier(text: unknown): text is string {
  return typeof text === 'string' && IDENTIFIER.test(text)
}

/** The arguments as canonical text: what is judged. Throws `CALL_INVALID` or `PAYLOAD_TOO_LARGE`; nothing happened yet. */
export function argumentsOf(call: BrokerCall): string {
  if (!isIdentifier(call.call_id)) throw invalid(`its id ${NOT_AN_IDENTIFIER}`)
  if (!isIdentifier(call.name)) throw invalid(`the name of its tool ${NOT_AN_IDENTIFIER}`)
  if (!isJsonObject(call.arguments)) throw invalid('its arguments are not an object')
  const text = canonicalOf(call.arguments)
  const frameBytes = Buffer.byteLength(JSON.stringify({ call_id: call.call_id, name: call.name, arguments: 0 })) - 1
  const bytes = frameBytes + Buffer.byteLength(text)
  if (bytes > CALL_BYTES_MAX) throw tooLarge(`it holds ${bytes} bytes`, CALL_BYTES_MAX)
  const recorded = Buffer.byteLength(JSON.stringify(text))
  if (recorded > RECORDED_BYTES_MAX)
    throw tooLarge(`its arguments take ${recorded} bytes of evidence`, RECORDED_BYTES_MAX)
  return text
}

const NOT_AN_IDENTIFIER = 'is not 1 to 128 letters, digits or "_-.:/"'

function canonicalOf(value: JsonObject): string {
  try {
    return canonical(value)
  } catch (cause) {
    throw invalid('its arguments are no strict JSON', cause)
  }
}

function tooLarge(what: string, bytesMax: number): Fault {
  return new Fault('PAYLOAD_TOO_LARGE', {
    message: `Cannot make the call: ${what} and ${bytesMax} are allowed`,
    hint: 'Send less in one call',
  })
}

function invalid(reason: string, cause?: unknown): Fault {
  return new Fault('CALL_INVALID', {
    message: `Cannot make the call: ${reason}`,
    hint: 'Send exactly call_id, name and arguments',
    cause,
  })
}
