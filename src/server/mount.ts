/**
 * Mount: the port through which a door adds its routes to this server. A route says who may use it and what body it takes;
 * the server has checked both before `handle` is called.
 */
import type { ServerResponse } from 'node:http'
import type { Caller } from '../access/index.ts'
import type { Json } from '../core/index.ts'

export interface Mount {
  /** Before the server listens. Two routes with one method and pattern are a Bug. */
  route(route: Route): void
  /** For a door that holds work between requests: when and how it lets go. */
  closing(door: ClosingDoor): void
}

export interface ClosingDoor {
  /** New requests are refused from now on. Ends what waits for nothing, and resolves when admitted work is done. */
  drain(): Promise<void>
  /** Cancels what is left. Resolves when nothing is held any more. */
  cancel(): Promise<void>
}

export type Route = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** A pattern such as `/api/v1/agents/:id/status`. */
  readonly path: string
  /** `agent`: the key's scope must hold the agent that `:id` names, which is checked to be an id. `admin`: unscoped keys only. */
  readonly access: 'public' | 'key' | 'agent' | 'admin'
  /** Default `none`: a body is read, bounded and ignored. `optional` and `required` are strict JSON. */
  readonly body?: 'none' | 'optional' | 'required'
  /** Default 2 MiB. */
  readonly bodyBytesMax?: number
  /**
   * `refused`: a page of an origin that is not listed gets no answer, and on a server that only this machine can reach
   * neither does a request under the name of another host, which is how a page would pass as one of ours.
   */
  readonly foreignPages?: 'refused'
  handle(request: RouteRequest, signal: AbortSignal): Promise<Answer | WrittenAnswer>
}

export type RouteRequest = {
  /** Null on public routes only. */
  readonly caller: Caller | null
  readonly params: { readonly [name: string]: string }
  readonly query: URLSearchParams
  readonly headers: { readonly [name: string]: string | string[] | undefined }
  /** Undefined when there was no body. */
  readonly body: Json | undefined
}

/** An answer that the door writes itself. The headers of every answer are set already. */
export type WrittenAnswer = {
  /** Takes the response over at once, and ends it when there is nothing more to say. */
  takeOver(response: ServerResponse): void
}

export type Answer = {
  readonly status: number
  /** Written as JSON; absent means an empty body. */
  readonly body?: object
  readonly headers?: { readonly [name: string]: string }
  /** In place of a body: text that comes with time. The answer ends when this resolves; when it rejects, the connection does. */
  readonly stream?: (out: AnswerStream) => Promise<void>
}

export type AnswerStream = {
  /** False when nobody reads any more, or not fast enough: a reader who lets too much pile up loses the connection. */
  write(text: string): boolean
  /** Aborted when the client is gone or too slow, and as soon as the server takes no new work. */
  readonly ended: AbortSignal
}
