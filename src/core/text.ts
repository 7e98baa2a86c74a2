/** Text that goes into evidence and messages: well-formed, whatever it was made from, and no longer than its place allows. */

/** A longer text ends in "…". Neither the cut nor the text leaves half of a surrogate pair, which no journal takes. */
export function cutText(text: string, unitsMax: number): string {
  return (text.length <= unitsMax ? text : `${text.slice(0, unitsMax - 1)}…`).toWellFormed()
}
