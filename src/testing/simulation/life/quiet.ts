/** What a process has not let go when everything that it began had time to end. */
import type { Machine } from '../machine/machine.ts'
import type { Owner } from '../machine/turns.ts'
import type { Observer } from './observer.ts'

/** What is held longer than this after a close is never let go. */
const QUIET_MS = 120_000
const QUIET_TIMES = 4

/** By kind and number; null when the process died meanwhile. */
export async function heldWhenQuiet(
  machine: Machine,
  observer: Observer,
  owner: Owner,
): Promise<Readonly<Record<string, number>> | null> {
  // a machine that slept meanwhile has everything left to do at once, and what is slow may come last
  for (let times = 0; times < QUIET_TIMES && (times === 0 || holdsAnything(machine, owner)); times += 1) {
    await machine.turns.perform(QUIET_MS, null, 'quiet', () => undefined)
    if (!owner.alive) return null
  }
  const held = Object.entries(machine.heldBy(owner))
  for (const [kind, names] of held) for (const name of names) observer.note(`still held: ${kind} ${name}`)
  return Object.fromEntries(held.map(([kind, names]) => [kind, names.length]))
}

function holdsAnything(machine: Machine, owner: Owner): boolean {
  return Object.values(machine.heldBy(owner)).some((names) => names.length > 0)
}
