/**
 * A scope: the tokens one run may spend, within the tokens of every run above it.
 *
 * Owns who may reserve, and how much. A scope is authority in memory (law 8): it is made by `openBudget` or by its parent
 * and by nothing else, so it cannot come out of JSON. The root is attached to the journal of its run once, while unused,
 * and every reservation of the whole tree is recorded there.
 */
import { type AgentId, assert, deepFreeze, Fault, type Hash, type Id, newId } from '../core/index.ts'
import type { AuditReference, BudgetSnapshot, EventOf, Recorder, Usage } from '../events/index.ts'
import type { World } from '../world/index.ts'
import { Ledger, SCOPES_MAX } from './ledger.ts'
import { closed, refused, refusedAttachment, unattached } from './refusals.ts'
import { HeldReservation, type Reservation } from './reservation.ts'
import { tokenCount } from './tokens.ts'

export interface ReservationRequest {
  /** From `inputTokensOf`. */
  readonly inputTokens: number
  readonly outputTokensMax: number
  /** The principal, journal and iteration of the run that asks; the root's journal records them. */
  readonly agent_id: AgentId
  readonly audit: AuditReference | null
  readonly iteration: number
  readonly provider: string
  readonly model: string
  readonly request_hash: Hash
  readonly request_bytes: number
}

/** The root of a new tree: the allowance of one run and of all that it delegates. */
export function openBudget(limit: number, world: Pick<World, 'random'>): BudgetScope {
  tokenCount(limit, 'the token limit')
  const ledger = new Ledger(newId('root', world.random), limit)
  return new BudgetScope({ ledger, random: world.random, recorder: null }, 0, limit)
}

/** What all scopes of a tree share. */
interface Tree {
  readonly ledger: Ledger
  readonly random: World['random']
  recorder: Recorder | null
}

export class BudgetScope {
  readonly rootId: Id<'root'>
  readonly scope: number
  readonly limit: number
  readonly #tree: Tree
  readonly #outstanding = new Set<HeldReservation>()

  constructor(tree: Tree, scope: number, limit: number) {
    this.#tree = tree
    this.rootId = tree.ledger.rootId
    this.scope = scope
    this.limit = limit
  }

  /** Tokens used here and in all scopes below. */
  get usage(): Usage {
    return this.#tree.ledger.usage(this.scope)
  }

  /** Reservations of this scope without a conclusion. It returns to 0, unless a run was cancelled or dropped one. */
  get outstanding(): number {
    return this.#outstanding.size
  }

  /** Availability is the smallest one on the way to the root; `exceeded` when any scope on it is closed. */
  snapshot(): BudgetSnapshot {
    return this.#tree.ledger.snapshot(this.scope)
  }

  /** The allowance of a delegated run. The run itself records it, with `linked()`. */
  child(limit: number): BudgetScope {
    const { ledger } = this.#tree
    tokenCount(limit, 'the token limit of a delegated run')
    if (limit > this.limit) {
      throw new Fault('CONFIG_INVALID', {
        message: `Cannot open a token allowance of ${limit}: the run above has ${this.limit}`,
        hint: 'A delegated run may spend at most what its parent may spend',
      })
    }
    if (ledger.size >= SCOPES_MAX) {
      throw new Fault('BUDGET_REFUSED', {
        message: `Cannot open a token allowance: this run and its delegations have ${ledger.size} already`,
        hint: 'Delegate less within one run',
      })
    }
    const scope = ledger.size
    ledger.open(scope, this.scope, limit)
    return new BudgetScope(this.#tree, scope, limit)
  }

  /**
   * Root only, and once; before that nothing can be reserved, so it is unused. Stages `BudgetOpened`, which becomes durable
   * with the run's next commit.
   */
  attach(recorder: Recorder): void {
    const tree = this.#tree
    const reason =
      this.scope !== 0
        ? 'only the allowance of the first run is attached'
        : tree.recorder !== null
          ? 'it is attached already'
          : null
    if (reason !== null) throw refusedAttachment(reason)
    tree.recorder = recorder
    recorder.stage({ kind: 'BudgetOpened', root_id: this.rootId, limit: this.limit }, (fate) => {
      if (fate === 'lost') tree.ledger.close(0)
    })
    if (tree.ledger.closed(0)) throw refusedAttachment('the journal takes no more entries')
  }

  /** The entry by which a delegated run links its own journal to the root's. */
  linked(): EventOf<'BudgetScopeLinked'> {
    assert(this.scope !== 0, 'the root opens its budget and links to none')
    const root_audit = this.#writer('delegate tokens').audit
    return { kind: 'BudgetScopeLinked', root_id: this.rootId, scope: this.scope, root_audit }
  }

  /**
   * Holds tokens back, in this scope and every ancestor or in none. Output is cut to what is available. Throws
   * `BUDGET_REFUSED` when not one output token is left, `BUDGET_CLOSED` when the tree is closed or has no journal.
   */
  reserve(request: ReservationRequest): Reservation {
    const { ledger } = this.#tree
    const recorder = this.#writer('reserve tokens')
    const input_tokens = tokenCount(request.inputTokens, 'the input tokens of a request')
    const wanted = tokenCount(request.outputTokensMax, 'the output tokens of a request')
    const output_tokens = Math.min(ledger.available(this.scope) - input_tokens, wanted)
    if (output_tokens <= 0) throw refused(input_tokens, wanted, this.snapshot())
    const { agent_id, audit, iteration, provider, model, request_hash, request_bytes } = request
    const record = deepFreeze({
      id: newId('reservation', this.#tree.random),
      root_id: this.rootId,
      ancestors: ledger.ancestors(this.scope),
      input_tokens,
      output_tokens,
      agent_id,
      audit: audit === null ? null : { ...audit },
      iteration,
      provider,
      model,
      request_hash,
      request_bytes,
    })
    const over = (gone: HeldReservation): void => void this.#outstanding.delete(gone)
    const reservation = new HeldReservation({ ledger, recorder, scope: this.scope, record, over })
    this.#outstanding.add(reservation)
    return reservation
  }

  /**
   * The run reached its time limit: stages an `unknown` settlement for every open reservation of this scope, and of no
   * other; one whose settlement is staged already is left alone. Waits only for starts that are being written, which the
   * terminal record has to wait for as well.
   */
  async abandonOutstanding(): Promise<void> {
    await Promise.all([...this.#outstanding].map((reservation) => reservation.abandon()))
  }

  /** The root's recorder, while work is allowed. Losing the root's journal closes all of it. */
  #writer(act: string): Recorder {
    const { ledger, recorder } = this.#tree
    if (recorder === null) throw unattached(act)
    if (recorder.lost) ledger.close(0)
    if (ledger.closed(this.scope)) throw closed(act)
    return recorder
  }
}
