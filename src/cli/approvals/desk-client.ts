/**
 * The approvals of a running server, over its HTTP API. What it answers is read strictly, bounded, and shown by us: the
 * review of an action is laid out here from the action itself, and its digest must be the one that the server states.
 */
import { CODES, type Code, Fault, fits, isFault, isJsonObject, type Json, readJson } from '../../core/index.ts'
import { type HeldAction, heldActionShape, reviewDigest } from '../../policy/index.ts'
import type { World } from '../../world/index.ts'

const ANSWER_BYTES_MAX = 32 * 1024 * 1024
const ANSWER_MS_MAX = 30_000

export interface DeskParts {
  readonly world: World
  /** `http://host:port`, perhaps with a path in front of the API's. */
  readonly url: string
  readonly token: string
}

export class DeskClient {
  readonly #parts: DeskParts

  constructor(parts: DeskParts) {
    this.#parts = parts
  }

  async list(): Promise<readonly HeldAction[]> {
    const answer = await this.#ask('GET', '')
    if (Array.isArray(answer) && answer.every(isHeld)) return answer
    throw strange()
  }

  async show(id: string): Promise<HeldAction> {
    const answer = await this.#ask('GET', `/${encodeURIComponent(id)}`)
    if (!isJsonObject(answer)) throw strange()
    const { review: _, review_digest, ...action } = answer
    if (!isHeld(action)) throw strange()
    if (review_digest === reviewDigest(action)) return action
    throw new Fault('EVIDENCE_INVALID', {
      message: 'Cannot show the held action: the server states another digest of its review',
      hint: 'Use the same version here and there; a review that does not fit is not what would be approved',
    })
  }

  async decide(
    id: string,
    decision: 'approve' | 'deny',
    more: { readonly reason?: string; readonly digest?: string },
  ): Promise<void> {
    try {
      await this.#ask('POST', `/${encodeURIComponent(id)}/${decision}`, more)
    } catch (error) {
      if (!isFault(error, 'CONNECTION_LOST')) throw error
      throw new Fault('CONNECTION_LOST', {
        message: `${error.message}; whether the decision was taken is not known`,
        hint: `Look with "symbi approvals show ${id}"; a decision that was taken is not taken twice`,
        cause: error,
      })
    }
  }

  async #ask(method: 'GET' | 'POST', path: string, body?: object): Promise<Json> {
    const { world, url, token } = this.#parts
    const late = new AbortController()
    const stopTimer = world.clock.timer(ANSWER_MS_MAX, () => late.abort(new Error('there was no answer in time')))
    try {
      const response = await world.net.fetch(`${url}/api/v1/approvals${path}`, {
        method,
        headers: {
          authorization: `Bearer ${token}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        redirect: 'error', // the token is for this server
        signal: late.signal,
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      const bytes = await bodyOf(response)
      if (!response.ok) throw refused(response.status, bytes)
      return bytes.length === 0 ? null : readJson(bytes)
    } catch (cause) {
      if (isFault(cause, 'INVALID_JSON')) throw strange()
      if (isFault(cause)) throw cause
      throw new Fault('CONNECTION_LOST', {
        message: 'Cannot ask the server for its approvals: the connection failed',
        hint: 'Is it running? Start it with "symbi up", or give its address with --url',
        cause,
      })
    } finally {
      stopTimer()
    }
  }
}

function isHeld(value: unknown): value is HeldAction {
  return fits(heldActionShape, value)
}

async function bodyOf(response: Response): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    length += chunk.length
    if (length > ANSWER_BYTES_MAX) throw strange()
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** The code as the server says it, in its own spelling or in that of the wire; what is not known is only a status. */
function refused(status: number, bytes: Uint8Array): Fault {
  let said: Json = null
  try {
    said = readJson(bytes)
  } catch {
    // no envelope: the status is all we know
  }
  const { code, error, details } = isJsonObject(said) ? said : {}
  const known = (Object.keys(CODES) as Code[]).find((name) => name === code || CODES[name].wire === code)
  const hint = isJsonObject(details) && typeof details.hint === 'string' ? { hint: details.hint } : {}
  if (known !== undefined && typeof error === 'string') return new Fault(known, { message: error, ...hint })
  return new Fault(status === 404 ? 'NOT_FOUND' : 'CONNECTION_LOST', {
    message: `Cannot use the approvals of the server: it answered with status ${status}`,
    hint: 'Is this the address of a symbi server, and of a version that has approvals?',
  })
}

function strange(): Fault {
  return new Fault('CONNECTION_LOST', {
    message: 'Cannot use the approvals of the server: its answer is not understood',
    hint: 'Is this the address of a symbi server, and of the same version?',
  })
}
