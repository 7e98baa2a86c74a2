/** An MCP client: calls with and without an id, at once and one after the other, and approvals that it comes back with. */
import type { JsonObject } from '../../../core/index.ts'
import { chanceOf } from '../chance.ts'
import { type AskedCall, type ClientAnswer, type SaidCode, UNSETTLED } from '../laws/seen.ts'
import { FOREIGN_TOOL, hasForeignServer } from './foreign-server.ts'
import { callLabel, invocationId } from './ids.ts'
import type { ToolStep } from './plan.ts'
import { bankUrl, notice } from './scenario.ts'
import { pause, type Shore } from './shore.ts'
import type { LineAnswer, ToolLine } from './tool-line.ts'

const POLLS_MAX = 12

interface ToolCall {
  readonly name: string
  readonly arguments: Record<string, unknown>
}

export class ToolClient {
  readonly #shore: Shore
  readonly #name: string
  readonly #line: ToolLine
  readonly #running = new Set<Promise<unknown>>()
  /** How often a call without an id was sent: each time is a call of its own. */
  readonly #sent = new Map<number, number>()
  /** Handles that it waits for: a call that was sent twice is held once. */
  readonly #followed = new Set<string>()

  constructor(shore: Shore, name: string, line: ToolLine) {
    this.#shore = shore
    this.#name = name
    this.#line = line
  }

  async run(steps: readonly ToolStep[]): Promise<void> {
    for (const step of steps) {
      if (this.#shore.over || this.#line.isGone) break
      await this.#take(step)
    }
    await Promise.all(this.#running)
  }

  async #take(step: ToolStep): Promise<void> {
    switch (step.do) {
      case 'call': {
        const running = this.#call(step.call, step.identified).finally(() => this.#running.delete(running))
        this.#running.add(running)
        return step.wait ? await running : undefined
      }
      case 'list':
        return void (await this.#line.ask('tools/list', {}))
      case 'await':
        return void (await Promise.all(this.#running))
      case 'pause':
        return await pause(this.#shore, step.ms)
      case 'leave':
        return void (await this.#line.leave())
    }
  }

  async #call(number: number, identified: boolean): Promise<void> {
    const label = callLabel(number)
    const times = (this.#sent.get(number) ?? 0) + 1
    this.#sent.set(number, times)
    const token = identified || times === 1 ? label : `${label}~${times}`
    const id = identified ? invocationId(this.#shore.seed, label) : null
    const call = callOf(this.#shore.seed, label, token)
    const answer = await this.make(call, id, token)
    if (answer?.kind !== 'Pending' || this.#followed.has(answer.handle)) return
    this.#followed.add(answer.handle)
    await this.#followUp(answer.handle, call, token)
  }

  /** Makes the call and says what came back; null when nothing did. */
  async make(
    call: ToolCall,
    id: string | null,
    token: string | null,
    request = token ?? 'the same',
  ): Promise<ClientAnswer | null> {
    const surface = id === null ? 'mcp' : 'identified'
    const { caller } = this.#line
    const by = { client: this.#name, ...(caller === undefined ? {} : { caller }) }
    this.#shore.observer.see({ kind: 'Asked', ...by, surface, id, request, token, call: askedIn(call) })
    const meta = id === null ? {} : { _meta: { 'symbi/invocationId': id } }
    const answer = answerIn(await this.#line.ask('tools/call', { ...call, ...meta }))
    if (answer !== null) this.#shore.observer.see({ kind: 'Told', ...by, surface, id, answer, token })
    return answer
  }

  /** Waits for the person, and comes back with the handle. */
  async #followUp(handle: string, call: ToolCall, token: string): Promise<void> {
    for (let polls = 0; polls < POLLS_MAX && !this.#shore.over; polls += 1) {
      await pause(this.#shore, 10_000)
      const status = await this.#line.ask('tools/call', { name: 'approval_status', arguments: { approval_id: handle } })
      if (status === null) return
      if (!status.body.includes('approved') && !status.body.includes('denied') && !status.body.includes('expired'))
        continue
      const chance = chanceOf(this.#shore.seed, `honesty ${token}`)
      if (chance.happens(0.3)) await this.#steal(handle, call, `${token}+`)
      await this.make(withApproval(handle, call), null, token)
      // once more; whatever the answer, it says nothing about the token, whose effect may have begun before
      if (chance.happens(0.6)) await this.make(withApproval(handle, call), null, null)
      return
    }
  }

  /** The approval of one call is none for another. */
  async #steal(handle: string, call: ToolCall, token: string): Promise<void> {
    const other = call.name === 'http_request' ? { url: bankUrl(token) } : { token }
    await this.make(withApproval(handle, { ...call, arguments: { ...call.arguments, ...other } }), null, token)
  }
}

function withApproval(handle: string, call: ToolCall): ToolCall {
  return { name: 'call_with_approval', arguments: { approval_id: handle, ...call } }
}

function askedIn({ name, arguments: args }: ToolCall): AskedCall {
  if (name !== 'call_with_approval') return { tool: name, args: args as JsonObject }
  return { tool: String(args.name), args: args.arguments as JsonObject }
}

/** The call with this label: always the same. */
export function callOf(seed: number, label: string, token: string): ToolCall {
  if (hasForeignServer(seed) && chanceOf(seed, `foreign ${label}`).happens(0.4))
    return { name: FOREIGN_TOOL, arguments: { token, amount: 1 } }
  const chance = chanceOf(seed, `call ${label}`)
  const kind = chance.pick([
    'charge',
    'charge',
    'charge',
    'notify',
    'wire',
    'wire',
    'http',
    'erase',
    'unknown',
    'wrong',
  ] as const)
  switch (kind) {
    case 'charge':
      return { name: 'charge', arguments: { token, amount: chance.pick([1, 5, 100, 101]) } }
    case 'notify':
      return { name: 'notify', arguments: notice(chance, token, 1) }
    case 'wire':
    case 'erase':
      return { name: kind, arguments: { token, amount: 1 } }
    case 'http':
      return {
        name: 'http_request',
        arguments: { method: chance.pick(['GET', 'POST'] as const), url: bankUrl(token) },
      }
    case 'unknown':
      return { name: 'format_disk', arguments: { token } }
    case 'wrong':
      return { name: 'charge', arguments: { token, amount: 'all of it' } }
  }
}

interface Said {
  readonly result?: {
    readonly content?: readonly { readonly text?: string }[]
    readonly isError?: boolean
    readonly structuredContent?: Record<string, unknown>
    readonly _meta?: Record<string, unknown>
  }
  readonly error?: { readonly data?: { readonly code?: string } }
}

function answerIn(answer: LineAnswer | null): ClientAnswer | null {
  if (answer === null) return null
  const text = answer.body.includes('data: ') ? (answer.body.split('data: ').at(-1) ?? '') : answer.body
  let said: Said
  try {
    said = JSON.parse(text) as Said
  } catch {
    return null // a stream that ended before its answer
  }
  const { result } = said
  if (result === undefined) {
    const refused = (said.error?.data?.code ?? answer.otherwise) as SaidCode
    return { kind: refused === 'CALL_UNCONFIRMED' ? 'Unknown' : 'Refused', code: refused }
  }
  const facts = result.structuredContent ?? {}
  const code = String(facts.code ?? '') as SaidCode
  if (facts.status === 'pending') return { kind: 'Pending', handle: String(facts.approval_id) }
  if (facts.status === 'unknown') return { kind: 'Unknown', code }
  if (facts.status === 'not_done' || code === 'LOOP_ERROR') return { kind: 'Failed', code }
  if (result.isError === true) return { kind: UNSETTLED.has(code) ? 'Unknown' : 'Refused', code }
  return { kind: 'Done', content: result.content?.[0]?.text ?? '', replayed: result._meta?.['symbi/replayed'] === true }
}
