/** A tree as text, without any text that it came from: what a program has built, an author can read and parse again. */
import { layOut } from './layout/layout.ts'
import { NOTHING_BEFORE, Page } from './layout/page.ts'
import type { Source } from './tree.ts'

/**
 * Parsing the result gives an equal tree, but for the places of its nodes. It adds no parentheses: where an operand needs
 * them, the tree holds a `Group`, as every tree does that came from a text.
 */
export function print(tree: Source): string {
  const page = new Page()
  for (const piece of layOut(tree)) {
    if (piece.kind === 'hang') page.hang()
    else if (piece.kind === 'end-hang') page.endHang()
    else if (piece.written !== 'optional') page.token(piece, piece.text, NOTHING_BEFORE)
  }
  return page.end(NOTHING_BEFORE)
}
