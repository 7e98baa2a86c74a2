/**
 * Credentials as they come over the wire. HTTP routes take `Authorization: Bearer` and nothing else; the chat socket also
 * takes a single-use ticket, and for compatibility a token in the query. One credential is taken and tried; a wrong one is
 * never followed by a second guess.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { type ApiKeys, type Caller, isAdmin, mayUse, type Tickets } from '../access/index.ts'
import { type AgentId, Fault } from '../core/index.ts'

const SCHEME = 'Bearer '

export async function authenticateHttp(headers: IncomingHttpHeaders, keys: ApiKeys): Promise<Caller> {
  const caller = await keys.authenticate(bearerOf(headers) ?? '')
  if (caller === null) throw unauthorized('Send "Authorization: Bearer" with a token from "symbi keys add"')
  return caller
}

/** Admin callers only: a chat reaches every agent, so a scoped key gets the same answer as a wrong one. */
export async function authenticateChat(
  headers: IncomingHttpHeaders,
  query: URLSearchParams,
  keys: ApiKeys,
  tickets: Tickets,
): Promise<Caller> {
  const caller = await chatCaller(headers, query, keys, tickets)
  if (caller === null || !isAdmin(caller)) {
    throw unauthorized('Connect with an unscoped key as "Authorization: Bearer", or with a fresh ticket as "?ticket="')
  }
  return caller
}

async function chatCaller(
  headers: IncomingHttpHeaders,
  query: URLSearchParams,
  keys: ApiKeys,
  tickets: Tickets,
): Promise<Caller | null> {
  const named = [...query.getAll('ticket'), ...query.getAll('token')]
  if (named.length > 1) return null // which of them was meant is not ours to guess
  const ticket = query.get('ticket')
  if (ticket !== null) return await tickets.spend(ticket)
  return await keys.authenticate(bearerOf(headers) ?? query.get('token') ?? '')
}

export function requireAdmin(caller: Caller): void {
  if (isAdmin(caller)) return
  throw new Fault('ADMIN_REQUIRED', {
    message: 'Scoped API keys may not access this endpoint',
    hint: 'Use a key that was made without agents',
  })
}

export function requireAgent(caller: Caller, agent: AgentId): void {
  if (mayUse(caller, agent)) return
  throw new Fault('AGENT_SCOPE_DENIED', {
    message: 'API key is not scoped to this agent',
    hint: 'Use a key whose scope holds this agent',
  })
}

function bearerOf(headers: IncomingHttpHeaders): string | null {
  const header = headers.authorization
  return header?.startsWith(SCHEME) ? header.slice(SCHEME.length) : null
}

function unauthorized(hint: string): Fault {
  return new Fault('UNAUTHORIZED', { message: 'A valid credential is required', hint })
}
