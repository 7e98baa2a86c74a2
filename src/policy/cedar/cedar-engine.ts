/**
 * The engine: owns Cedar's WebAssembly module, and nothing else talks to it.
 *
 * What it keeps: V8 is told not to inline WebAssembly calls before the module loads (with inlining its deoptimiser can
 * abort the process). Any throw of the module is a Fault for the one who asked (law 5), and the instance is discarded,
 * because a trap leaves it broken for good; the next question gets a new one, and every set is prepared again in it when
 * it is needed. The module never frees a prepared set, so sets live in slots: a bounded number of ids that are replaced
 * in place.
 *
 * Leaves to others: bounding the depth of policy text (`policy-text.ts`), and what the values in a request may be
 * (`cedar-request.ts`). Everything here is synchronous, so that a swap of policies can never be seen half done.
 */
import { createRequire } from 'node:module'
import v8 from 'node:v8'
import type * as Cedar from '@cedar-policy/cedar-wasm/nodejs'
import { assert, Fault, messageOf } from '../../core/index.ts'

type CedarModule = typeof Cedar
export type CedarError = Cedar.DetailedError
export type CedarPolicyJson = Cedar.PolicyJson
export type CedarExpr = Cedar.Expr

export interface CedarName {
  readonly type: string
  readonly id: string
}

export interface CedarRequest {
  readonly principal: CedarName
  readonly action: CedarName
  readonly resource: CedarName
  readonly context: Cedar.Context
  readonly entities: Cedar.Entities
}

export type CedarAnswer =
  | {
      readonly kind: 'Answered'
      readonly decision: 'allow' | 'deny'
      /** Ids of the policies that decided. */
      readonly reason: readonly string[]
      readonly errors: readonly { readonly id: string; readonly error: CedarError }[]
    }
  /** Cedar could not build the request, or does not know the set. */
  | { readonly kind: 'Refused'; readonly message: string }

export type Parsed<T> =
  | { readonly kind: 'Parsed'; readonly value: T }
  | { readonly kind: 'Errors'; readonly errors: readonly CedarError[] }

/** A place for one prepared set. Its id never changes; its content does. */
export interface Slot {
  readonly id: string
}

interface SlotState {
  /** Policy id to policy text. */
  texts: ReadonlyMap<string, string>
  /** The instance that holds the prepared form, or null when it must be prepared again. */
  preparedIn: CedarModule | null
}

const SLOTS_MAX = 2048
const EMPTY: ReadonlyMap<string, string> = new Map()

export class CedarEngine {
  #cedar: CedarModule | null = null
  #loads = 0
  readonly #slots = new Map<Slot, SlotState>()
  readonly #free: Slot[] = []

  /** How often the module was loaded: more than once means that instances were discarded. */
  get loads(): number {
    return this.#loads
  }

  /** How many ids of prepared sets exist; it never shrinks, because the module never forgets one. */
  get slotCount(): number {
    return this.#slots.size
  }

  /** The policies of a text, in Cedar's own order, or what is wrong with it. */
  split(text: string): Parsed<{ readonly policies: number; readonly templates: number }> {
    const answer = this.#call((cedar) => cedar.policySetTextToParts(text))
    return answer.type === 'failure'
      ? { kind: 'Errors', errors: answer.errors }
      : { kind: 'Parsed', value: { policies: answer.policies.length, templates: answer.policy_templates.length } }
  }

  /** One policy as a tree. */
  parse(text: string): Parsed<CedarPolicyJson> {
    const answer = this.#call((cedar) => cedar.policyToJson(text))
    return answer.type === 'failure'
      ? { kind: 'Errors', errors: answer.errors }
      : { kind: 'Parsed', value: answer.json }
  }

  /** A slot of its own for the caller, or null when all are taken. */
  lease(): Slot | null {
    const free = this.#free.pop()
    if (free !== undefined) return free
    if (this.#slots.size >= SLOTS_MAX) return null
    const slot = Object.freeze({ id: `slice-${this.#slots.size}` })
    this.#slots.set(slot, { texts: EMPTY, preparedIn: null })
    return slot
  }

  /** Gives slots back. Their sets are emptied, so that the module lets go of the policies. */
  release(slots: readonly Slot[]): void {
    for (const slot of slots) {
      const state = this.#stateOf(slot)
      assert(!this.#free.includes(slot), 'a slot is released once')
      const loaded = state.preparedIn !== null && state.preparedIn === this.#cedar
      state.texts = EMPTY
      state.preparedIn = null
      if (loaded) this.#prepare(slot, state)
      this.#free.push(slot)
    }
  }

  textsOf(slot: Slot): ReadonlyMap<string, string> {
    return this.#stateOf(slot).texts
  }

  /** Puts policies into a slot in the place of those before. Throws when Cedar refuses them; then the slot holds neither. */
  fill(slot: Slot, texts: ReadonlyMap<string, string>): void {
    const state = this.#stateOf(slot)
    if (state.preparedIn !== null && state.preparedIn === this.#cedar && sameTexts(state.texts, texts)) return
    state.texts = texts
    state.preparedIn = null
    this.#prepare(slot, state)
  }

  ask(slot: Slot, request: CedarRequest): CedarAnswer {
    const state = this.#stateOf(slot)
    this.#prepare(slot, state)
    const answer = this.#call((cedar) =>
      cedar.statefulIsAuthorized({
        principal: { ...request.principal },
        action: { ...request.action },
        resource: { ...request.resource },
        context: request.context,
        entities: request.entities,
        preparsedPolicySetId: slot.id,
      }),
    )
    if (answer.type === 'failure')
      return { kind: 'Refused', message: answer.errors.map(({ message }) => message).join('; ') }
    const { decision, diagnostics } = answer.response
    return {
      kind: 'Answered',
      decision,
      reason: diagnostics.reason,
      errors: diagnostics.errors.map(({ policyId, error }) => ({ id: policyId, error })),
    }
  }

  #stateOf(slot: Slot): SlotState {
    const state = this.#slots.get(slot)
    assert(state !== undefined, 'a slot belongs to the engine that leased it')
    return state
  }

  #prepare(slot: Slot, state: SlotState): void {
    if (state.preparedIn !== null && state.preparedIn === this.#cedar) return
    const staticPolicies = Object.fromEntries(state.texts)
    const answer = this.#call((cedar) => cedar.preparsePolicySet(slot.id, { staticPolicies }))
    if (answer.type === 'failure') {
      throw engineFault(`it refused the policies: ${answer.errors.map(({ message }) => message).join('; ')}`)
    }
    state.preparedIn = this.#cedar
  }

  #call<T>(work: (cedar: CedarModule) => T): T {
    try {
      return work(this.#live())
    } catch (cause) {
      this.#cedar = null
      throw engineFault(messageOf(cause), cause)
    }
  }

  #live(): CedarModule {
    if (this.#cedar !== null) return this.#cedar
    const cedar = loadModule()
    this.#loads += 1
    this.#cedar = cedar
    return cedar
  }
}

let shared: CedarEngine | null = null

/** The engine of this thread. One serves all gates: every instance costs 18 MB. */
export function sharedEngine(): CedarEngine {
  shared ??= new CedarEngine()
  return shared
}

/**
 * How much a function of the module must have worked before V8 compiles it a second time, with all its art. By V8's own
 * measure (1.8 million) reading the first policy sets that off for hundreds of functions, and a process that only starts
 * pays for it with twice the time that Cedar itself needs. docs/decisions/2026-12-01-starting-and-verifying-sooner.md has figures.
 */
const TIERING_BUDGET = 50_000_000

/**
 * A new instance each time. `createRequire` is made anew too, because it remembers as children all that it loaded, and a
 * discarded instance must be let go. The flags must be set before, and setting them again changes nothing.
 */
function loadModule(): CedarModule {
  v8.setFlagsFromString('--no-turbo-inline-js-wasm-calls')
  v8.setFlagsFromString(`--wasm-tiering-budget=${TIERING_BUDGET}`)
  const require = createRequire(import.meta.url)
  const path = require.resolve('@cedar-policy/cedar-wasm/nodejs')
  delete require.cache[path]
  try {
    return require(path) as CedarModule
  } finally {
    delete require.cache[path]
  }
}

function sameTexts(left: ReadonlyMap<string, string>, right: ReadonlyMap<string, string>): boolean {
  if (left.size !== right.size) return false
  for (const [id, text] of left) if (right.get(id) !== text) return false
  return true
}

function engineFault(state: string, cause?: unknown): Fault {
  return new Fault('POLICY_ENGINE', {
    message: `Cannot ask Cedar: ${state.slice(0, 400)}`,
    hint: 'The engine was restarted; run "symbi policy check" if this happens again',
    cause,
  })
}
