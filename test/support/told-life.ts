/**
 * Lives of a runtime, told rather than run: what lay on the disk and what was seen, in an order that the test chooses, so that
 * the laws can be shown every lie. A life that is told without a twist is an honest one.
 */
import { createHash } from 'node:crypto'
import { dirname, join } from 'node:path'
import {
  canonical,
  type Duration,
  digest,
  durationOf,
  hexHash,
  type Json,
  type JsonObject,
} from '../../src/core/index.ts'
import {
  DEFAULT_LOOP_CONFIG,
  type Event,
  type EventOf,
  type LoopConfig,
  type Observation,
  type ProposedAction,
  type TerminationReason,
  toWire,
} from '../../src/events/index.ts'
import { lawsOf } from '../../src/testing/simulation/laws/all.ts'
import type { DiskView, LawName, Life, Scenario } from '../../src/testing/simulation/laws/law.ts'
import type { ClientAnswer, Seen, Surface } from '../../src/testing/simulation/laws/seen.ts'
import { madeKey, signedLine, ZEROS } from './journal-maker.ts'

export const PROJECT = '/told/project'
const STATE = join(PROJECT, '.symbiont')
const LIMIT = 1000
const SCOPES = { chat: 'ws:chat:v1', identified: 'mcp:call:v1' } as const

/** A disk of which each file has what is durable, and what a program sees. */
export class ToldDisk implements DiskView {
  readonly #durable = new Map<string, Buffer>()
  readonly #visible = new Map<string, Buffer>()
  readonly #forgotten = new Map<string, number>()

  put(path: string, bytes: Uint8Array | string, where: 'durable' | 'visible' = 'durable'): void {
    const full = join(STATE, path)
    this.#visible.set(full, Buffer.from(bytes))
    if (where === 'durable') this.#durable.set(full, Buffer.from(bytes))
  }

  remove(path: string): void {
    this.#durable.delete(join(STATE, path))
    this.#visible.delete(join(STATE, path))
  }

  /** Of what is durable; throws where there is nothing. */
  bytes(path: string): Buffer {
    const bytes = this.#durable.get(join(STATE, path))
    if (bytes === undefined) throw new Error(`nothing is durable as "${path}"`)
    return bytes
  }

  /** A sync of this file failed in that process: every program sees what it holds, and a loss of power takes a part of it away. */
  forget(path: string, life: number): void {
    this.#forgotten.set(join(STATE, path), life)
  }

  forgot(path: string): number | null {
    return this.#forgotten.get(path) ?? null
  }

  durable(path: string): Uint8Array | null {
    return this.#durable.get(path) ?? null
  }

  visible(path: string): Uint8Array | null {
    return this.#visible.get(path) ?? null
  }

  durableNames(folder: string): readonly string[] {
    return namesIn(folder, this.#durable)
  }

  visibleNames(folder: string): readonly string[] {
    return namesIn(folder, this.#visible)
  }
}

function namesIn(folder: string, files: ReadonlyMap<string, Buffer>): readonly string[] {
  return [...files.keys()]
    .filter((path) => dirname(path) === folder)
    .map((path) => path.slice(folder.length + 1))
    .sort()
}

export class ToldLife {
  readonly disk = new ToldDisk()
  readonly seen: Seen[] = []
  readonly complaints = new Map<LawName, string>()
  readonly #laws
  #ids = 0
  #numbers = 0

  constructor(scenario: Partial<Scenario> = {}) {
    this.#laws = lawsOf({
      project: PROJECT,
      allows: () => true,
      needsApproval: () => false,
      requestOf: (token) => token.split('/')[0] ?? null,
      bootMayFail: () => false,
      ...scenario,
    })
    this.disk.put('governed/audit-signing.key', Buffer.alloc(32, 1))
    this.see({ kind: 'Booted', life: 1 })
  }

  /** What a law says first is kept. */
  see(seen: Seen): void {
    this.seen.push(seen)
    for (const law of this.#laws) this.#keep(law.name, law.watch?.(seen, this.disk) ?? null)
  }

  /** Ends the last process and everything else, and gives what the laws said of this life. */
  async ended(twist: Partial<Life> = {}): Promise<Partial<Record<LawName, string>>> {
    if (!this.seen.some(({ kind }) => kind === 'Closed')) this.see({ kind: 'Closed', life: 1, held: { file: 0 } })
    const life = { seen: this.seen, disk: this.disk, project: PROJECT, publicKey: madeKey(1).publicHex, ...twist }
    for (const law of this.#laws) this.#keep(law.name, (await law.settle?.(life)) ?? null)
    return Object.fromEntries(this.complaints)
  }

  #keep(law: LawName, what: string | null): void {
    if (what !== null && !this.complaints.has(law)) this.complaints.set(law, what)
  }

  id(): string {
    this.#ids += 1
    return `00000000-0000-4000-8000-${String(this.#ids).padStart(12, '0')}`
  }

  number(): number {
    this.#numbers += 1
    return this.#numbers
  }

  /** For a call of a session without an id, `id` is its token. */
  told(surface: Surface, id: string, answer: ClientAnswer): void {
    const which = surface === 'mcp' ? { id: null, token: id } : { id }
    this.see({ kind: 'Told', client: 'c1', surface, answer, ...which })
  }

  /** A call left for a foreign server; gives the number under which it may arrive. */
  send(token: string, tool = 'pay'): number {
    const sent = this.number()
    this.see({ kind: 'CallSent', life: 1, sent, tool, token, args: { token } })
    return sent
  }

  /** The tool's code was entered, and it happened. Without an answer it never came back. */
  effect(
    token: string,
    answer: 'done' | 'not done' | 'error' | 'thrown' | null = 'done',
    twist: EffectTwist = {},
  ): void {
    const { args = { token }, tool = 'pay', late = false, sent } = twist
    const request = token.split('/')[0] ?? token
    if (!this.seen.some((seen) => seen.kind === 'Asked' && seen.request === request))
      this.see({ kind: 'Asked', client: 'c1', surface: 'mcp', id: null, request, token })
    const effect = this.number()
    this.see({ kind: 'EffectBegan', life: 1, effect, tool, token, args, ...(sent === undefined ? {} : { sent }) })
    this.see({ kind: 'EffectHappened', effect })
    if (answer !== null) this.see({ kind: 'EffectAnswered', effect, answer, late })
  }

  /** A chat that was asked, claimed, opened, and whose run has started. */
  chat(request: string, id = this.id(), limits: Partial<LoopConfig> = {}): ToldRun {
    this.see({ kind: 'Asked', client: 'c1', surface: 'chat', id, request, token: null })
    const run = new ToldRun(this, { invocation: { id, scope: SCOPES.chat } })
    run.subject = request
    run.claim('chat')
    this.told('chat', id, { kind: 'Opened', journal: run.name })
    run.start(limits)
    return run
  }

  /** A session of a tool client, started. */
  session(limits: Partial<LoopConfig> = {}): ToldRun {
    const run = new ToldRun(this, {})
    run.start(limits)
    return run
  }

  /** A whole chat with one call, told to its client. */
  wholeChat(request = 'r1', token = `${request}/a`): ToldRun {
    const run = this.chat(request)
    run.infer(callOf(token))
    run.call(token)
    run.infer({ Respond: { content: `answer to ${request}` } })
    run.end()
    run.result(`answer to ${request}`)
    this.told('chat', run.id, { kind: 'Done', content: `answer to ${request}`, replayed: false })
    return run
  }
}

interface EffectTwist {
  readonly args?: JsonObject
  readonly tool?: string
  readonly late?: boolean
  readonly sent?: number
}

export function callOf(token: string, tool = 'pay'): ProposedAction {
  return { ToolCall: { call_id: `call ${token}`, name: tool, arguments: JSON.stringify({ token }) } }
}

/** What a model proposes so that a run of this target begins. */
export function delegationTo(target: string): ProposedAction {
  return { Delegate: { call_id: `call ${target}`, target, message: target } }
}

interface Origin {
  readonly invocation?: { readonly id: string; readonly scope: string }
  readonly parent?: ToldRun
}

export class ToldRun {
  readonly life: ToldLife
  readonly runId: string
  readonly agentId: string
  readonly #origin: Origin
  readonly rootId: string
  readonly scope: number
  /** What it was asked. */
  subject = 'nobody'
  /** What the run that began it says of it. */
  link: JsonObject = {}
  iteration = 0
  #lines: Buffer[] = []
  #staged = 0
  #previous = ZEROS
  #tokens = 0
  #open = 0
  #scopes = 1
  #asks = false
  /** Of a session. */
  #calls = 0
  /** Beyond the second that each entry takes. */
  #waitedMs = 0
  config: LoopConfig = DEFAULT_LOOP_CONFIG

  constructor(life: ToldLife, origin: Origin) {
    this.life = life
    this.#origin = origin
    this.runId = life.id()
    this.agentId = life.id()
    this.rootId = origin.parent === undefined ? life.id() : origin.parent.root.rootId
    this.scope = origin.parent === undefined || origin.invocation !== undefined ? 0 : origin.parent.root.#scopes++
    this.sync()
  }

  get name(): string {
    return `${this.agentId}.${this.runId}.jsonl`
  }

  get path(): string {
    return `governed/${this.name}`
  }

  get id(): string {
    return this.#origin.invocation?.id ?? 'no id'
  }

  /** The run whose journal counts the tokens of this one. */
  get root(): ToldRun {
    return this.scope === 0 ? this : (this.#origin.parent?.root ?? this)
  }

  get audit() {
    const path = join(STATE, this.path)
    return { run_id: this.runId, path, public_key: madeKey(1).publicHex } as EventOf<'DelegationStarted'>['audit']
  }

  get claimPath(): string {
    const { id, scope } = this.#origin.invocation ?? { id: '', scope: '' }
    return `invocations/${hexHash(canonical([scope, id]))}.jsonl`
  }

  /** Adds entries, and makes all that were added durable. */
  tell(...events: readonly Event[]): void {
    this.stage(...events)
    this.sync()
  }

  /** Adds entries that are not durable yet. */
  stage(...events: readonly Event[]): void {
    for (const event of events) this.put({ event: toWire(event) })
  }

  /** Adds one signed line, whatever it says. */
  put(entry: Record<string, unknown>, record: Record<string, unknown> = {}, key = madeKey(1)): void {
    const sequence = this.#lines.length
    const whole = {
      agent_id: this.agentId,
      iteration: this.iteration,
      sequence,
      timestamp: this.#timestamp(sequence),
      ...entry,
    }
    const payload = { entry: whole, previous_hash: this.#previous, run_id: this.runId, version: 2, ...record }
    const line = signedLine(canonical(payload as unknown as Json), key)
    this.#lines.push(line)
    const event = (entry.event ?? {}) as JsonObject
    if ('PolicyEvaluated' in event || 'DelegationStarted' in event) this.#calls += 1
    this.#previous = createHash('sha256').update(line).digest('hex')
    this.#staged += 1
  }

  /** Makes what was added durable. */
  sync(): void {
    this.life.disk.put(this.path, Buffer.concat(this.#lines))
    this.#staged = 0
  }

  /** What was added and is not durable is lost, as with the power. */
  lose(): void {
    this.#lines = this.#lines.slice(0, this.#lines.length - this.#staged)
    this.sync()
  }

  claim(surface: 'chat' | 'identified', lines: 1 | 2 = 2): void {
    const { id } = this
    const [scope, agent_id, run_id] = [SCOPES[surface], this.agentId, this.runId]
    const claim = { kind: 'claim', version: 1, scope, id, request_hash: digest(id), agent_id, run_id }
    const audit = { kind: 'audit', reference: this.audit }
    const records = [claim, audit].slice(0, lines).map((record) => `${JSON.stringify(record)}\n`)
    this.life.disk.put(this.claimPath, records.join(''))
  }

  /** The result line of the claim: of a chat, or of an identified call. */
  result(content: string, payload: JsonObject = { completed: true, output: content }): void {
    const line = { kind: 'result', payload: { ...payload, termination_reason: 'Completed', version: 1 } }
    this.life.disk.put(this.claimPath, `${this.life.disk.bytes(this.claimPath).toString()}${canonical(line as Json)}\n`)
  }

  /** Time goes on before the next entry. */
  wait(ms: number): void {
    this.#waitedMs += ms
  }

  #timestamp(sequence: number): string {
    return new Date(Date.UTC(2026, 2, 4, 10, 11, 12) + this.#lengthMs(sequence)).toISOString()
  }

  #lengthMs(sequence: number): number {
    return sequence * 1000 + this.#waitedMs
  }

  start(limits: Partial<LoopConfig> = {}): void {
    const { invocation, parent } = this.#origin
    const request_hash = digest(invocation?.id ?? '')
    const delegation =
      parent === undefined ? null : { ...this.link, parent_agent_id: parent.agentId, parent_audit: parent.audit }
    const context = {
      ...(invocation === undefined ? {} : { invocation: { ...invocation, request_hash } }),
      ...(delegation === null ? {} : { delegation }),
    }
    if (parent !== undefined && invocation === undefined) {
      const { delegation_depth, delegation_chain } = parent.config
      const chain = [...delegation_chain, String(this.link.target)]
      this.config = { ...this.config, delegation_depth: delegation_depth + 1, delegation_chain: chain }
    }
    this.config = { ...this.config, ...limits }
    const event = { kind: 'Started', agent_id: this.agentId, config: this.config, execution_context: context }
    this.tell(event as unknown as Event)
  }

  openBudget(limit = LIMIT): void {
    this.#asks = true
    this.tell({ kind: 'BudgetOpened', root_id: this.rootId, limit } as Event)
  }

  linkBudget(): void {
    this.#asks = true
    const root_audit = this.root.audit
    this.tell({ kind: 'BudgetScopeLinked', root_id: this.rootId, scope: this.scope, root_audit } as Event)
  }

  /** A durable reservation, and what gives its settlement. */
  reserve(twist: ReserveTwist = {}): Event {
    const { root } = this
    if (root.#tokens === 0 && root.#open === 0 && root === this && twist.budget !== 'opened')
      this.openBudget(twist.limit)
    root.#open += 1
    const { input_tokens = 10, output_tokens = 20, hash = digest(`request ${this.runId} ${this.iteration}`) } = twist
    const ancestors = [
      ...(root === this ? [] : [{ scope: this.scope, parent: 0, limit: LIMIT }]),
      { scope: 0, parent: null, limit: twist.limit ?? LIMIT },
    ]
    const reservation = {
      ...{ id: this.life.id(), root_id: root.rootId, ancestors, input_tokens, output_tokens },
      ...{ agent_id: this.agentId, audit: this.audit, iteration: this.iteration, provider: 'told', model: 'told' },
      ...{ request_hash: hash, request_bytes: 1, ...twist.reservation },
    }
    root.tell({ kind: 'BudgetReservationStarted', reservation } as unknown as Event)
    const { total = 15, outcome = 'confirmed' } = twist
    root.#tokens += total
    const usage = {
      prompt_tokens: Math.min(10, total),
      completion_tokens: Math.max(0, total - 10),
      total_tokens: total,
    }
    const settled = { root_id: root.rootId, reservation_id: reservation.id, usage, outcome }
    return { kind: 'BudgetReservationFinished', ...settled } as unknown as Event
  }

  /** Reserves, asks the model, and stages what it proposed and what was allowed. */
  infer(...actions: readonly ProposedAction[]): void {
    const hash = digest(`request ${this.runId} ${this.iteration}`)
    const settled = this.reserve()
    const inference = this.life.number()
    this.life.see({ kind: 'InferenceBegan', life: 1, inference, subject: this.subject, requestHash: hash })
    this.life.see({ kind: 'InferenceEnded', inference, used: 15, told: 15 })
    this.root.stage(settled)
    this.propose(...actions)
    this.allow(...actions)
    if (!actions.some((action) => 'ToolCall' in action || 'Delegate' in action)) this.stage(...this.batchOf([]))
  }

  propose(...actions: readonly ProposedAction[]): void {
    this.iteration += 1
    const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }
    this.stage({ kind: 'ReasoningComplete', iteration: this.iteration, actions, usage })
  }

  allow(...actions: readonly ProposedAction[]): void {
    this.allowWith(null, ...actions)
  }

  allowWith(handle: string | null, ...actions: readonly ProposedAction[]): void {
    const approved_calls = actions.map((action) => ({
      action,
      approval: handle === null ? null : { escalation_id: handle },
      arguments: 'ToolCall' in action ? JSON.parse(action.ToolCall.arguments) : null,
      fingerprint: digest(action as unknown as Json),
      determining_policies: ['told'],
    }))
    const { iteration } = this
    this.stage({ kind: 'PolicyEvaluated', iteration, action_count: actions.length, denied_count: 0, approved_calls })
  }

  /** The durable intent of a call; what comes back is its receipt. */
  intend(token: string, is_error = false): Event {
    return this.dispatch(callOf(token), is_error)
  }

  dispatch(action: ProposedAction, is_error = false): Event {
    if (!('ToolCall' in action)) throw new Error('only tool calls are dispatched')
    const { call_id, name: tool_name } = action.ToolCall
    const dispatch_id = this.life.id()
    const call_fingerprint = digest(action as unknown as Json)
    this.tell({
      kind: 'ToolDispatchStarted',
      dispatch_id,
      run_key: this.runId,
      call_id,
      call_fingerprint,
      tool_name,
    } as Event)
    const { token } = JSON.parse(action.ToolCall.arguments)
    const observation = { source: 'pay', content: `did ${token}`, is_error: false, call_id }
    return { kind: 'ToolDispatchFinished', dispatch_id, observation_hash: digest(observation), is_error } as Event
  }

  /** A call from its intent to its receipt, which is staged. */
  call(token: string): void {
    const receipt = this.intend(token)
    this.life.effect(token)
    this.stage(receipt, ...this.batchOf([observationOf(token)]))
  }

  batch(token: string, content = `did ${token}`, is_error = false): Event {
    const observations = [{ ...observationOf(token), content, is_error }]
    return { kind: 'ToolBatchCompleted', iteration: this.iteration, observations, duration: SHORT }
  }

  /** What a run writes of a step that is over; a session writes the results alone. */
  batchOf(observations: readonly Observation[], count = observations.length): readonly Event[] {
    const { iteration } = this
    const batch: Event = { kind: 'ToolBatchCompleted', iteration, observations, duration: SHORT }
    if (!this.#asks) return [batch]
    const dispatched: Event = { kind: 'ToolsDispatched', iteration, tool_count: observations.length, duration: SHORT }
    return [dispatched, batch, { kind: 'ObservationsCollected', iteration, observation_count: count }]
  }

  /** The durable intent of a child's run, and the child, which has not started. A `call` is that of the token "r1/a". */
  delegate(
    child: 'reviewer' | 'reader' | 'call',
    invocation?: Origin['invocation'],
    intent: 'told' | 'untold' = 'told',
  ): ToldRun {
    const link = {
      ...{
        run_key: this.runId,
        call_id: `call ${child}`,
        call_fingerprint: digest(child === 'call' ? callOf('r1/a') : delegationTo(child)),
        target: child,
      },
      ...{ system_prompt_hash: hexHash(child), message_hash: hexHash(child) },
    }
    const run = new ToldRun(this.life, { parent: this, ...(invocation === undefined ? {} : { invocation }) })
    run.subject = `${this.subject}/${child}`
    run.link = { ...link, child_agent_id: run.agentId, audit: { ...run.audit } }
    if (intent === 'told') this.tell({ kind: 'DelegationStarted', ...run.link } as unknown as Event)
    return run
  }

  /** `answer`: what the child is said to have answered. */
  finish(child: ToldRun, reason: TerminationReason = 'Completed', answer = 'fine'): void {
    this.tell({
      ...{ kind: 'DelegationFinished', run_key: this.runId, call_id: child.link.call_id ?? 'none', audit: child.audit },
      ...{ reason, output_hash: hexHash(answer) },
    } as unknown as Event)
  }

  /** The balance and the end, durable with everything before. */
  end(reason: TerminationReason = 'Completed', twist: JsonObject = {}, end: JsonObject = {}): void {
    const total = this.#tokens
    if (this.#open > 0) {
      const replies = total / 15
      const usage = { prompt_tokens: replies * 10, completion_tokens: replies * 5, total_tokens: total }
      const budget = {
        ...{ root_id: this.rootId, scope: 0, limit: LIMIT, usage, reserved_tokens: 0, uncertain_tokens: 0 },
        ...{ available_tokens: LIMIT - total, exceeded: false, ...twist },
      }
      this.stage({ kind: 'BudgetUpdated', budget } as unknown as Event)
    }
    this.tell({
      ...{ kind: 'Terminated', reason, iterations: this.#asks ? this.iteration : this.#calls },
      ...{ total_usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 } },
      ...{ duration: durationOf(this.#lengthMs(this.#lines.length)), ...end },
    } as unknown as Event)
  }
}

interface ReserveTwist {
  readonly budget?: 'opened'
  readonly limit?: number
  readonly input_tokens?: number
  readonly output_tokens?: number
  readonly hash?: string
  readonly total?: number
  readonly outcome?: 'confirmed' | 'unknown' | 'exceeded'
  readonly reservation?: JsonObject
}

export function observationOf(token: string): Observation {
  return { source: 'pay', content: `did ${token}`, is_error: false, call_id: `call ${token}` }
}

const SHORT: Duration = { secs: 0, nanos: 1 }
