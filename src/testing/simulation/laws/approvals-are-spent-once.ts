/**
 * An effect that needs a person has one: a decision for that very call, made in the life of the process that runs it, used for
 * one effect. What a person is told counts, and what a client is told to wait for, is on the disk, and what is kept of its end
 * is what the person said.
 */
import { basename } from 'node:path'
import type { Json } from '../../../core/index.ts'
import { type Evidence, type EvidenceReader, HELD, SETTLED } from './evidence.ts'
import { approvalsOf } from './intent-before-effect.ts'
import type { Law, Scenario } from './law.ts'
import { textAt } from './run-facts.ts'
import type { Seen } from './seen.ts'

interface Given {
  readonly token: string
  readonly decision: 'approve' | 'deny'
  /** No process that could use it is alive any more. */
  lapsed: boolean
  /** The number of the effect it was used for. */
  usedBy: number | null
}

export function approvalsAreSpentOnce(reader: EvidenceReader, { needsApproval }: Pick<Scenario, 'needsApproval'>): Law {
  const given = new Map<string, Given>()
  const alive = new Set<number>()
  return {
    name: 'approvals are spent once',
    watch: (seen, disk) => {
      switch (seen.kind) {
        case 'Booted':
          alive.add(seen.life)
          return null
        case 'Crashed':
        case 'Closed':
          alive.delete(seen.life)
          if (alive.size === 0) for (const each of given.values()) each.lapsed = true
          return whyEndsOtherwise(reader.at(seen, disk), given)
        case 'Told':
          return seen.answer.kind === 'Pending' ? whyNotHeld(seen.answer.handle, reader.at(seen, disk)) : null
        case 'Decided':
          given.set(seen.handle, { token: seen.token, decision: seen.decision, lapsed: false, usedBy: null })
          return null
        case 'DecisionTold':
          return whyNotDurable(seen.handle, reader.at(seen, disk))
        case 'EffectBegan':
          return needsApproval(seen.tool, seen.args) ? whyNotApproved(seen, given, reader.at(seen, disk)) : null
        default:
          return null
      }
    },
    settle: (life) => whyEndsOtherwise(reader.at(life.seen, life.disk), given),
  }
}

/** What is kept of an approval that is over. One that its asker has to come back with is used up, or has lapsed. */
function whyEndsOtherwise({ files }: Evidence, given: ReadonlyMap<string, Given>): string | null {
  for (const [path, bytes] of files) {
    if (!path.startsWith(`${SETTLED}/`)) continue
    const handle = basename(path, '.json')
    const decision = given.get(handle)?.decision ?? null
    const { ended, use } = endIn(bytes)
    const what = `${handle} is kept as ${ended}`
    if (ended === 'denied' && decision !== 'deny') return `${what}, and nobody denied it`
    if ((ended === 'approved' || ended === 'spent') && decision !== 'approve') return `${what}, and nobody approved it`
    if (ended === 'approved' && use === 'presented') return `${what}, and no call was made with it`
  }
  return null
}

function endIn(bytes: Uint8Array): { readonly ended: string | null; readonly use: string | null } {
  const end = JSON.parse(Buffer.from(bytes).toString()) as Json
  return { ended: textAt(end, 'ended'), use: textAt(end, 'request', 'use') }
}

function whyNotApproved(
  { token, effect }: Extract<Seen, { kind: 'EffectBegan' }>,
  given: ReadonlyMap<string, Given>,
  evidence: Evidence,
): string | null {
  const what = `The effect of token "${token}" began and needs an approval`
  const decisions = [...given].filter(([, each]) => each.token === token)
  const [last] = decisions.slice(-1)
  if (last === undefined) return `${what}, and nobody decided`
  const free = decisions.filter(
    ([, { decision, lapsed, usedBy }]) => decision === 'approve' && !lapsed && usedBy === null,
  )
  const allowed = approvalsOf(token, evidence)
  const used = free.find(([handle]) => allowed.some(({ call }) => call.handle === handle)) ?? free[0]
  if (used === undefined) {
    const [handle, { decision, usedBy }] = last
    if (decision === 'deny') return `${what}, and ${handle} was denied`
    return usedBy === null
      ? `${what}, and ${handle} ended with its process`
      : `${what}, and ${handle} was used for effect ${usedBy}`
  }
  const [handle, approval] = used
  approval.usedBy = effect
  const other = allowed.at(-1)
  if (other === undefined || allowed.some(({ call }) => call.handle === handle)) return null // or another law says so
  return `${what}, and entry ${other.call.at} of ${other.journal.name} names ${other.call.handle} in place of ${handle}`
}

function whyNotHeld(handle: string, { files }: Evidence): string | null {
  const there = [...files.keys()].some((path) => isOf(path, handle))
  return there ? null : `A client was told to wait for ${handle}, and no durable request of it is there`
}

function whyNotDurable(handle: string, { files }: Evidence): string | null {
  const kept = [...files.keys()].some(
    (path) => isOf(path, handle) && (path.startsWith(SETTLED) || /\.(?:decision|end)\.json$/.test(path)),
  )
  return kept ? null : `A person was told that the decision on ${handle} counts, and it is not durable`
}

function isOf(path: string, handle: string): boolean {
  return path === `${SETTLED}/${handle}.json` || (path.startsWith(`${HELD}/`) && path.includes(`.${handle}.`))
}
