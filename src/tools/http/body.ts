/** The body of an answer: as much of it as a model may get, and what it says where it is text. */
const BODY_BYTES_MAX = 48 * 1024

export interface ReadBody {
  readonly bytes: Uint8Array
  /** True when the server had more to say. */
  readonly cut: boolean
}

/** Reads no further than it needs to. Whoever has the reply lets go of the connection. */
export async function readBody(body: AsyncIterable<Uint8Array>): Promise<ReadBody> {
  const pieces: Uint8Array[] = []
  let length = 0
  for await (const piece of body) {
    pieces.push(piece)
    length += piece.length
    if (length > BODY_BYTES_MAX) return { bytes: Buffer.concat(pieces).subarray(0, BODY_BYTES_MAX), cut: true }
  }
  return { bytes: Buffer.concat(pieces), cut: false }
}

/** The text, in the encoding that its type names or else in UTF-8; null when it is none. */
export function bodyIn(
  { bytes, cut }: ReadBody,
  type = '',
): { readonly text: string | null; readonly charset: string | null } {
  const named = /;\s*charset="?([\w-]{1,40})"?/i.exec(type)?.[1]
  try {
    const decoder = new TextDecoder(named ?? 'utf-8', { fatal: true, ignoreBOM: false })
    const text = decoder.decode(bytes, { stream: cut }) // the half of a character at a cut is no error
    return { text, charset: named === undefined ? null : decoder.encoding }
  } catch {
    return { text: null, charset: null }
  }
}
