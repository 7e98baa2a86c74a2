/** What is said of a call that is not sent. */
import { CODES, Fault } from '../core/index.ts'
import { notDone, type ToolAnswer } from '../tools/index.ts'
import { visible } from './visible.ts'

export function changed(server: string, tool: string, reason: string): Fault {
  return new Fault('UPSTREAM_CHANGED', {
    message: `Cannot call the tool "${visible(tool, 128)}" of "${server}": ${reason}`,
    hint: pinHint(server),
  })
}

export function pinHint(server: string): string {
  return `Look at the change with "symbi mcp pin ${server}", and start again after it was accepted`
}

export function unavailable(state: string, cause?: unknown): Fault {
  return new Fault('UPSTREAM_UNAVAILABLE', { message: `Cannot use the tool server: ${state}`, cause })
}

/** Nothing was sent, so nothing is unknown: an answer, and no error over which a run would have to stop. */
export function notSent({ code, message, hint }: Fault): ToolAnswer {
  const why = hint === undefined ? {} : { hint }
  return notDone(JSON.stringify({ code, error: CODES[code].says, reason: message, ...why, sent: false }))
}
