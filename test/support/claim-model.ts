/** The naive model of claims: a map in memory, no files, no locks, no signatures. It judges the real store in random tests. */
import { Fault, type Hash, hexHash, type Json, newId } from '../../src/core/index.ts'
import type { AuditReference, NewEntry } from '../../src/events/index.ts'
import { type ClaimOwner, type ClaimStore, type Existing, identityOf } from '../../src/invocations/index.ts'
import { nodeWorld } from '../../src/world/index.ts'

export type ClaimDoors = Pick<ClaimStore, 'open' | 'lookup'>
type Claim = { hash: Hash; held: boolean; audit: AuditReference; entries: NewEntry[]; result?: Json }

export function modelClaims(): ClaimDoors {
  const claims = new Map<string, Claim>()
  const key = (scope: string, id: string): string => JSON.stringify([scope, id])
  const existing = (claim: Claim, hash: Hash): Existing => {
    if (claim.held) return { kind: 'InProgress' }
    if (claim.hash !== hash) throw refuse('INVOCATION_CONFLICT')
    const { audit, result } = claim
    return result === undefined ? { kind: 'Unresolved', audit } : { kind: 'Recorded', audit, result }
  }
  return {
    async open(request) {
      const { scope, id, request_hash } = identityOf(request)
      const known = claims.get(key(scope, id))
      if (known !== undefined) return existing(known, request_hash)
      const audit = { run_id: newId('run', nodeWorld().random), path: 'memory', public_key: hexHash('') }
      const claim: Claim = { hash: request_hash, held: true, audit, entries: [] }
      claims.set(key(scope, id), claim)
      return { kind: 'Fresh', owner: ownerOf(claim, request.principal) }
    },
    async lookup(request) {
      const { scope, id, request_hash } = identityOf(request)
      const known = claims.get(key(scope, id))
      return known === undefined ? { kind: 'NotFound' } : existing(known, request_hash)
    },
  }
}

function ownerOf(claim: Claim, principal: ClaimOwner['principal']): ClaimOwner {
  const release = async (): Promise<void> => {
    claim.held = false
  }
  const append = async (added: readonly NewEntry[]): Promise<void> => {
    const kinds = [...claim.entries, ...added].map(({ event }) => event.kind)
    const ends = kinds.indexOf('Terminated')
    const ordered = kinds[0] === 'Started' && kinds.lastIndexOf('Started') === 0
    if (!ordered || (ends !== -1 && ends !== kinds.length - 1)) throw refuse('JOURNAL_REFUSED')
    claim.entries.push(...added)
  }
  return {
    audit: claim.audit,
    principal,
    log: { audit: claim.audit, append },
    async finish(result) {
      if (!claim.held) throw refuse('JOURNAL_REFUSED')
      claim.held = false
      if (Buffer.byteLength(JSON.stringify(result)) > 1024 * 1024) throw refuse('PAYLOAD_TOO_LARGE')
      if (!isProved(claim.entries)) return { kind: 'Unresolved' }
      claim.result = result
      return { kind: 'Recorded' }
    },
    release,
    [Symbol.asyncDispose]: release,
  }
}

function isProved(entries: readonly NewEntry[]): boolean {
  const started = entries.filter(({ event }) => event.kind === 'ToolDispatchStarted')
  const known = entries.filter(({ event }) => event.kind === 'ToolDispatchFinished' && !event.is_error)
  return entries.at(-1)?.event.kind === 'Terminated' && started.length === known.length
}

function refuse(code: 'INVOCATION_CONFLICT' | 'JOURNAL_REFUSED' | 'PAYLOAD_TOO_LARGE'): Fault {
  return new Fault(code, { message: 'Cannot do that in the model' })
}
