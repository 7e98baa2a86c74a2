/**
 * Reading one client frame. The order of the checks is part of the protocol (11.4): a frame that is no known message, then
 * the size of its content, then its id; nothing is stored for a frame that fails here.
 */
import { Fault, type InvocationId, idOrNull, isJsonObject, readJson } from '../core/index.ts'

export const FRAME_BYTES_MAX = 128 * 1024
export const CONTENT_BYTES_MAX = 64 * 1024

export type Frame =
  | { readonly type: 'Ping' }
  | {
      readonly type: 'ChatSend' | 'ChatInspect'
      readonly id: InvocationId
      /** As the client sent it: replies carry it unchanged. */
      readonly requestId: string
      readonly content: string
    }

export type ChatFrame = Extract<Frame, { readonly content: string }>

/** Throws `PARSE_ERROR`, `MESSAGE_TOO_LARGE` or `INVALID_INVOCATION_ID`. */
export function readFrame(text: string): Frame {
  const message = parse(text)
  if (message.type === 'Ping') return { type: 'Ping' }
  if (message.type !== 'ChatSend' && message.type !== 'ChatInspect') throw unreadable('its type is not known')
  return chatFrame(message.type, message.id, message.content)
}

/** The same checks for a message that came as values and not as text. */
export function chatFrame(type: ChatFrame['type'], id: unknown, content: unknown): ChatFrame {
  if (typeof content !== 'string' || !content.isWellFormed()) throw unreadable('"content" must be a well-formed string')
  if (typeof id !== 'string') throw unreadable('"id" must be a string')
  const bytes = Buffer.byteLength(content)
  if (bytes > CONTENT_BYTES_MAX) {
    throw new Fault('MESSAGE_TOO_LARGE', {
      message: `Cannot take the message: its content is ${bytes} bytes long and ${CONTENT_BYTES_MAX} are allowed`,
      hint: 'Send a shorter text',
    })
  }
  const parsed = idOrNull('invocation', id)
  if (parsed === null) {
    throw new Fault('INVALID_INVOCATION_ID', {
      message: 'Cannot take the message: its id is not a UUID of 36 characters, or it is nil',
      hint: 'Make a fresh UUID for each new message, and keep it for retries',
    })
  }
  return { type, id: parsed, requestId: id, content }
}

function parse(text: string): { readonly [name: string]: unknown } {
  try {
    const value = readJson(text, { depthMax: 16, bytesMax: FRAME_BYTES_MAX })
    if (isJsonObject(value)) return value
  } catch (error) {
    throw unreadable(error instanceof Fault ? error.message : 'it cannot be read')
  }
  throw unreadable('it is not a JSON object')
}

function unreadable(reason: string): Fault {
  return new Fault('PARSE_ERROR', {
    message: `Invalid chat message: ${reason}`,
    hint: 'Send a JSON text frame such as {"type":"ChatSend","id":"<uuid>","content":"…"}',
  })
}
