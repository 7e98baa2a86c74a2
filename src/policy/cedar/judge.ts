/**
 * The judge: one policy set, prepared in the engine slice by slice, and the verdicts it gives.
 *
 * Owns its slots and the swap from one set to the next: everything is compiled and prepared before the new set answers,
 * and when that fails the old one is put back. Leaves to gates what a verdict means for a call.
 */
import { assert, Fault, isFault, messageOf } from '../../core/index.ts'
import type { CedarAnswer, CedarEngine, CedarError, CedarName, CedarRequest, Slot } from './cedar-engine.ts'
import { compileSet, EMPTY_SET, type Policy, type PolicyEntry, type PolicySet } from './policy-set.ts'
import { type Reads, readsOf, shown } from './reads.ts'
import { type SliceBounds, type Slices, sliceByAction } from './slices.ts'

export interface PolicyFailure {
  readonly policy: Policy
  readonly error: CedarError
}

export type Verdict =
  | {
      readonly kind: 'Judged'
      readonly allowed: boolean
      /** The policies that decided, in the order of the set; none when nothing permits. */
      readonly policies: readonly Policy[]
      readonly failures: readonly PolicyFailure[]
    }
  /** No verdict: the request was refused, or the engine failed. */
  | { readonly kind: 'Failed'; readonly message: string }

const BOUNDS: SliceBounds = { slicesMax: 256, policiesMax: 16_384 }

export class Judge implements Disposable {
  readonly #engine: CedarEngine
  readonly #bounds: SliceBounds
  #slots: Slot[] = []
  #set: PolicySet = EMPTY_SET
  #slices: Slices<Policy> = sliceByAction<Policy>([], BOUNDS)
  /** Of each slice. */
  #reads: readonly Reads[] = []
  #byName = new Map<string, Policy>()
  #closed = false

  constructor(engine: CedarEngine, bounds = BOUNDS) {
    assert(bounds.slicesMax >= 2, 'a judge has one slice for what nobody names, and one for all')
    this.#engine = engine
    this.#bounds = bounds
  }

  get set(): PolicySet {
    return this.#set
  }

  /** Puts these entries in the place of all others, or throws and changes nothing. */
  replace(entries: readonly PolicyEntry[]): void {
    assert(!this.#closed, 'a closed judge takes no policies')
    const set = compileSet(this.#engine, entries, this.#set)
    const slices = sliceByAction(set.policies, this.#bounds)
    const reads = slices.sets.map(readsOf)
    this.#fill(slices)
    this.#reads = reads
    this.#set = set
    this.#slices = slices
    this.#byName = new Map(set.policies.map((policy) => [policy.name, policy]))
  }

  /** Never throws: an engine that fails gives no verdict. */
  judge(request: CedarRequest): Verdict {
    if (this.#closed) return { kind: 'Failed', message: 'the policies were closed' }
    if (this.#set.policies.length === 0) return { kind: 'Judged', allowed: false, policies: [], failures: [] }
    const slice = this.#slices.setFor(request.action)
    const [slot, reads] = [this.#slots[slice], this.#reads[slice]]
    assert(slot !== undefined && reads !== undefined, 'every slice has a slot, and is known to read something')
    try {
      const answer = this.#ask(slot, request, reads)
      if (answer.kind === 'Refused') return { kind: 'Failed', message: answer.message }
      return {
        kind: 'Judged',
        allowed: answer.decision === 'allow',
        policies: this.#inOrder(answer.reason),
        failures: answer.errors.map(({ id, error }) => ({ policy: this.#named(id), error })),
      }
    } catch (error) {
      return { kind: 'Failed', message: messageOf(error) }
    }
  }

  /** Cedar converts what a policy can read. What fails is asked again of all, because its words may name what was not shown. */
  #ask(slot: Slot, request: CedarRequest, reads: Reads): CedarAnswer {
    const less = shown(request, reads)
    const answer = this.#engine.ask(slot, less)
    const good = less === request || (answer.kind === 'Answered' && answer.errors.length === 0)
    return good ? answer : this.#engine.ask(slot, request)
  }

  /** False only when no policy of the set can permit a request with this action, whatever else is in it. */
  mayPermit(action: CedarName): boolean {
    const { sets, setFor } = this.#slices
    return (sets[setFor(action)] ?? []).some(({ json, actions }) => {
      if (json.effect !== 'permit') return false
      return actions === null || actions.some(({ type, id }) => type === action.type && id === action.id)
    })
  }

  [Symbol.dispose](): void {
    if (this.#closed) return
    this.#closed = true
    this.#engine.release(this.#slots)
    this.#slots = []
  }

  #fill(slices: Slices<Policy>): void {
    const before = this.#slots.map((slot) => this.#engine.textsOf(slot))
    const leased: Slot[] = []
    try {
      while (this.#slots.length + leased.length < slices.sets.length) leased.push(this.#lease())
      const slots = [...this.#slots, ...leased]
      for (const [index, policies] of slices.sets.entries()) {
        this.#engine.fill(slots[index] as Slot, new Map(policies.map(({ name, part }) => [name, part.text])))
      }
      this.#engine.release(slots.slice(slices.sets.length))
      this.#slots = slots.slice(0, slices.sets.length)
    } catch (error) {
      this.#putBack(before, leased)
      throw error
    }
  }

  #lease(): Slot {
    const slot = this.#engine.lease()
    if (slot !== null) return slot
    throw new Fault('POLICY_ENGINE', {
      message: 'Cannot prepare the policies: all places for prepared sets are taken',
      hint: 'Close gates that are not used any more',
    })
  }

  /** The old set answers again. When even that fails, asking fails too, and so denies, until the engine recovers. */
  #putBack(before: readonly ReadonlyMap<string, string>[], leased: readonly Slot[]): void {
    for (const [index, texts] of before.entries()) {
      try {
        this.#engine.fill(this.#slots[index] as Slot, texts)
      } catch (error) {
        if (!isFault(error, 'POLICY_ENGINE')) throw error
      }
    }
    try {
      this.#engine.release(leased)
    } catch (error) {
      if (!isFault(error, 'POLICY_ENGINE')) throw error
    }
  }

  #inOrder(names: readonly string[]): readonly Policy[] {
    if (names.length === 1) return [this.#named(names[0] as string)]
    const deciding = new Set(names)
    return this.#set.policies.filter(({ name }) => deciding.has(name))
  }

  #named(name: string): Policy {
    const policy = this.#byName.get(name)
    assert(policy !== undefined, 'Cedar names only policies that it was given')
    return policy
  }
}
