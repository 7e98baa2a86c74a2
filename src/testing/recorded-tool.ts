/** A tool that keeps what it ran with, so that a test can count effects and look at them. */
import type { JsonObject } from '../core/index.ts'
import type { ToolDefinition } from '../events/index.ts'
import type { Tool, ToolAnswer, ToolCall } from '../tools/index.ts'

export interface RecordedTool extends Tool {
  /** The arguments of every effect so far, in order. What policy denied is not among them. */
  readonly ran: readonly JsonObject[]
}

export interface RecordedToolOptions {
  /** Default: any object. */
  readonly parameters?: ToolDefinition['parameters']
  /** What it answers, or does; a throw leaves the effect unknown. Default: the text "done". */
  readonly answer?: ToolAnswer | ((args: JsonObject, call: ToolCall) => Promise<ToolAnswer>)
}

export function recordedTool(name: string, options: RecordedToolOptions = {}): RecordedTool {
  const ran: JsonObject[] = []
  const { answer = 'done', parameters = { type: 'object' } } = options
  return {
    ran,
    definition: { name, description: `Records its calls as "${name}".`, parameters },
    run: async (args, call) => {
      ran.push(args)
      return typeof answer === 'function' ? await answer(args, call) : answer
    },
  }
}
