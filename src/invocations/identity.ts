/**
 * Who is asking for what: scope and id name a claim, the digest of the request tells one content from another. The id is
 * brought to lower case before it is hashed, stored or compared.
 */
import {
  canonical,
  digestOfCanonical,
  Fault,
  fits,
  type Hash,
  type InvocationId,
  idOrNull,
  shapes,
} from '../core/index.ts'
import type { ClaimRequest } from './claims.ts'

const REQUEST_BYTES_MAX = 1024 * 1024
export const scopeShape = shapes.boundedText(1, 256)

export type Name = { readonly scope: string; readonly id: InvocationId }
export type Identity = Name & { readonly request_hash: Hash }

export function identityOf(request: ClaimRequest): Identity {
  const name = nameOf(request.scope, request.id)
  const text = canonical(request.request)
  const bytes = Buffer.byteLength(text)
  if (bytes > REQUEST_BYTES_MAX) {
    throw new Fault('PAYLOAD_TOO_LARGE', {
      message: `Cannot claim the request: it holds ${bytes} bytes and ${REQUEST_BYTES_MAX} are allowed`,
      hint: 'Send less in one request',
    })
  }
  return { ...name, request_hash: digestOfCanonical(text) }
}

export function nameOf(scope: string, id: string): Name {
  if (!fits(scopeShape, scope) || !scope.isWellFormed()) {
    throw new Fault('INVALID_REQUEST', {
      message: 'Cannot name the invocation: its scope is not a text of 1 to 256 bytes',
      hint: 'Use the scope of the entry point, for example "ws:chat:v1"',
    })
  }
  const lower = idOrNull('invocation', id)
  if (lower === null) {
    throw new Fault('INVALID_INVOCATION_ID', {
      message: 'Cannot name the invocation: its id is not a UUID of 36 characters, or it is nil',
      hint: 'Give a hyphenated UUID that is not nil, such as the one printed by crypto.randomUUID()',
    })
  }
  return { scope, id: lower }
}
