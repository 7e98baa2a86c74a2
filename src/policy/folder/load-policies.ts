/**
 * From a policy folder to a gate, once: the ladder of 8.4. Insecure opt-in, then Cedar with default deny when any file
 * exists, then the fail-closed default; and a gate that denies everything when what exists cannot be used.
 */
import { type Fault, isFault } from '../../core/index.ts'
import type { World } from '../../world/index.ts'
import type { CedarEngine } from '../cedar/cedar-engine.ts'
import { cedarGate } from '../cedar/cedar-gate.ts'
import { denyEverythingGate, failClosedGate, permissiveGate } from '../fixed-gates.ts'
import type { Gate } from '../gate.ts'
import { readPolicyFolder } from './policy-folder.ts'

export interface LoadOptions {
  /** The policy folder of the project, for example `<project>/policies`. */
  readonly folder: string
  /** Which surface asks: its own folder is read beside the shared files. */
  readonly surface: string
  /** Switches policy off, and tells `warn` at every action. For development only. */
  readonly insecureAllowAll?: { readonly warn: (message: string) => void }
  readonly engine?: CedarEngine
}

export interface LoadedPolicies {
  readonly gate: Gate
  /** Why the gate denies everything, or null. */
  readonly problem: Fault | null
}

export async function loadPolicies(world: World, options: LoadOptions): Promise<LoadedPolicies> {
  if (options.insecureAllowAll !== undefined) {
    return { gate: permissiveGate(options.insecureAllowAll.warn), problem: null }
  }
  const reading = await readPolicyFolder(world, options.folder, options.surface)
  if (reading.kind === 'None') return { gate: failClosedGate(), problem: null }
  if (reading.kind === 'Bad') return refused(reading.problem)
  try {
    const engine = options.engine === undefined ? {} : { engine: options.engine }
    return { gate: cedarGate({ policies: reading.entries, default: 'deny', ...engine }), problem: null }
  } catch (error) {
    if (isFault(error)) return refused(error)
    throw error
  }
}

function refused(problem: Fault): LoadedPolicies {
  return { gate: unusableGate(problem), problem }
}

/** The model learns that nothing is allowed; why stands in the journal and in the log. */
export function unusableGate(problem: Fault): Gate {
  return denyEverythingGate('the policies cannot be used, so no action is allowed', [problem.message])
}
