/** Small tools for tests, counting what really ran. */
import type { ToolContract } from '../../src/calls/index.ts'
import type { JsonObject } from '../../src/core/index.ts'
import type { Tool, ToolAnswer, ToolCall } from '../../src/tools/index.ts'

export interface CountedTool extends Tool {
  readonly ran: JsonObject[]
}

export function toolOf(
  name: string,
  run: (args: JsonObject, call: ToolCall) => Promise<ToolAnswer> = async () => 'fine',
  contract?: ToolContract,
): CountedTool {
  const ran: JsonObject[] = []
  return {
    ran,
    definition: { name, description: `the tool ${name}`, parameters: { type: 'object' } },
    ...(contract === undefined ? {} : { contract }),
    run: (args, call) => {
      ran.push(args)
      return run(args, call)
    },
  }
}

/** The text of an answer that says that nothing was done, as the data that it is. */
export function notDoneIn(answer: ToolAnswer): Record<string, unknown> {
  if (typeof answer === 'string' || answer.not_done !== true) throw new Error('the tool did what was asked')
  return JSON.parse(answer.content)
}
