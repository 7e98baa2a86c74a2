/**
 * The project of every simulated life: its tools and its agent. Its policies are beside it.
 */
import type { JsonObject } from '../../../core/index.ts'
import type { Chance } from '../chance.ts'
import type { SimDisk } from '../machine/disk.ts'

export const PROJECT = '/srv/project'
export const TOKEN = 'a-token-for-the-simulated-server'
/** Of the last process of some lives: whoever holds it is another caller. */
export const OTHER_TOKEN = 'a-token-of-somebody-else'
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

/** Where the bank's name leads: nowhere private. */
export const BANK_ADDRESS = '93.184.215.14'

/** What `notify` is asked with; now and then the policy cannot judge it, or forbids it. */
export function notice(chance: Chance, token: string, amount: number): JsonObject {
  const to = chance.pick(['somebody', 'somebody', 'somebody', 'nobody', null])
  return to === null ? { token, amount } : { token, amount, to }
}

/** Asks the bank for an effect, which a GET has too. */
export function bankUrl(token: string): string {
  return `${BANK}/pay?token=${encodeURIComponent(token)}`
}

/** Also a request that is more than a question, as its contract says. */
export function needsApproval(tool: string, args: JsonObject): boolean {
  return HELD_TOOLS.includes(tool) || (tool === 'http_request' && args.method !== 'GET')
}

export function layOut(disk: SimDisk): void {
  disk.put(`${PROJECT}/agents/${AGENT}.symbi`, AGENT_SOURCE)
}
