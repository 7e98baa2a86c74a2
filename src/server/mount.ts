/**
 * Mount: the port through which a door adds its routes to this server. A route says who may use it and what body it takes;
 * the server has checked both before `handle` is called.
 */
import type { Caller } from '../access/index.ts'
import type { Json } from '../core/index.ts'

export interface Mount {
  /** Before the server listens. Two routes with one method and pattern are a Bug. */
  route(route: Route): void
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
  handle(request: RouteRequest, signal: AbortSignal): Promise<Answer>
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

export type Answer = {
  readonly status: number
  /** Written as JSON; absent means an empty body. */
  readonly body?: object
  readonly headers?: { readonly [name: string]: string }
}
