/**
 * What `run` of a typed tool gets has the type that its input says. Nobody runs this file: `tsc -p .` reads it, and fails on
 * the day that one of the lines below is accepted.
 */
import { z } from 'zod'
import { defineTool, type Tool } from '../../src/runtime/index.ts'

const parts = { name: 'act', description: 'Acts.' } as const
const input = z.object({
  to: z.string(),
  count: z.string().transform(Number),
  urgent: z.boolean().default(false),
  note: z.string().optional(),
})

/** Output types: after transforms and defaults. */
export const tool: Tool = defineTool({
  ...parts,
  input,
  risk: 'high',
  approval: true,
  run: async ({ to, count, urgent, note }, { signal, effects, deadlineMs }) => {
    const typed: [string, number, boolean, string | undefined, AbortSignal, number] = [
      to,
      count,
      urgent,
      note,
      signal,
      deadlineMs,
    ]
    await effects.record({ FilePublicationFinished: { publication_id: '' as never, confirmed: true, error: null } })
    return { content: String(typed), is_error: false }
  },
})

// @ts-expect-error the transform made a number
defineTool({ ...parts, input, run: async ({ count }) => count.toUpperCase() })
// @ts-expect-error the input has no such member
defineTool({ ...parts, input, run: async ({ from }) => from })
// @ts-expect-error it may be absent
defineTool({ ...parts, input, run: async ({ note }) => note })
// @ts-expect-error an answer is a text, or a text with its mark
defineTool({ ...parts, input, run: async ({ count }) => count })
// @ts-expect-error the input is a schema, and not its JSON Schema
defineTool({ ...parts, input: { type: 'object' }, run: async () => 'done' })
// @ts-expect-error there are three risks
defineTool({ ...parts, input, risk: 'deadly', run: async () => 'done' })
// @ts-expect-error a call has no grant to hand on
defineTool({ ...parts, input, run: async (_given, { grant }) => String(grant) })
