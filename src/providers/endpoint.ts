/**
 * Where a model is reached: the options of an HTTP provider, checked once. A key or a header that HTTP cannot carry is
 * refused here, because the platform's own error would repeat it.
 */
import { Fault } from '../core/index.ts'
import type { StreamLimits } from './exchange.ts'

export interface EndpointOptions {
  /** The address that the protocol's own path is appended to. */
  readonly baseUrl?: string
  readonly apiKey?: string
  readonly model: string
  /** The provider's name in reservations, messages and logs. */
  readonly name?: string
  /** Sent with every request, after the provider's own headers. */
  readonly headers?: Readonly<Record<string, string>>
  /** How long until the first byte of a reply. Default 120,000: a local server may load its model first. */
  readonly firstByteTimeoutMs?: number
  /** How long the stream may be silent between two bytes. Default 120,000: some models think without a word. */
  readonly idleTimeoutMs?: number
  /** The longest reply, as streamed. Default 8 MiB. */
  readonly replyBytesMax?: number
}

export interface Endpoint {
  readonly name: string
  readonly model: string
  readonly baseUrl: string
  readonly apiKey: string | null
  readonly headers: Readonly<Record<string, string>>
  readonly limits: StreamLimits
}

export function endpointOf(options: EndpointOptions, defaults: { name: string; baseUrl: string }): Endpoint {
  const name = options.name ?? defaults.name
  if (options.model.trim() === '') throw unusableOption(name, 'the model has no name')
  const apiKey = options.apiKey?.trim() ?? ''
  if (!VISIBLE.test(apiKey)) throw unusableOption(name, 'the API key holds characters that no header can carry')
  for (const [header, value] of Object.entries(options.headers ?? {})) {
    if (!HEADER_NAME.test(header) || !HEADER_VALUE.test(value)) {
      throw unusableOption(name, 'a header holds characters that no header can carry')
    }
  }
  return {
    name,
    model: options.model.trim(),
    baseUrl: baseUrlOf(options.baseUrl ?? defaults.baseUrl, name),
    apiKey: apiKey === '' ? null : apiKey,
    headers: options.headers ?? {},
    limits: {
      firstByteTimeoutMs: positive(options.firstByteTimeoutMs ?? 120_000, 'firstByteTimeoutMs', name),
      idleTimeoutMs: positive(options.idleTimeoutMs ?? 120_000, 'idleTimeoutMs', name),
      replyBytesMax: positive(options.replyBytesMax ?? 8 * 1024 * 1024, 'replyBytesMax', name),
    },
  }
}

const VISIBLE = /^[\x21-\x7e]*$/
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const HEADER_VALUE = /^[\t\x20-\x7e]*$/

/** Without trailing slashes, credentials, query or fragment. The text is not repeated: it may hold a credential. */
function baseUrlOf(text: string, name: string): string {
  let url: URL
  try {
    url = new URL(text.trim())
  } catch {
    throw unusableOption(name, 'the base URL is not a URL')
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw unusableOption(name, 'the base URL does not start with http:// or https://')
  }
  if (url.username !== '' || url.password !== '') {
    throw unusableOption(name, 'the base URL holds a credential; give it as API key or header instead')
  }
  if (url.search !== '' || url.hash !== '') throw unusableOption(name, 'the base URL holds a query or a fragment')
  return `${url.origin}${url.pathname}`.replace(/\/+$/, '')
}

function positive(value: number, option: string, name: string): number {
  if (Number.isFinite(value) && value > 0) return value
  throw unusableOption(name, `${option} must be a number above 0`)
}

function unusableOption(name: string, state: string): Fault {
  return new Fault('CONFIG_INVALID', {
    message: `Cannot use model provider ${JSON.stringify(name)}: ${state}`,
    hint: 'Correct the settings of the provider',
    facts: { provider: name },
  })
}
