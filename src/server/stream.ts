/**
 * An answer that comes with time. What a slow reader has not taken yet is bounded: beyond that the connection is closed, and
 * nobody else notices. A server that shuts down does not wait for an end that never comes: it ends its streams first.
 */
import type { ServerResponse } from 'node:http'
import { gone, shuttingDown } from './http-faults.ts'
import type { Answer } from './mount.ts'

export const STREAM_BYTES_MAX = 2 * 1024 * 1024

/** The answers that would go on for as long as the server does. */
export class OpenStreams {
  readonly #ends = new Set<() => void>()
  #over = false

  /** `end` is called when the server takes no new work; at once when that has come already. */
  add(end: () => void): void {
    if (this.#over) end()
    else this.#ends.add(end)
  }

  remove(end: () => void): void {
    this.#ends.delete(end)
  }

  endAll(): void {
    this.#over = true
    for (const end of [...this.#ends]) end()
  }
}

/**
 * Writes the head, and then what comes, to the end. `work` is aborted when the client is gone or the server gives up. Never
 * rejects: the head is out, so a failure ends the connection.
 */
export async function streamAnswer(
  response: ServerResponse,
  { status, headers = {}, stream }: Answer & Required<Pick<Answer, 'stream'>>,
  streams: OpenStreams,
  work: AbortSignal,
  report: (error: unknown) => void,
): Promise<void> {
  const ended = new AbortController()
  const stop = (): void => ended.abort(work.aborted ? gone() : shuttingDown())
  work.addEventListener('abort', stop, { once: true })
  if (work.aborted) stop()
  streams.add(stop)
  response.writeHead(status, headers)
  response.flushHeaders()
  const write = (text: string): boolean => {
    if (ended.signal.aborted || response.destroyed) return false
    response.write(text)
    if (response.writableLength <= STREAM_BYTES_MAX) return true
    ended.abort(gone())
    response.destroy()
    return false
  }
  try {
    await stream({ write, ended: ended.signal })
    if (!response.destroyed) response.end()
  } catch (error) {
    if (!ended.signal.aborted) report(error)
    response.destroy()
  } finally {
    work.removeEventListener('abort', stop)
    streams.remove(stop)
  }
}
