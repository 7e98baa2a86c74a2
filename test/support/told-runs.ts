/**
 * Runs that delegate, told rather than run: the entries that each of them would write, with one clock for all, so that tests
 * can cut them anywhere, change one word and seal them again. `causes` says which entry cannot be durable before which.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type AgentId, derivedId, digest, hexHash, type Id, type RunId, timestampOf } from '../../src/core/index.ts'
import {
  type AuditReference,
  type BudgetSnapshot,
  DEFAULT_LOOP_CONFIG,
  type Event,
  type EventOf,
  type ProposedAction,
  type TerminationReason,
  toWire,
  type Usage,
} from '../../src/events/index.ts'
import { type MadeKey, madeKey, makeLines } from './journal-maker.ts'

/** An entry before it is sealed. Tests change these. */
export interface Told {
  at: number
  iteration: number
  event: Event
}

export interface Place {
  readonly run: ToldRun
  readonly index: number
}

/** The later entry is durable only when the earlier one is. */
export interface Cause {
  readonly earlier: Place
  readonly later: Place
}

/** Where all journals lay when they were written; tests put them elsewhere. */
const FOLDER = '/srv/project/.symbiont/governed'
const LIMIT = 10_000
const USED: Usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }
const NAMESPACE = '9f1a4b2c-7d3e-4f50-8a6b-1c2d3e4f5061'

export class Tale {
  readonly key: MadeKey
  readonly runs: ToldRun[] = []
  readonly causes: Cause[] = []
  readonly rootId = madeId('root', 'budget') as Id<'root'>
  #now = 1_772_619_072_131_000
  #spent = new Map<ToldRun, number>()

  constructor(seed = 1) {
    this.key = madeKey(seed)
  }

  /** The run that opens the budget of all. */
  root(name = 'coordinator', told: { readonly delegation?: object } = {}): ToldRun {
    const run = this.#newRun(name, null)
    const { delegation } = told
    run.tell({
      kind: 'Started',
      agent_id: run.agentId,
      config: DEFAULT_LOOP_CONFIG,
      execution_context: {
        budget: { root_id: this.rootId, scope: 0, limit: LIMIT },
        ...(delegation === undefined ? {} : { delegation }),
      } as never,
    })
    run.tell({ kind: 'BudgetOpened', root_id: this.rootId, limit: LIMIT })
    return run
  }

  /** One inference: reserved in the root's journal, answered there, and used by the run that asked. */
  ask(run: ToldRun, ...actions: readonly ProposedAction[]): void {
    const root = run.root
    const ancestors = run.lineage().map(({ scope }, at, all) => ({
      scope,
      parent: all[at + 1]?.scope ?? null,
      limit: LIMIT,
    }))
    const id = madeId('reservation', `${run.runId} ${run.entries.length}`) as Id<'reservation'>
    if (run !== root) this.causes.push({ earlier: run.last(), later: root.next() })
    root.tell({
      kind: 'BudgetReservationStarted',
      reservation: {
        id,
        root_id: this.rootId,
        ancestors,
        input_tokens: 10,
        output_tokens: 20,
        agent_id: run.agentId,
        audit: run.audit,
        iteration: 0,
        provider: 'told',
        model: 'told',
        request_hash: digest('request'),
        request_bytes: 1,
      },
    })
    if (run !== root) this.causes.push({ earlier: root.last(), later: run.next() })
    root.tell({
      kind: 'BudgetReservationFinished',
      root_id: this.rootId,
      reservation_id: id,
      usage: USED,
      outcome: 'confirmed',
    })
    for (const each of run.lineage()) this.#spent.set(each, (this.#spent.get(each) ?? 0) + 1)
    run.iteration += 1
    run.tell({ kind: 'ReasoningComplete', iteration: run.iteration, actions, usage: USED })
    run.tell({
      kind: 'PolicyEvaluated',
      iteration: run.iteration,
      action_count: actions.length,
      denied_count: 0,
      approved_calls: actions.map((action) => ({ action, fingerprint: digest(action) })) as never,
    })
  }

  /** The parent's intent, and the first entries of the child. */
  delegate(parent: ToldRun, target: string): ToldRun {
    const call_id = `call-${this.runs.length}`
    this.ask(parent, { Delegate: { call_id, target, message: 'look at it' } })
    const child = this.#newRun(target, parent)
    const link: Omit<EventOf<'DelegationStarted'>, 'kind'> = {
      run_key: `${parent.agentId}:${parent.runId}`,
      call_id,
      call_fingerprint: digest(call_id),
      target,
      child_agent_id: child.agentId,
      audit: child.audit,
      system_prompt_hash: hexHash(`You are agent '${target}'.`),
      message_hash: hexHash('look at it'),
    }
    child.link = link
    parent.tell({ kind: 'DelegationStarted', ...link })
    this.causes.push({ earlier: parent.last(), later: child.next() })
    child.tell({
      kind: 'Started',
      agent_id: child.agentId,
      config: { ...DEFAULT_LOOP_CONFIG, delegation_depth: child.depth, delegation_chain: [target] },
      execution_context: {
        agent_definition: { name: target },
        delegation: { ...link, parent_agent_id: parent.agentId, parent_audit: parent.audit },
        budget: { root_id: this.rootId, scope: child.scope, limit: LIMIT },
      } as never,
    })
    child.tell({ kind: 'BudgetScopeLinked', root_id: this.rootId, scope: child.scope, root_audit: child.root.audit })
    return child
  }

  /** Its answer, and its end. */
  answer(run: ToldRun, content: string): void {
    this.ask(run, { Respond: { content } })
    run.output = content
    this.end(run, 'Completed')
  }

  end(run: ToldRun, reason: TerminationReason): void {
    const spent = this.#spent.get(run) ?? 0
    const usage: Usage = { prompt_tokens: 10 * spent, completion_tokens: 5 * spent, total_tokens: 15 * spent }
    const budget: BudgetSnapshot = {
      root_id: this.rootId,
      scope: run.scope,
      limit: LIMIT,
      usage,
      reserved_tokens: 0,
      uncertain_tokens: 0,
      available_tokens: LIMIT - usage.total_tokens,
      exceeded: false,
    }
    run.tell({ kind: 'BudgetUpdated', budget })
    run.tell({
      kind: 'Terminated',
      reason,
      iterations: run.iteration,
      total_usage: usage,
      duration: { secs: 1, nanos: 0 },
    })
  }

  /** What the parent records of the child's end. */
  finish(child: ToldRun): void {
    const { parent, link } = child
    const end = child.entries.at(-1)?.event
    if (parent === null || link === null || end?.kind !== 'Terminated') throw new Error('only a child that ended')
    const { run_key, call_id, audit } = link
    const output_hash = hexHash(child.output)
    this.causes.push({ earlier: child.last(), later: parent.next() })
    parent.tell({ kind: 'DelegationFinished', run_key, call_id, audit, reason: end.reason, output_hash })
  }

  /** Microseconds; later with each look. */
  now(): number {
    this.#now += 1250
    return this.#now
  }

  /** Writes every journal into the folder under its own name. */
  write(folder: string): void {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    for (const run of this.runs) writeFileSync(run.pathIn(folder), Buffer.concat(run.lines()))
  }

  #newRun(name: string, parent: ToldRun | null): ToldRun {
    const run = new ToldRun(this, name, parent, this.runs.length)
    this.runs.push(run)
    return run
  }
}

export class ToldRun {
  readonly tale: Tale
  readonly name: string
  readonly parent: ToldRun | null
  readonly scope: number
  readonly runId: RunId
  readonly agentId: AgentId
  readonly audit: AuditReference
  entries: Told[] = []
  link: Omit<EventOf<'DelegationStarted'>, 'kind'> | null = null
  output = ''
  iteration = 0
  /** Another principal in all records than the one that the name of the file says. */
  sealedAs: AgentId | null = null
  /** Another key than that of the tale. */
  key: MadeKey | null = null

  constructor(tale: Tale, name: string, parent: ToldRun | null, scope: number) {
    this.tale = tale
    this.name = name
    this.parent = parent
    this.scope = scope
    this.runId = madeId('run', `${name} ${scope}`) as RunId
    this.agentId = derivedId('agent', NAMESPACE, name)
    this.audit = {
      run_id: this.runId,
      path: join(FOLDER, this.fileName),
      public_key: tale.key.publicHex as AuditReference['public_key'],
    }
  }

  get fileName(): string {
    return `${this.agentId}.${this.runId}.jsonl`
  }

  get root(): ToldRun {
    return this.parent?.root ?? this
  }

  get depth(): number {
    return this.parent === null ? 0 : this.parent.depth + 1
  }

  /** This run first, the root last. */
  lineage(): readonly ToldRun[] {
    return [this, ...(this.parent?.lineage() ?? [])]
  }

  tell(event: Event): void {
    this.entries.push({ at: this.tale.now(), iteration: this.iteration, event })
  }

  last(): Place {
    return { run: this, index: this.entries.length - 1 }
  }

  next(): Place {
    return { run: this, index: this.entries.length }
  }

  /** The only entry of this kind, or the one with this number among them. */
  find<K extends Event['kind']>(kind: K, nth = 0): Told & { event: EventOf<K> } {
    const found = this.entries.filter(({ event }) => event.kind === kind)[nth]
    if (found === undefined) throw new Error(`"${this.name}" has no such entry: ${kind}`)
    return found as Told & { event: EventOf<K> }
  }

  pathIn(folder: string): string {
    return join(folder, this.fileName)
  }

  /** Sealed lines, newlines included. */
  lines(count = this.entries.length): readonly Buffer[] {
    const entries = this.entries.slice(0, count)
    return makeLines({
      key: this.key ?? this.tale.key,
      runId: this.runId,
      agentId: this.sealedAs ?? this.agentId,
      events: entries.map(({ event }) => toWire(event)),
      twist: (payload, index) => ({
        ...payload,
        entry: {
          ...payload.entry,
          iteration: entries[index]?.iteration,
          timestamp: timestampOf(entries[index]?.at ?? 0),
        },
      }),
    })
  }
}

export interface OneDelegation {
  readonly tale: Tale
  readonly parent: ToldRun
  readonly child: ToldRun
}

/** A coordinator that hands one task to a reviewer and then answers. */
export function oneDelegation(seed?: number): {
  readonly tale: Tale
  readonly parent: ToldRun
  readonly child: ToldRun
} {
  const tale = new Tale(seed)
  const parent = tale.root()
  const child = tale.delegate(parent, 'reviewer')
  tale.answer(child, 'it is fine')
  tale.finish(child)
  tale.answer(parent, 'the reviewer says that it is fine')
  return { tale, parent, child }
}

/** A coordinator, a reviewer that hands on to a reader, and a second reviewer. */
export function family() {
  const tale = new Tale()
  const parent = tale.root()
  const child = tale.delegate(parent, 'reviewer')
  const grandchild = tale.delegate(child, 'reader')
  tale.answer(grandchild, 'it says so')
  tale.finish(grandchild)
  tale.answer(child, 'it is fine')
  tale.finish(child)
  const second = tale.delegate(parent, 'reviewer')
  tale.answer(second, 'it is still fine')
  tale.finish(second)
  tale.answer(parent, 'the reviewer says that it is fine')
  return { tale, parent, child, grandchild, second }
}

function madeId(kind: 'root' | 'run' | 'reservation', name: string): string {
  return derivedId(kind, NAMESPACE, `${kind} ${name}`)
}
