/** Pieces of UTF-8: where a piece was cut out of a longer text, the halves of characters at its ends are left away. */

export function wholeCharacters(
  bytes: Uint8Array,
  beginsInside: boolean,
  endsInside: boolean,
): { readonly skipped: number; readonly bytes: Uint8Array } {
  let begin = 0
  if (beginsInside) while (begin < Math.min(3, bytes.length) && isContinuation(bytes[begin])) begin += 1
  const end = endsInside ? bytes.length - unfinished(bytes, begin) : bytes.length
  return { skipped: begin, bytes: bytes.subarray(begin, Math.max(begin, end)) }
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Null when it is not UTF-8. */
export function textOf(bytes: Uint8Array): string | null {
  try {
    return decoder.decode(bytes)
  } catch {
    return null
  }
}

/** How many bytes at the end begin a character and do not finish it. */
function unfinished(bytes: Uint8Array, begin: number): number {
  for (let back = 1; back <= Math.min(3, bytes.length - begin); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0
    if (isContinuation(byte)) continue
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1
    return length > back ? back : 0
  }
  return 0
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80
}
