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
  // The origin of a "blob:" is that of the address inside it, and it leads nowhere.
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'it is not of http or https'
  if (url.username !== '' || url.password !== '') return 'it holds a user name or a password'
  url.hash = ''
  if (Buffer.byteLength(url.href) > URL_BYTES_MAX) return `it is longer than ${URL_BYTES_MAX} bytes`
  return climbs(url.pathname) ? 'its path leads upwards where it is decoded' : url
}

/** Written longer than needed, or as some servers alone understand it. */
const LONG_FORM_OF = new Map([
  ...['%c0%ae', '%e0%80%ae', '%u002e'].map((form) => [form, '.'] as const),
  ...['%c0%af', '%e0%80%af', '%u002f'].map((form) => [form, '/'] as const),
  ...['%c1%9c', '%e0%81%9c', '%u005c'].map((form) => [form, '\\'] as const),
])
const LONG_FORMS = new RegExp([...LONG_FORM_OF.keys()].join('|'), 'gi')
/** What some servers cut off a name. */
const BLANKS = /(?:%(?:[01][\da-f]|20|7f))+/gi
const DECODINGS_MAX = 4

/** Whether some server could find ".." in it: after decoding, once or several times, with either slash, before a ";", with blanks around it. */
function climbs(path: string): boolean {
  let text = path
  for (let round = 0; round <= DECODINGS_MAX; round += 1) {
    const parts = text.split(/[/\\]/).map((part) => part.split(';')[0]?.replace(BLANKS, ''))
    if (parts.some((part) => part === '..' || part === '.') || text.includes('\0')) return true
    const decoded = text
      .replace(/%(25|2e|2f|5c|3b|00)/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
      .replace(LONG_FORMS, (form) => LONG_FORM_OF.get(form.toLowerCase()) ?? form)
    if (decoded === text) return false
    text = decoded
  }
  return true // encoded more often than anybody means it
}
