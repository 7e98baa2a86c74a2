/**
 * What a loss of power leaves of a write that was under way. The system writes the sectors of a write in any order, so a later one
 * may be there and an earlier one not, and what was never written reads as zeros. Our files of lines are JSON text, which
 * holds no zero byte, so such a hole can be told from a line that somebody altered: it begins where a sector or a line
 * begins, and ends where a sector or the file ends.
 */

/** No disk writes less than this at once; larger sectors are multiples of it. */
const SECTOR_BYTES = 512
const NEWLINE = 0x0a

/** Whether the line that begins at `start` has such holes, and nothing behind it a zero byte that is none of one. */
export function hasUnwrittenSectors(bytes: Uint8Array, start: number): boolean {
  let from = bytes.indexOf(0, start)
  const newline = bytes.indexOf(NEWLINE, start)
  if (from === -1 || (newline !== -1 && newline < from)) return false
  while (from !== -1) {
    let to = from
    while (bytes[to] === 0) to += 1
    const begins = from % SECTOR_BYTES === 0 || bytes[from - 1] === NEWLINE
    const ends = to % SECTOR_BYTES === 0 || to === bytes.length
    if (!begins || !ends) return false
    from = bytes.indexOf(0, to)
  }
  return true
}
