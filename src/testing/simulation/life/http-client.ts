/** One HTTP request over one connection, as plain as a client can be: null when the answer did not arrive whole. */
import { connected, type Shore, within } from './shore.ts'

export interface HttpAnswer {
  readonly status: number
  readonly headers: ReadonlyMap<string, string>
  readonly body: string
}

export interface HttpAsk {
  readonly method: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: object
  readonly waitMs: number
}

export async function ask(
  shore: Shore,
  { method, path, headers = {}, body, waitMs }: HttpAsk,
): Promise<HttpAnswer | null> {
  const wire = await connected(shore)
  if (wire === null) return null
  const text = body === undefined ? '' : JSON.stringify(body)
  const all = {
    host: '127.0.0.1:8080',
    authorization: `Bearer ${shore.token}`,
    connection: 'close',
    ...(body === undefined
      ? {}
      : { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(text)) }),
    ...headers,
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  const received: Buffer[] = []
  const ended = new Promise<void>((resolve) => {
    wire.on('data', (bytes: Buffer) => void received.push(bytes))
    wire.once('end', resolve)
    wire.once('close', () => resolve())
  })
  wire.write(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${text}`)
  await within(shore, waitMs, ended)
  wire.destroy()
  return answerIn(Buffer.concat(received))
}

function answerIn(bytes: Buffer): HttpAnswer | null {
  const end = bytes.indexOf('\r\n\r\n')
  if (end === -1) return null
  const [first = '', ...lines] = bytes.subarray(0, end).toString('latin1').split('\r\n')
  const headers = new Map(
    lines.map((line): [string, string] => {
      const colon = line.indexOf(':')
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
    }),
  )
  const status = Number(first.split(' ')[1])
  const rest = bytes.subarray(end + 4)
  if (headers.get('transfer-encoding') === 'chunked') {
    const body = unchunked(rest)
    return body === null ? null : { status, headers, body }
  }
  const length = Number(headers.get('content-length') ?? 0)
  return rest.length < length ? null : { status, headers, body: rest.subarray(0, length).toString() }
}

function unchunked(bytes: Buffer): string | null {
  const parts: Buffer[] = []
  for (let at = 0; ; ) {
    const newline = bytes.indexOf('\r\n', at)
    if (newline === -1) return null
    const size = Number.parseInt(bytes.subarray(at, newline).toString('latin1'), 16)
    if (size === 0) return Buffer.concat(parts).toString()
    if (!(size > 0) || newline + 4 + size > bytes.length) return null
    parts.push(bytes.subarray(newline + 2, newline + 2 + size))
    at = newline + 4 + size
  }
}
