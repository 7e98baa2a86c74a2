/**
 * `http_request`: one request to an origin that is listed. Redirects are not followed: the answer says where they lead, and
 * whoever wants to go there asks again, and is judged again.
 *
 * Its intent is in the journal before anything is sent, and its receipt afterwards (law 1). Where no complete answer came, the
 * call is in error and what the server did is unknown (law 3), also for a GET.
 */
import { defaultContract, type ToolContract } from '../../calls/index.ts'
import { CODES, digest, Fault, isFault, isJsonObject, type JsonObject } from '../../core/index.ts'
import type { ToolDefinition } from '../../events/index.ts'
import type { World } from '../../world/index.ts'
import { notDone, type Resolution, type Tool, type ToolAnswer } from '../tool.ts'
import { askedUrl } from './asked-url.ts'
import { exchange } from './exchange.ts'
import { isHeaderValue, SETTABLE } from './headers.ts'
import { type HttpMethod, type HttpOrigin, METHODS, type Origin, type Origins, originsByName } from './origins.ts'
import { addressesOf } from './reached.ts'

/** The arguments of a call hold no more than this in all. */
const BODY_LENGTH_MAX = 1024 * 1024

/** Throws `CONFIG_INVALID` for origins that cannot be used. */
export function httpRequestTool(
  origins: readonly (string | HttpOrigin)[],
  world: Pick<World, 'clock' | 'net' | 'random'>,
): Tool {
  const known = originsByName(origins)
  const definition = definitionFor(known)
  return {
    definition,
    oneAction: true,
    resolve: (args) => resolution(definition, args, known),
    run: async (args, call) => {
      const { origin, url } = target(args, known)
      let addresses: readonly string[]
      try {
        addresses = await addressesOf(origin, world, call.signal)
      } catch (error) {
        if (isFault(error, 'CONNECTION_LOST', 'ADDRESS_REFUSED')) return notSent(error)
        throw error
      }
      const { method, headers, body } = args
      const asked = {
        method: String(method),
        url: url.href,
        headers: headersOf(headers),
        body: typeof body === 'string' ? Buffer.from(body) : null,
        addresses,
      }
      return JSON.stringify(await exchange(asked, origin.headers, world, call))
    },
  }
}

/** Nothing had an effect, so nothing is unknown: an answer, and the run goes on. */
function notSent(fault: Fault): ToolAnswer {
  return notDone(
    JSON.stringify({ code: fault.code, error: CODES[fault.code].says, reason: fault.message, sent: false }),
  )
}

function definitionFor(origins: Origins): ToolDefinition {
  const methods = METHODS.filter((method) => [...origins.values()].some((origin) => origin.methods.includes(method)))
  const listed = [...origins.values()].slice(0, 32).map((one) => `${one.origin} (${one.methods.join(', ')})`)
  return {
    name: 'http_request',
    description: `Sends one HTTP request; redirects are not followed. Origins: ${listed.join('; ')}.`,
    parameters: {
      type: 'object',
      properties: {
        method: { type: 'string', enum: methods },
        url: { type: 'string', minLength: 1, maxLength: 8192, description: 'Absolute, at one of the origins' },
        headers: {
          type: 'object',
          maxProperties: SETTABLE.size,
          additionalProperties: { type: 'string', maxLength: 4096 },
          description: `Only ${[...SETTABLE].join(', ')}`,
        },
        body: { type: 'string', maxLength: BODY_LENGTH_MAX, description: 'Text; not with GET and HEAD' },
      },
      required: ['method', 'url'],
      additionalProperties: false,
    },
  }
}

function resolution(definition: ToolDefinition, args: JsonObject, origins: Origins): Resolution {
  const { origin, url } = target(args, origins)
  const method = String(args.method) as HttpMethod
  if (!origin.methods.includes(method)) throw refused('#/method', `"${origin.origin}" may not be asked with ${method}`)
  const headers = settledHeaders(args, origin)
  const body = bodyOf(args, method)
  return {
    arguments: { ...args, url: url.href, ...(Object.keys(headers).length > 0 ? { headers } : {}) },
    contract: contractFor(definition, origin, method),
    resolved: {
      execution_transport: 'native_http_broker',
      http_method: method,
      http_url: url.href,
      http_origin: origin.origin,
      http_path: url.pathname,
      http_body_bytes: body === null ? 0 : Buffer.byteLength(body),
      http_sends_credentials: Object.keys(origin.headers).length > 0,
    },
  }
}

function target(args: JsonObject, origins: Origins): { readonly origin: Origin; readonly url: URL } {
  const url = askedUrl(String(args.url))
  if (typeof url === 'string') throw refused('#/url', url)
  const origin = origins.get(url.origin)
  if (origin !== undefined) return { origin, url }
  throw refused(
    '#/url',
    `the origin "${url.origin.slice(0, 200)}" is not listed`,
    `Ask one of ${[...origins.keys()].slice(0, 8).join(', ')}`,
  )
}

function settledHeaders({ headers, body }: JsonObject, origin: Origin): Readonly<Record<string, string>> {
  const settled: Record<string, string> = {}
  for (const [given, value] of Object.entries(headersOf(headers))) {
    const name = given.toLowerCase()
    const place = `#/headers/${given.slice(0, 64)}`
    if (!SETTABLE.has(name))
      throw refused(place, 'a call may not set this header', `Set only ${[...SETTABLE].join(', ')}`)
    if (Object.hasOwn(origin.headers, name)) throw refused(place, 'it is set for every request to this origin')
    if (Object.hasOwn(settled, name)) throw refused(place, 'it is there twice')
    if (!isHeaderValue(value)) throw refused(place, 'its value is not printable ASCII')
    settled[name] = value
  }
  if (typeof body === 'string' && !Object.hasOwn(origin.headers, 'content-type')) {
    settled['content-type'] ??= 'text/plain;charset=UTF-8'
  }
  return settled
}

function headersOf(headers: JsonObject[string] | undefined): Readonly<Record<string, string>> {
  return headers !== undefined && isJsonObject(headers) ? (headers as Readonly<Record<string, string>>) : {}
}

function bodyOf({ body }: JsonObject, method: HttpMethod): string | null {
  if (typeof body !== 'string') return null
  if (isSafe(method)) throw refused('#/body', `${method} takes none`)
  return body
}

/** The digest covers what the configuration says about the origin, the names of its headers included. */
function contractFor(definition: ToolDefinition, origin: Origin, method: HttpMethod): ToolContract {
  const { headers, ...others } = origin
  return {
    ...defaultContract(definition),
    digest: digest({ definition, origin: { ...others, headers: Object.keys(headers).sort() } }),
    resource_type: 'HttpOrigin',
    resource_id: origin.origin,
    requires_approval: !isSafe(method),
  }
}

function isSafe(method: HttpMethod): boolean {
  return method === 'GET' || method === 'HEAD'
}

function refused(place: string, state: string, hint = 'Call the tool again with other arguments'): Fault {
  return new Fault('CALL_INVALID', {
    message: `Cannot prepare the call of "http_request": ${place} cannot be used: ${state}`,
    hint,
  })
}
