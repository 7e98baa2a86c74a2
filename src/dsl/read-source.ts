/** Bytes to the text of a source: strict UTF-8, bounded, without NUL. What is not text is refused with its place (1.1). */
import type { Diagnostic } from './diagnostic.ts'
import { LineMap } from './line-map.ts'

export const SOURCE_BYTES_MAX = 1_048_576

export interface SourceText {
  /** Without its byte order mark. Empty when it was refused. */
  readonly text: string
  readonly diagnostics: readonly Diagnostic[]
}

export function readSource(bytes: Uint8Array): SourceText {
  if (bytes.byteLength > SOURCE_BYTES_MAX) {
    return refused('', 0, `the source holds ${bytes.byteLength} bytes, and at most ${SOURCE_BYTES_MAX} are read`, {
      hint: 'Divide it into several files',
    })
  }
  const text = decode(bytes)
  if (text === null) return refuseEncoding(bytes)
  const nul = text.indexOf('\0')
  if (nul === -1) return { text, diagnostics: [] }
  return refused(text, nul, 'the source holds a NUL character', {
    hint: 'Remove it: it ends the text for some programs',
  })
}

/** The decoder strips one byte order mark, and no second one. */
function decode(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return null
  }
}

/** The place of the first byte that is no UTF-8: what stands before it decodes to the same text either way. */
function refuseEncoding(bytes: Uint8Array): SourceText {
  const good = validPrefix(bytes)
  const before = decode(bytes.subarray(0, good)) ?? ''
  const byte = (bytes[good] ?? 0).toString(16).toUpperCase().padStart(2, '0')
  return refused(`${before} `, before.length, `the source is not UTF-8: a byte 0x${byte} stands where it cannot`, {
    hint: 'Save the file as UTF-8',
  })
}

function validPrefix(bytes: Uint8Array): number {
  let [good, bad] = [0, bytes.byteLength + 1]
  while (bad - good > 1) {
    const middle = (good + bad) >> 1
    if (isPrefix(bytes.subarray(0, middle))) good = middle
    else bad = middle
  }
  return lastWhole(bytes.subarray(0, good))
}

/** Whether valid bytes could go on from here: a character that is cut off at the end is no mistake yet. */
function isPrefix(bytes: Uint8Array): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true })
    return true
  } catch {
    return false
  }
}

/** Without the character that is cut off at the end. */
function lastWhole(bytes: Uint8Array): number {
  for (let end = bytes.byteLength; end > 0 && end > bytes.byteLength - 4; end -= 1) {
    if (decode(bytes.subarray(0, end)) !== null) return end
  }
  return 0
}

function refused(text: string, at: number, message: string, { hint }: { readonly hint: string }): SourceText {
  const lines = new LineMap(text)
  const [start, end] = [lines.positionAt(at), lines.positionAt(at + 1)]
  return { text: '', diagnostics: [{ kind: 'syntax', code: 'E102', message, hint, start, end, related: [] }] }
}
