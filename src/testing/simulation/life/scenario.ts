/**
 * The project of every simulated life: its tools, its policies as Cedar text, and what they mean as a plain function, so
 * that a law need not ask the engine that it judges.
 */
import type { JsonObject } from '../../../core/index.ts'
import { LEAST_PRIVILEGE_POLICY } from '../../least-privilege.ts'
import type { SimDisk } from '../machine/disk.ts'

export const PROJECT = '/srv/project'
export const TOKEN = 'a-token-for-the-simulated-server'
export const AGENT = 'worker'
export const MODEL_URL = 'http://model.example/v1'
export const BANK = 'http://bank.example'

/** Tools of the project, beside the monitoring tools and `http_request`. */
export const OWN_TOOLS = ['charge', 'notify', 'wire', 'erase'] as const
/** Always held for a person. */
export const HELD_TOOLS: readonly string[] = ['wire']
/** More than this may not be charged. */
export const AMOUNT_MAX = 100

const POLICY = `permit (
  principal,
  action in [Action::"tool_call::charge", Action::"tool_call::notify", Action::"tool_call::wire", Action::"delegate::${AGENT}"],
  resource
);
permit (principal, action == Action::"tool_call::http_request", resource);
forbid (principal, action == Action::"tool_call::charge", resource)
when { context.invocation.arguments.amount > ${AMOUNT_MAX} };
forbid (principal, action == Action::"tool_call::erase", resource);
`

const AGENT_SOURCE = `agent ${AGENT} {
}
`

export function allows(tool: string, args: JsonObject): boolean {
  if (tool === 'charge') return Number(args.amount) <= AMOUNT_MAX
  return tool === 'notify' || tool === 'wire' || tool === 'http_request'
}

export function needsApproval(tool: string): boolean {
  return HELD_TOOLS.includes(tool)
}

export function layOut(disk: SimDisk): void {
  disk.put(`${PROJECT}/policies/default.cedar`, LEAST_PRIVILEGE_POLICY)
  disk.put(`${PROJECT}/policies/tools.cedar`, POLICY)
  disk.put(`${PROJECT}/agents/${AGENT}.symbi`, AGENT_SOURCE)
}
