/**
 * Delegation: a granted `delegate` call becomes a run of its own, under its own principal, with its own journal and a share
 * of its parent's tokens. This file owns the children: a parent that is cancelled cancels them, and its own end is recorded
 * only after theirs (10.6). What one delegation does, in which order, stands in `delegate.ts`.
 */
import { runKeyOf, type Toolbox } from '../calls/index.ts'
import { Fault } from '../core/index.ts'
import type { Delegates } from '../loop/index.ts'
import type { World } from '../world/index.ts'
import { delegate } from './delegate.ts'
import { delegatingToolbox } from './delegating-toolbox.ts'
import type { AgentRegistry } from './target.ts'

export interface DelegationParts {
  readonly registry: AgentRegistry
  /** What a parent may use beside `delegate`. */
  readonly toolbox: Toolbox
  /** What every child may use, within its inline policy. */
  readonly childToolbox: Toolbox
  /** The project's `.symbiont/governed`, absolute. */
  readonly governedFolder: string
  /** Told when a child begins, and then how it ended. */
  readonly onChild?: () => (outcome: 'succeeded' | 'failed' | 'unresolved') => void
}

export interface Delegation {
  /** For parents, as it is or restricted by an inline policy. A grant is refused when another toolbox prepared its call. */
  readonly toolbox: Toolbox
  readonly delegates: Delegates
}

export function openDelegation(parts: DelegationParts, world: World): Delegation {
  const toolbox = delegatingToolbox(parts.toolbox, parts.registry)
  const families = new Map<string, Family>()
  return {
    toolbox,
    delegates: {
      async delegate(grant, parent, signal) {
        signal.throwIfAborted() // a parent that has ended is forgotten, and must not be remembered again
        const runKey = runKeyOf(parent.context)
        const family = families.get(runKey) ?? newFamily()
        families.set(runKey, family)
        const cancel = (): void => family.cancel.abort(signal.reason)
        signal.addEventListener('abort', cancel, { once: true })
        const outcome = delegate({ ...parts, world, toolbox, family }, grant, parent, signal).finally(() =>
          signal.removeEventListener('abort', cancel),
        )
        family.children.add(outcome)
        try {
          return await outcome
        } finally {
          family.children.delete(outcome)
        }
      },
      async cleanUp(runKey) {
        const family = families.get(runKey)
        if (family === undefined) return
        family.cancel.abort(cancelled())
        await Promise.allSettled(family.children)
        families.delete(runKey)
      },
    },
  }
}

/** The children of one parent run. */
export interface Family {
  readonly cancel: AbortController
  /** Those that are at work. */
  readonly children: Set<Promise<unknown>>
  /** Ids of calls whose delegation began. The journal knows one by run and call id, so no id may begin a second. */
  readonly begun: Set<string>
}

function newFamily(): Family {
  return { cancel: new AbortController(), children: new Set(), begun: new Set() }
}

function cancelled(): Fault {
  return new Fault('RUN_CANCELLED', { message: 'The run that delegated has ended' })
}
