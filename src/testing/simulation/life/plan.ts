/**
 * The plan of a life: what clients do, and what goes wrong, one event each, so that a plan that breaks a law can be made
 * shorter by leaving events out. It is made from the seed, and so is everything that the plan does not say.
 */

import type { Chance } from '../chance.ts'
import { chanceOf } from '../chance.ts'
import type { DiskOperation, DiskTrouble } from '../machine/trouble.ts'
import { hasForeignServer } from './foreign-server.ts'
import type { PolicyText } from './policies.ts'

export interface Plan {
  readonly seed: number
  readonly events: readonly PlannedEvent[]
}

export type PlannedEvent =
  | { readonly kind: 'chat'; readonly client: number; readonly step: ChatStep }
  | { readonly kind: 'tools'; readonly client: number; readonly step: ToolStep }
  /** Of a tool client that starts processes of its own. */
  | { readonly kind: 'stdio'; readonly step: ToolStep }
  /**
   * What becomes of such a process, so many steps of the machine after it was sent a request. The requests of its client are counted
   * from 0, over all its processes, and the first of each process is the one that it is started for. `gone`: the client is killed
   * together with it.
   */
  | { readonly kind: 'end'; readonly request: number; readonly after: number; readonly how: ProcessEnd }
  /** `at`: before the step of the machine with this number. */
  | { readonly kind: 'crash'; readonly at: number; readonly how: 'kill' | 'power' }
  | { readonly kind: 'stop'; readonly at: number; readonly drainMs: number }
  | { readonly kind: 'wall'; readonly at: number; readonly ms: number }
  | { readonly kind: 'suspend'; readonly at: number; readonly ms: number }
  | { readonly kind: 'policies'; readonly at: number; readonly policies: PolicyText }
  /** The tool of the foreign server looks like another one. */
  | { readonly kind: 'ledger'; readonly at: number }
  | { readonly kind: 'disk'; readonly trouble: DiskTrouble }

export type ProcessEnd = 'killed' | 'stopped' | 'gone'

/** `request` is a number; the same number is the same id and the same content. */
export type ChatStep =
  | { readonly do: 'send'; readonly request: number }
  | { readonly do: 'inspect'; readonly request: number }
  /** The id of another content: it must be refused. */
  | { readonly do: 'conflict'; readonly request: number }
  | { readonly do: 'await' }
  | { readonly do: 'pause'; readonly ms: number }
  | { readonly do: 'vanish' }
  | { readonly do: 'leave' }
  | { readonly do: 'noise' }

/** `call` is a number; a call with an id is the same call whenever it is sent. */
export type ToolStep =
  | { readonly do: 'call'; readonly call: number; readonly identified: boolean; readonly wait: boolean }
  | { readonly do: 'list' }
  | { readonly do: 'await' }
  | { readonly do: 'pause'; readonly ms: number }
  | { readonly do: 'leave' }

export function planOf(seed: number): Plan {
  const chance = chanceOf(seed, 'plan')
  const events: PlannedEvent[] = []
  const chats = chance.pick([0, 1, 1, 2, 2, 3])
  const tools = chats === 0 ? chance.between(1, 2) : chance.pick([0, 0, 1, 1, 2])
  let requests = 0
  for (let client = 0; client < chats; client += 1) {
    requests = chatSteps(events, chance, client, requests)
  }
  let calls = 0
  for (let client = 0; client < tools; client += 1) {
    calls = toolSteps((step) => void events.push({ kind: 'tools', client, step }), chance, calls)
  }
  const busy = 120 + 90 * (requests + calls)
  for (let left = chance.pick([0, 0, 1, 1, 1, 2, 3]); left > 0; left -= 1) {
    events.push({ kind: 'crash', at: chance.between(1, busy), how: chance.pick(['kill', 'power'] as const) })
  }
  if (chance.happens(0.2))
    events.push({ kind: 'stop', at: chance.between(30, busy), drainMs: chance.pick([0, 1000, 30_000]) })
  if (chance.happens(0.2))
    events.push({
      kind: 'wall',
      at: chance.between(1, busy),
      ms: chance.pick([-86_400_000, -3_000, 5_000, 86_400_000]),
    })
  if (chance.happens(0.15))
    events.push({ kind: 'suspend', at: chance.between(1, busy), ms: chance.pick([2_000, 40_000, 600_000]) })
  for (let left = chance.pick([0, 0, 0, 1, 1, 2, 4]); left > 0; left -= 1)
    events.push({ kind: 'disk', trouble: troubleOf(chance) })
  const cuts = chanceOf(seed, 'cuts')
  if (cuts.happens(0.25)) events.push({ kind: 'disk', trouble: cutOf(cuts) })
  const foreign = chanceOf(seed, 'foreign')
  if (hasForeignServer(seed) && foreign.happens(0.4)) events.push({ kind: 'ledger', at: foreign.between(1, busy) })
  policyChanges(events, chanceOf(seed, 'policies'), busy)
  ownProcesses(events, chanceOf(seed, 'stdio'), calls)
  return { seed, events }
}

/** Of all lives: in these a tool client starts processes of its own. */
const OWN_PROCESSES = 1 / 8

/** `first`: its calls are no other client's, because it is another caller. */
function ownProcesses(events: PlannedEvent[], chance: Chance, first: number): void {
  if (!chance.happens(OWN_PROCESSES)) return
  const add = (step: ToolStep): void => void events.push({ kind: 'stdio', step })
  const calls = toolSteps(add, chance, toolSteps(add, chance, first)) - first
  for (let left = chance.pick([0, 1, 1, 2, 3]); left > 0; left -= 1) {
    const how = chance.pick(['killed', 'killed', 'stopped', 'gone'] as const)
    events.push({ kind: 'end', request: chance.between(0, 1 + calls), after: chance.between(1, 80), how })
  }
}

const POLICIES: readonly PolicyText[] = [
  'ordinary',
  'strict',
  'strict',
  'strict',
  'lifted',
  'broken',
  'broken',
  'removed',
  'emptied',
]

function policyChanges(events: PlannedEvent[], chance: Chance, busy: number): void {
  for (let left = chance.pick([0, 0, 0, 1, 2, 3]); left > 0; left -= 1)
    events.push({ kind: 'policies', at: chance.between(1, busy), policies: chance.pick(POLICIES) })
}

function chatSteps(events: PlannedEvent[], chance: Chance, client: number, first: number): number {
  let next = first
  const add = (step: ChatStep): void => void events.push({ kind: 'chat', client, step })
  for (let left = chance.between(1, 3); left > 0; left -= 1) {
    const request = next
    next += 1
    add({ do: 'send', request })
    if (chance.happens(0.25)) add({ do: 'pause', ms: chance.pick([1, 10, 200, 5_000]) })
    if (chance.happens(0.2)) add({ do: 'vanish' })
    if (chance.happens(0.25)) add({ do: 'send', request }) // repeated, while it runs or afterwards
    if (chance.happens(0.1)) add({ do: 'conflict', request })
    if (chance.happens(0.1)) add({ do: 'noise' })
    if (chance.happens(0.75)) add({ do: 'await' })
    if (chance.happens(0.25)) add({ do: 'inspect', request: chance.between(first, request) })
    if (chance.happens(0.15)) add({ do: 'send', request: chance.between(0, request) }) // perhaps another client's
    if (chance.happens(0.1)) add({ do: 'leave' })
  }
  add({ do: 'await' })
  return next
}

function toolSteps(add: (step: ToolStep) => void, chance: Chance, first: number): number {
  let next = first
  if (chance.happens(0.3)) add({ do: 'list' })
  for (let left = chance.between(1, 5); left > 0; left -= 1) {
    const call = next
    next += 1
    const identified = chance.happens(0.5)
    add({ do: 'call', call, identified, wait: chance.happens(0.7) })
    if (identified && chance.happens(0.4)) add({ do: 'call', call, identified, wait: chance.happens(0.5) })
    if (chance.happens(0.2)) add({ do: 'pause', ms: chance.pick([1, 20, 3_000, 40_000]) })
    if (chance.happens(0.1)) add({ do: 'leave' })
  }
  add({ do: 'await' })
  if (chance.happens(0.5)) add({ do: 'leave' })
  return next
}

const OFTEN: readonly DiskOperation[] = [
  'append',
  'syncData',
  'append',
  'syncData',
  'syncAll',
  'syncDirectory',
  'create',
]
const SELDOM: readonly DiskOperation[] = [
  'open',
  'link',
  'rename',
  'unlink',
  'read',
  'list',
  'lstat',
  'mkdir',
  'tryLock',
]

function troubleOf(chance: Chance): DiskTrouble {
  const on = chance.happens(0.8) ? chance.pick(OFTEN) : chance.pick(SELDOM)
  const nth = chance.between(1, on === 'append' || on === 'syncData' ? 60 : 25)
  if (chance.happens(0.25)) return { on, nth, how: 'slow', ms: chance.pick([20, 800, 45_000]) }
  const how =
    on === 'append' ? chance.pick(['fails', 'late', 'short'] as const) : chance.pick(['fails', 'late'] as const)
  const errno = chance.pick(on === 'append' || on === 'create' ? (['EIO', 'ENOSPC'] as const) : (['EIO'] as const))
  return { on, nth, how, errno }
}

/** The power fails in the middle of a write, or of its sync. */
function cutOf(chance: Chance): DiskTrouble {
  return { on: chance.pick(['append', 'append', 'syncData'] as const), nth: chance.between(1, 30), how: 'power' }
}
