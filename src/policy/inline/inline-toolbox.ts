/**
 * A toolbox under the inline policy of one agent (9.4): every call that it prepares is bound to the policy, judged by it
 * before anybody is asked to approve or decide, and judged again when the grant is issued. Dispatch asks `restrict` at both
 * places; this box answers, and executes nothing that it did not prepare and let pass itself (law 8). A delegation may be
 * prepared by a box around this one, which then binds it to the policy in this one's context; it is judged here, and
 * carried out elsewhere.
 *
 * It adds a restriction and takes none away: what the tools inside refuse stays refused, and the gate decides as before.
 */
import {
  type AuthorisedCall,
  assertAuthorised,
  boundTo,
  type PreparedCall,
  type RunContext,
  type Toolbox,
} from '../../calls/index.ts'
import { canonical, deepFreeze, Fault, type Json, type JsonObject } from '../../core/index.ts'
import type { InlinePolicy } from '../../dsl/index.ts'
import { evaluateInline, questionOf, refusesEvery } from './evaluate-inline.ts'

/** A call of it is judged as `delegate::<target>`, so its name says nothing about what is refused. */
const DELEGATE_TOOL = 'delegate'

/** Throws `CONFIG_INVALID` when the tools inside are restricted by another agent's policy already. */
export function restrictedBy(inner: Toolbox, policy: InlinePolicy): Toolbox {
  const metadata: JsonObject = deepFreeze({ ...policy.metadata })
  const prepared = new WeakSet<PreparedCall>()
  const passed = new WeakSet<PreparedCall>()
  const context = (): JsonObject => {
    const own = inner.context()
    refuseOther(own, metadata)
    return deepFreeze({ ...own, source_policy: metadata })
  }
  const judge = (call: PreparedCall, run: RunContext): string | null => {
    const refusal = inner.restrict(call, run)
    if (refusal !== null) return refusal
    if (!prepared.has(call) && !isDelegationUnder(call, metadata))
      return 'the call was prepared for other tools, not under this inline policy'
    if (!isSame(run.trusted_context.source_policy, metadata)) {
      return `the run was not started under the inline policy of agent "${policy.metadata.agent_name}"`
    }
    const ruling = evaluateInline(policy, questionOf(call, run))
    return ruling.kind === 'Refuse' ? ruling.reason : null
  }
  context()
  return Object.freeze({
    validate: () => {
      context()
      inner.validate()
    },
    definitions: () => inner.definitions(),
    context,
    prepare: (action, offered) => {
      const call = boundTo(inner.prepare(action, offered), metadata)
      prepared.add(call)
      return call
    },
    restrict: (call, run) => {
      passed.delete(call)
      const refusal = judge(call, run)
      if (refusal === null) passed.add(call)
      return refusal
    },
    mayPass: (name) => (inner.mayPass?.(name) ?? true) && (name === DELEGATE_TOOL || !refusesEvery(policy, name)),
    actionOf: (name) => inner.actionOf?.(name) ?? null,
    async execute(calls, scope, signal) {
      for (const call of calls) assertOwn(call, passed) // all of them before the first effect
      return inner.execute(calls, scope, signal)
    },
    cancelRun: (runKey, deadlineMs) => inner.cancelRun(runKey, deadlineMs),
    cleanUp: (runKey) => inner.cleanUp(runKey),
  } satisfies Toolbox)
}

function refuseOther(context: JsonObject, metadata: JsonObject): void {
  const other = context.source_policy
  if (other === undefined || isSame(other, metadata)) return
  throw new Fault('CONFIG_INVALID', {
    message:
      'Cannot restrict the tools by an inline policy: they are restricted by the policy of another source already',
    hint: 'Give each agent a toolbox of its own, and restrict it once',
  })
}

/** The very object: only this box hands it out, in its context and in the calls that it binds. */
function isDelegationUnder({ action, source_policy }: PreparedCall, metadata: JsonObject): boolean {
  return 'Delegate' in action && source_policy === metadata
}

function isSame(given: Json | undefined, metadata: JsonObject): boolean {
  return given === metadata || (given !== undefined && canonical(given) === canonical(metadata))
}

function assertOwn(call: AuthorisedCall, passed: WeakSet<PreparedCall>): void {
  assertAuthorised(call)
  if (passed.has(call.call)) return
  throw new Fault('GRANT_REFUSED', {
    message: 'Cannot execute the call: it was not prepared and let pass under the inline policy of this toolbox',
    hint: 'Propose the call again, so that it is prepared and judged for the toolbox that is to execute it',
  })
}
