/**
 * The policies of a folder as a candidate: they answer about recorded calls what the gate would answer with them in force.
 *
 * The ladder is that of `loadPolicies` with one difference: a folder that cannot be used is an error here, because nobody
 * wants to know that everything would be denied by a typing mistake.
 */
import { Fault } from '../../core/index.ts'
import type { World } from '../../world/index.ts'
import { decisionOf } from '../cedar/cedar-decision.ts'
import { type CedarEngine, sharedEngine } from '../cedar/cedar-engine.ts'
import { cedarRequest, type Judged } from '../cedar/cedar-request.ts'
import { Judge } from '../cedar/judge.ts'
import { failClosed } from '../fixed-gates.ts'
import { readPolicyFolder } from '../folder/policy-folder.ts'
import { type Decision, deny } from '../gate.ts'
import { type PolicyPlace, placeOfPolicy } from './policy-place.ts'

export interface CandidateOptions {
  readonly folder: string
  /** Which surface's files are read beside the shared ones; null for none. */
  readonly surface: string | null
  readonly engine?: CedarEngine
}

export interface Candidate extends Disposable {
  /** What the gate would decide. It asks no approver: whether there was an approval is part of what is judged. */
  decide(judged: Judged): Decision
  /** Where the policy of this name stands; null when there is none. */
  placeOf(name: string): PolicyPlace | null
}

/** Throws `POLICY_UNREADABLE` or `POLICY_INVALID`. A folder without policies is the fail-closed default. */
export async function openCandidate(world: World, options: CandidateOptions): Promise<Candidate> {
  const { folder, surface } = options
  const real = await world.files.realpath(folder)
  const kind = real === null ? undefined : (await world.files.lstat(real))?.kind
  if (kind !== 'directory') throw noFolder(folder, kind === undefined ? 'it does not exist' : 'it is no folder')
  const reading = await readPolicyFolder(world, folder, surface)
  if (reading.kind === 'Bad') throw reading.problem
  const judge = new Judge(options.engine ?? sharedEngine())
  try {
    if (reading.kind === 'Found') judge.replace(reading.entries)
  } catch (error) {
    judge[Symbol.dispose]()
    throw error
  }
  const isEmpty = reading.kind === 'None'
  return {
    decide: (judged) => {
      if (isEmpty) return failClosed(judged.call)
      const outcome = cedarRequest(judged)
      return outcome.kind === 'Unfit' ? deny(outcome.reason) : decisionOf(judge, outcome.request)
    },
    placeOf: (name) => {
      const policy = judge.set.policies.find((each) => each.name === name)
      return policy === undefined ? null : placeOfPolicy(policy)
    },
    [Symbol.dispose]: () => judge[Symbol.dispose](),
  }
}

function noFolder(folder: string, state: string): Fault {
  return new Fault('POLICY_UNREADABLE', {
    message: `Cannot read the policy folder "${folder}": ${state}`,
    hint: 'Give the folder that holds the .cedar files',
  })
}
