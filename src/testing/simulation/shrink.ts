/**
 * Makes a failing plan small: of its items it leaves out halves, then ever smaller parts, then single ones, as long as what
 * remains still fails. What is left fails, and is a part of the plan in its order.
 */

export interface Shrunk<T> {
  readonly items: readonly T[]
  /** How often it was tried. */
  readonly tries: number
  /** No single item of it can be left out; false where the tries ran out before that was known. */
  readonly minimal: boolean
}

/** `fails` is true for the whole plan, and answers the same each time. Default: 500 tries. */
export async function shrink<T>(
  plan: readonly T[],
  fails: (items: readonly T[]) => Promise<boolean>,
  { triesMax = 500 }: { readonly triesMax?: number } = {},
): Promise<Shrunk<T>> {
  let items = plan
  let tries = 0
  let size = Math.ceil(items.length / 2)
  /** Where the next part starts, and how many items from there were tried in vain since the last success. */
  let at = 0
  let inVain = 0
  while (items.length > 0 && tries < triesMax) {
    if (inVain >= items.length) {
      if (size === 1) return { items, tries, minimal: true }
      size = Math.ceil(size / 2)
      inVain = 0
      at = 0
    }
    const end = Math.min(at + size, items.length)
    const rest = [...items.slice(0, at), ...items.slice(end)]
    tries += 1
    if (await fails(rest)) {
      items = rest
      inVain = 0
    } else {
      inVain += end - at
      at = end
    }
    if (at >= items.length) at = 0
  }
  return { items, tries, minimal: items.length === 0 }
}
