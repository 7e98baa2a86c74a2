/**
 * The project of every simulated life: its tools and its agent. Its policies are beside it.
 */
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

const AGENT_SOURCE = `agent ${AGENT} {
}
`

export function needsApproval(tool: string): boolean {
  return HELD_TOOLS.includes(tool)
}

export function layOut(disk: SimDisk): void {
  disk.put(`${PROJECT}/agents/${AGENT}.symbi`, AGENT_SOURCE)
}
