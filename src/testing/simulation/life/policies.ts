/** The policies that somebody may write while a life goes on: as files, and what they mean as a plain function. */
import type { JsonObject } from '../../../core/index.ts'
import { LEAST_PRIVILEGE_POLICY } from '../../least-privilege.ts'
import type { SimDisk } from '../machine/disk.ts'
import { FOREIGN_TOOL } from './foreign-server.ts'
import { AGENT, AMOUNT_MAX, PROJECT } from './scenario.ts'

/** `ordinary` is what every life begins with. */
export type PolicyText = 'ordinary' | 'strict' | 'lifted' | 'broken' | 'removed' | 'emptied'

const DEFAULT = `${PROJECT}/policies/default.cedar`
const TOOLS = `${PROJECT}/policies/tools.cedar`

const permitTools = `permit (
  principal,
  action in [Action::"tool_call::charge", Action::"tool_call::notify", Action::"tool_call::wire", Action::"delegate::${AGENT}"],
  resource
);
permit (principal, action == Action::"tool_call::http_request", resource);
permit (principal, action == Action::"tool_call::${FOREIGN_TOOL}", resource);
`
const forbid = (tool: string): string => `forbid (principal, action == Action::"tool_call::${tool}", resource);\n`
/** Cannot be judged of a call that names nobody to notify, so such a call is not allowed. */
const notNobody = `forbid (principal, action == Action::"tool_call::notify", resource)
when { context.invocation.arguments.to == "nobody" };
`
const atMost = `forbid (principal, action == Action::"tool_call::charge", resource)
when { context.invocation.arguments.amount > ${AMOUNT_MAX} };
`

/** What `tools.cedar` says; null: it is not there. */
const TEXTS: Readonly<Record<PolicyText, string | null>> = {
  ordinary: `${permitTools}${atMost}${notNobody}${forbid('erase')}`,
  strict: `${permitTools}${forbid('charge')}${forbid('wire')}${forbid('http_request')}${forbid(FOREIGN_TOOL)}${notNobody}${forbid('erase')}`,
  lifted: `${permitTools}${notNobody}${forbid('erase')}`,
  broken: `${permitTools}forbid (principal, action == `,
  removed: null,
  emptied: null,
}

/** Broken text is no policy; everything else is, also when there is none. */
export function isUsable(policies: PolicyText): boolean {
  return policies !== 'broken'
}

export function allows(tool: string, args: JsonObject, policies: string | null): boolean {
  const isJudged = tool !== 'notify' || (typeof args.to === 'string' && args.to !== 'nobody')
  switch (policies ?? 'ordinary') {
    case 'ordinary':
      return isJudged && SERVED.includes(tool) && (tool !== 'charge' || Number(args.amount) <= AMOUNT_MAX)
    case 'lifted':
      return isJudged && SERVED.includes(tool)
    case 'strict':
      return isJudged && tool === 'notify'
    default:
      return false
  }
}

/** No file is left: a process that never had any lets an agent answer, and nothing else. */
export function areNone(policies: string | null): boolean {
  return policies === 'emptied'
}

/** As policies are named: by their file, and counted in it. In every text of `tools.cedar` those that permit come first. */
export function permits(policy: string): boolean {
  return ['default', 'tools', 'tools#2', 'tools#3'].includes(policy)
}

const SERVED: readonly string[] = ['charge', 'notify', 'wire', 'http_request', FOREIGN_TOOL]

export function writePolicies(disk: SimDisk, policies: PolicyText): void {
  set(disk, DEFAULT, policies === 'emptied' ? null : LEAST_PRIVILEGE_POLICY)
  set(disk, TOOLS, TEXTS[policies])
}

function set(disk: SimDisk, path: string, text: string | null): void {
  if (text !== null) disk.put(path, text)
  else if (disk.visible(path) !== null) disk.remove(path)
}
