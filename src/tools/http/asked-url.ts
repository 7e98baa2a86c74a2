/**
 * The URL of a call, in the one form that policy judges and the server gets. A path that servers read in two ways is refused: a
 * rule about "/public/" must not be passed by "/public/%2e%2e%2fprivate".
 */
const URL_BYTES_MAX = 8 * 1024

/** The URL, or why it cannot be used. A fragment is never sent, so it is dropped before anybody judges it. */
export function askedUrl(text: string): URL | string {
  if (Buffer.byteLength(text) > URL_BYTES_MAX) return `it is longer than ${URL_BYTES_MAX} bytes`
  if (!URL.canParse(text)) return 'it is not an absolute URL'
  const url = new URL(text)
  if (url.username !== '' || url.password !== '') return 'it holds a user name or a password'
  url.hash = ''
  if (Buffer.byteLength(url.href) > URL_BYTES_MAX) return `it is longer than ${URL_BYTES_MAX} bytes`
  return climbs(url.pathname) ? 'its path leads upwards where it is decoded' : url
}

const DECODINGS_MAX = 4

/** Whether some server could find ".." in it: after decoding, once or several times, with either slash, before a ";". */
function climbs(path: string): boolean {
  let text = path
  for (let round = 0; round <= DECODINGS_MAX; round += 1) {
    const parts = text.split(/[/\\]/).map((part) => part.split(';')[0])
    if (parts.some((part) => part === '..' || part === '.') || text.includes('\0')) return true
    const decoded = text.replace(/%(25|2e|2f|5c|3b|00)/gi, (_, hex: string) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    )
    if (decoded === text) return false
    text = decoded
  }
  return true // encoded more often than anybody means it
}
