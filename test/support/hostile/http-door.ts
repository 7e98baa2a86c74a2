/** A hostile client of `/mcp`: one key, one session at a time, and whatever body it likes. */
import { expect } from 'vitest'
import type { Message } from '../mcp-client.ts'
import type { Ledger } from './ledger.ts'
import type { HostileFrame } from './parts.ts'

const GREETING = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'raw', version: '0' } },
}

interface Answered {
  readonly status: number
  /** The one that ends the exchange, or null. */
  readonly answer: Message | null
}

export class HttpDoor {
  readonly #url: string
  readonly #token: string
  readonly #ledger: Ledger
  session = ''

  constructor(api: string, token: string, ledger: Ledger) {
    this.#url = `${api}/mcp`
    this.#token = token
    this.#ledger = ledger
  }

  /** Opens another session, and leaves the one before to itself. */
  async open(): Promise<void> {
    expect(await this.knock(new AbortController().signal)).toBe(200)
  }

  /** As `open`; gives the status, 200 where there is a session now. */
  async knock(signal: AbortSignal): Promise<number> {
    const response = await fetch(this.#url, { ...this.#asked(JSON.stringify(GREETING), { session: null }), signal })
    await response.text()
    this.session = String(response.headers.get('mcp-session-id'))
    return response.status
  }

  async close(): Promise<number> {
    const { headers } = this.#asked('', {})
    const response = await fetch(this.#url, { method: 'DELETE', headers })
    await response.text()
    return response.status
  }

  /** `session`: null for none. */
  async post(
    body: object | string | Uint8Array,
    { session, signal }: { readonly session?: string | null; readonly signal?: AbortSignal } = {},
  ): Promise<Answered> {
    const content = typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body)
    const response = await fetch(this.#url, {
      ...this.#asked(content, session === undefined ? {} : { session }),
      ...(signal === undefined ? {} : { signal }),
    })
    const messages = messagesIn(await response.text())
    for (const message of messages) this.#ledger.heard(message)
    return { status: response.status, answer: messages.find(({ method }) => method === undefined) ?? null }
  }

  call(id: string | number, call: object, meta: object = {}): Promise<Answered> {
    return this.post({ jsonrpc: '2.0', id, method: 'tools/call', params: { ...call, _meta: meta } })
  }

  /** Sends a frame, and holds what comes back against what it is owed. */
  async send(frame: HostileFrame): Promise<Answered> {
    this.#ledger.sent(frame)
    const answered = await this.post(frame.bytes)
    const { status, answer } = answered
    switch (frame.answer.kind) {
      case 'Nothing':
        expect([status, answer], frame.what).toEqual([202, null])
        break
      case 'Answer':
        expect([status, answer?.id], frame.what).toEqual([200, frame.answer.id])
        break
      case 'Error':
        if (status < 400 && frame.effects !== null)
          expect(answer?.error ?? answer?.result?.isError, frame.what).toBeTruthy()
        break
    }
    return answered
  }

  #asked(body: string | Uint8Array, { session = this.session }: { readonly session?: string | null }) {
    return {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        authorization: `Bearer ${this.#token}`,
        ...(session === null ? {} : { 'mcp-session-id': session }),
      },
      body: body as NonNullable<RequestInit['body']>,
    }
  }
}

/** Messages of the protocol, in JSON or in events. What is no such message is passed over. */
function messagesIn(text: string): readonly Message[] {
  const lines = text.startsWith('{') ? [text] : text.split('\n').flatMap((line) => line.split(/^data: /)[1] ?? [])
  return lines.map((line) => JSON.parse(line) as Message).filter(({ jsonrpc }) => jsonrpc === '2.0')
}
