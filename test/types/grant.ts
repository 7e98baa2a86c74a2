/**
 * Skipping the gate does not compile. Nobody runs this file: `tsc -p .` reads it, and fails on the day that one of the
 * lines below is accepted. What the compiler cannot see (a cast, a copy, a second use) is refused at run time; see
 * `test/calls/grant.test.ts`.
 */
import {
  type Approval,
  type AuthorisedCall,
  type ExecutionScope,
  type Grant,
  type PreparedCall,
  spend,
  spendApproval,
  type Toolbox,
} from '../../src/calls/index.ts'
import { type Hash, readJson } from '../../src/core/index.ts'

declare const call: PreparedCall
declare const grant: Grant
declare const toolbox: Toolbox
declare const scope: ExecutionScope
declare const signal: AbortSignal
declare const binding: Hash
declare const approval: Approval

/** The one road: a grant is spent, and the authorised call is executed. */
export const road = () => toolbox.execute([spend(grant)], scope, signal)

// @ts-expect-error a call that never met the gate
spend(call)
// @ts-expect-error an object that looks like a grant
spend({ call, toolbox, binding, deadlineMs: 0 })
// @ts-expect-error a grant that was read from JSON
spend(readJson('{}'))
// @ts-expect-error a grant with some of its parts
spend({ call: grant.call, toolbox: grant.toolbox, binding: grant.binding, deadlineMs: grant.deadlineMs })
// @ts-expect-error an approval is no grant
spend(approval)

// @ts-expect-error a call that never met the gate is not executed
void toolbox.execute([call], scope, signal)
// @ts-expect-error a grant must be spent before its call is executed
void toolbox.execute([grant], scope, signal)
// @ts-expect-error an object that looks like an authorised call
void toolbox.execute([{ call }], scope, signal)
// @ts-expect-error an authorised call that was read from JSON
void toolbox.execute([readJson('{}')], scope, signal)

// @ts-expect-error the mark of an authorised call cannot be named
export const authorised: AuthorisedCall = { call: grant.call }
// @ts-expect-error the mark of a grant cannot be named
export const granted: Grant = { call, toolbox, binding, deadlineMs: 0 }
// @ts-expect-error the call inside a grant cannot be exchanged
grant.call = call

// @ts-expect-error an approval cannot be written down
spendApproval({ id: 'a', fingerprint: call.fingerprint, binding, expiresAtMs: 0 }, {})

type FrontDoor = typeof import('../../src/calls/index.ts')
// @ts-expect-error the front door hands out no maker of grants
export type GrantMaker = FrontDoor['issue']
// @ts-expect-error the front door hands out no maker of approvals
export type ApprovalMaker = FrontDoor['makeApproval']
