/** What is seen is written down in order, and every law looks at it in the moment it happens. */
import type { DiskView, Law, Life, Violation } from '../laws/law.ts'
import type { Seen } from '../laws/seen.ts'

export class Observer {
  readonly seen: Seen[] = []
  readonly violations: Violation[] = []
  readonly #laws: readonly Law[]
  /** One objection a law is enough: what follows from it would only repeat it. */
  readonly #broken = new Set<Law>()
  readonly #disk: DiskView
  /** As the first client was told that was told one. */
  publicKey: string | null = null
  /** Beside what is seen, for people who read a trace. */
  readonly trace: string[] = []
  readonly #now: () => string

  constructor(laws: readonly Law[], disk: DiskView, now: () => string) {
    this.#laws = laws
    this.#disk = disk
    this.#now = now
  }

  see(seen: Seen): void {
    this.seen.push(seen)
    this.note(shown(seen))
    for (const law of this.#laws) {
      if (this.#broken.has(law)) continue
      const what = law.watch?.(seen, this.#disk) ?? null
      if (what !== null) this.#object(law, what)
    }
  }

  note(what: string): void {
    this.trace.push(`${this.#now()}  ${what}`)
  }

  async settle(life: Omit<Life, 'seen' | 'disk'>): Promise<void> {
    for (const law of this.#laws) {
      if (this.#broken.has(law)) continue
      const what = (await law.settle?.({ ...life, seen: this.seen, disk: this.#disk })) ?? null
      if (what !== null) this.#object(law, what)
    }
  }

  #object(law: Law, what: string): void {
    const { name } = law
    this.#broken.add(law)
    this.violations.push({ law: name, what, at: this.seen.length })
    this.note(`LAW BROKEN: ${name}: ${what}`)
  }
}

function shown({ kind, ...facts }: Seen): string {
  const members = Object.entries(facts).map(
    ([name, value]) => `${name} ${typeof value === 'string' ? value : JSON.stringify(value)}`,
  )
  return [kind, ...members].join('  ').slice(0, 400)
}
