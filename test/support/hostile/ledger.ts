/**
 * What clients were told, held against what happened. An effect is known by its path, and no two calls that are permitted ask
 * for the same one, so the three accounts can be compared one by one: the clients', the counter's and the journals'.
 */
import { expect } from 'vitest'
import type { Accounts, CallAccount } from '../call-accounts.ts'
import type { Message, ToolAnswer } from '../mcp-client.ts'
import type { HostileFrame } from './parts.ts'

export class Ledger {
  readonly #frames: HostileFrame[] = []
  readonly #told = new Set<string>()
  /** Of each path, how often a call of it was told to have been made just now, and not before. */
  readonly #made = new Map<string, number>()
  readonly #unheard = new Set<string>()
  readonly #unknown = new Set<string>()

  get frames(): number {
    return this.#frames.length
  }

  sent(frame: HostileFrame): void {
    this.#frames.push(frame)
  }

  /** One message, whatever it is. Only a result that is no error says that something happened. */
  heard({ result }: Message): void {
    if (result === undefined || result.isError !== false) return
    const path = answeredPath(result)
    if (path === null) return
    this.#told.add(path)
    if (result._meta?.['symbi/replayed'] === true) return
    this.#made.set(path, (this.#made.get(path) ?? 0) + 1)
  }

  /** The effect was counted, and its client had gone before it could be told. */
  unheard(path: string): void {
    this.#unheard.add(path)
  }

  /** The effect was counted, and its client was told that its outcome is unknown, or had cancelled it. */
  unknown(path: string): void {
    this.#unknown.add(path)
  }

  /** `counted` as the counter gives it. */
  check(counted: readonly string[], accounts: Accounts): void {
    const effects = counted.map((line) => line.split(' ')[1] ?? '')
    const pathsOf = (outcome: CallAccount['outcome']): readonly string[] =>
      accounts.calls.filter((call) => call.outcome === outcome && call.arguments.url !== undefined).map(pathIn)
    expect(effects.toSorted()).toEqual([...new Set(effects)].toSorted()) // at most once, each of them
    expect([...this.#made].filter(([, times]) => times > 1)).toEqual([])
    const known = [...this.#told, ...this.#unheard].toSorted()
    const unknown = [...this.#unknown].toSorted()
    expect(pathsOf('known').toSorted()).toEqual(known)
    expect(pathsOf('unknown').toSorted()).toEqual(unknown)
    expect(effects.toSorted()).toEqual([...known, ...unknown].toSorted())
    expect(accounts.unended).toEqual([])
    this.#checkFrames(effects)
  }

  /** Every permitted call was made, and nothing else was, whatever it looked like. */
  #checkFrames(effects: readonly string[]): void {
    const happened = new Set(effects.map((path) => path.split('/').at(-1)))
    const owed = new Map<string, number | null>()
    for (const { mark, effects } of this.#frames) {
      const before = owed.get(mark) ?? 0
      owed.set(mark, effects === null ? null : before + effects)
    }
    const wrong = this.#frames.filter(({ mark }) => {
      const count = owed.get(mark) ?? null
      return count !== null && count > 0 !== happened.has(mark)
    })
    expect(wrong.map(({ what, bytes }) => `${what}: ${Buffer.from(bytes).toString('latin1').slice(0, 300)}`)).toEqual(
      [],
    )
  }
}

function pathIn({ arguments: args }: CallAccount): string {
  return pathOf(String(args.url))
}

function pathOf(url: string): string {
  const { pathname, search } = new URL(url)
  return `${pathname}${search}`
}

/** Of the request that a result tells of, or null where it tells of something else. */
function answeredPath({ content }: ToolAnswer): string | null {
  const text = content.map((part) => part.text).join()
  if (!text.includes('"url":')) return null
  return pathOf(String((JSON.parse(text) as { readonly url: unknown }).url))
}
