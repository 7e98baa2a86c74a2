/**
 * What takes effect is what somebody asked for: of a tool client the very call, of a chat something that its model made of it. What
 * the runtime adds to arguments that were left out is its own affair.
 */
import { canonicalText } from './plain-json.ts'
import type { AskedCall, Seen } from './seen.ts'

export class AskedCalls {
  readonly #requestOf: (token: string) => string | null
  readonly #calls = new Map<string, AskedCall | null>()
  readonly #requests = new Set<string>()

  constructor(requestOf: (token: string) => string | null) {
    this.#requestOf = requestOf
  }

  /** Why what begins here was not asked for, or null. */
  whyUnasked(seen: Seen): string | null {
    if (seen.kind === 'Asked') {
      if (seen.token !== null) this.#calls.set(seen.token, seen.call ?? null)
      this.#requests.add(seen.request)
    }
    if (seen.kind !== 'EffectBegan' && seen.kind !== 'CallSent') return null
    const { token, tool, args } = seen
    const asked = this.#calls.get(token)
    if (asked === undefined)
      return this.#requests.has(this.#requestOf(token) ?? '')
        ? null
        : `A call of ${tool} with the token "${token}" begins, and nobody asked for it`
    if (asked === null || (asked.tool === tool && Object.keys(asked.args).every((name) => isSame(name, asked, seen))))
      return null
    return `The call of the token "${token}" was asked for as ${worded(asked)}, and begins as ${worded({ tool, args })}`
  }
}

function isSame(name: string, asked: AskedCall, { args }: Pick<AskedCall, 'args'>): boolean {
  return canonicalText(asked.args[name]) === canonicalText(args[name])
}

function worded({ tool, args }: AskedCall): string {
  return `${tool} ${canonicalText(args)}`
}
