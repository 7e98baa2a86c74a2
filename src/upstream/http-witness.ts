/** The one request of a call over HTTP, told to the effect journal of that call: intent before it, receipt after it (6.7). */
import type { EffectHandle } from '../calls/index.ts'
import { digest, digestOfCanonical, hexHash, newId } from '../core/index.ts'
import type { World } from '../world/index.ts'
import type { CallWitness } from './http-wire.ts'

export function httpWitness(world: World, effects: EffectHandle): CallWitness {
  const request_id = newId('dispatch', world.random)
  return {
    starts: ({ method, url, body }) =>
      effects.record({
        NetworkRequestStarted: {
          request_id,
          method,
          url,
          request_hash: digestOfCanonical(body),
          request_bytes: Buffer.byteLength(body),
        },
      }),
    ends: ({ status, headers, body, error }) =>
      effects.record({
        NetworkRequestFinished: {
          request_id,
          status,
          response_hash: body === null ? null : `sha256:${hexHash(body)}`,
          response_headers_hash: headers === null ? null : digest(headers),
          response_bytes: body?.length ?? 0,
          error,
        },
      }),
  }
}
