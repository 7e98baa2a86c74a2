/** The project's own policies as a gate: the shared files and those of one surface, watched while they change. */
import { type PolicyNews, type SURFACE, type WatchedGate, watchedGate } from '../policy/index.ts'
import type { World } from '../world/index.ts'
import type { Project } from './project.ts'

export interface ProjectGateOptions {
  /** Development only: switches policy off, and tells `warn` at every action. */
  readonly insecureAllowAll?: { readonly warn: (message: string) => void }
  /** Told about changed and refused policies. */
  readonly onPolicies?: (news: PolicyNews) => void
}

export function projectGate(
  world: World,
  { policyFolder }: Project,
  surface: (typeof SURFACE)[keyof typeof SURFACE],
  { insecureAllowAll, onPolicies }: ProjectGateOptions,
): Promise<WatchedGate> {
  return watchedGate(world, {
    folder: policyFolder,
    surface,
    ...(insecureAllowAll === undefined ? {} : { insecureAllowAll }),
    report: onPolicies ?? (() => undefined),
  })
}
