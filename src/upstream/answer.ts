/**
 * What a server answered to a call, as the text that a model sees. Text is joined, anything else is described, and all of it
 * is bounded and says when it was cut. Throws where the answer has not the form of one: then nobody knows what it means.
 */
import { canonical, Fault, isJsonObject, type Json, type JsonObject } from '../core/index.ts'
import { RESULT_BYTES_MAX } from './limits.ts'

export interface Said {
  readonly content: string
  readonly is_error: boolean
}

export function answerIn(result: JsonObject): Said {
  const { content = [], structuredContent, isError = false } = result
  if (!Array.isArray(content) || typeof isError !== 'boolean') throw malformed()
  if (structuredContent !== undefined && !isJsonObject(structuredContent)) throw malformed()
  if (result.content === undefined && structuredContent === undefined) throw malformed()
  const parts = (content as readonly Json[]).map(partText)
  // The same value stands in the text as well where a server follows the protocol; it is shown where there is no text.
  if (parts.length === 0 && structuredContent !== undefined) parts.push(canonical(structuredContent))
  return { content: bounded(parts.join('\n')), is_error: isError }
}

function partText(part: Json): string {
  if (!isJsonObject(part) || typeof part.type !== 'string') throw malformed()
  switch (part.type) {
    case 'text':
      if (typeof part.text !== 'string') throw malformed()
      return part.text
    case 'image':
    case 'audio':
      return described(part.type, part.mimeType, part.data)
    case 'resource': {
      const { resource } = part
      if (!isJsonObject(resource)) throw malformed()
      const head = `resource ${short(resource.uri)}`
      return typeof resource.text === 'string'
        ? `[${head}]\n${resource.text}`
        : described(head, resource.mimeType, resource.blob)
    }
    case 'resource_link':
      return `[link to ${short(part.uri)}]`
    default:
      return `[content of the kind ${short(part.type)}, which is not shown]`
  }
}

/** `data` is base64: four characters are three bytes. */
function described(what: string, mimeType: Json | undefined, data: Json | undefined): string {
  const bytes = typeof data === 'string' ? Math.floor((data.replace(/=+$/, '').length * 3) / 4) : 0
  return `[${what}, ${short(mimeType)}, ${bytes} bytes, not shown]`
}

function short(value: Json | undefined): string {
  return typeof value === 'string' ? JSON.stringify(value.slice(0, 500)) : 'of no name'
}

/** Counted as a journal holds it: a text of control characters takes six times its length there. */
function bounded(text: string): string {
  if (heldBytes(text) <= RESULT_BYTES_MAX) return text
  let kept = firstBytes(text, RESULT_BYTES_MAX)
  while (heldBytes(kept) > RESULT_BYTES_MAX + 2) kept = firstBytes(kept, Math.floor(Buffer.byteLength(kept) / 2))
  return `${kept}\n[cut: the server answered with ${Buffer.byteLength(text)} bytes of text, and the first ${Buffer.byteLength(kept)} are kept]`
}

function heldBytes(text: string): number {
  return Buffer.byteLength(JSON.stringify(text))
}

/** A cut inside a character leaves its first half, which is no character: it goes with the rest. */
function firstBytes(text: string, bytesMax: number): string {
  return new TextDecoder().decode(Buffer.from(text).subarray(0, bytesMax), { stream: true })
}

function malformed(): Fault {
  return new Fault('UPSTREAM_FAILED', { message: 'Cannot read the answer: it has not the form of a result' })
}
