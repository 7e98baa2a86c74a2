/**
 * A tool whose input is described once, with zod: its type for `run`, its JSON Schema for the model and for the contract, and
 * its check. The arguments are checked by both; what the two could understand differently is refused when the tool is defined.
 *
 * Policy judges the arguments in their normal form (`settled-input.ts`), and `run` gets what zod makes of exactly those.
 */
import type * as z from 'zod'
import { defaultContract, type EffectHandle, type ToolContract } from '../calls/index.ts'
import { deepFreeze, digest, Fault, type JsonObject } from '../core/index.ts'
import type { ToolDefinition } from '../events/index.ts'
import { contractSchema } from './input-schema.ts'
import { parsed, settledInput } from './settled-input.ts'
import type { Resolution, Tool, ToolAnswer } from './tool.ts'
import { TOOL_NAME, TOOL_NAME_RULE } from './tool-name.ts'

export type Risk = 'low' | 'medium' | 'high'

export interface ToolSpec<S extends z.ZodType> {
  readonly name: string
  /** What the model reads. */
  readonly description: string
  /** A zod object, from zod 4. `z.toJSONSchema` must be able to represent its input. */
  readonly input: S
  /** Told to policy and approvers as `resolved.risk`. Default: low. */
  readonly risk?: Risk
  /** True: each call needs a person's approval, whatever policy allows. Default: false. */
  readonly approval?: boolean
  /**
   * The effect. `signal` fires when nobody waits any more; `effects` tells the journal about requests that the tool makes;
   * `deadlineMs` is monotonic. What it answers and what a throw means: see `Tool`.
   */
  run(input: z.output<S>, call: TypedCall): Promise<ToolAnswer>
}

export interface TypedCall {
  readonly signal: AbortSignal
  readonly effects: EffectHandle
  readonly deadlineMs: number
}

/** Throws `CONFIG_INVALID` when the input cannot be described to a model, or could be described wrongly. */
export function defineTool<S extends z.ZodType>(spec: ToolSpec<S>): Tool {
  const { name, description, input, risk = 'low', approval = false, run } = spec
  if (typeof name !== 'string' || !TOOL_NAME.test(name)) throw unusable(name, TOOL_NAME_RULE)
  if (typeof description !== 'string' || description.trim() === '') {
    throw unusable(name, 'it has no description, and a model chooses a tool by it')
  }
  if (!RISKS.includes(risk)) throw unusable(name, `its risk is none of ${RISKS.join(', ')}`)
  const definition: ToolDefinition = deepFreeze({ name, description, parameters: contractSchema(name, input) })
  const contract: ToolContract = deepFreeze({
    ...defaultContract(definition),
    digest: digest({ definition, risk, approval }),
    requires_approval: approval,
  })
  const resolved = { risk }
  return Object.freeze({
    definition,
    contract,
    oneAction: true,
    resolve: (args: JsonObject): Resolution => ({ arguments: settledInput(definition, input, args), resolved }),
    run: async (args: JsonObject, call: TypedCall) => await run.call(spec, parsed(definition, input, args), call),
  })
}

const RISKS: readonly Risk[] = ['low', 'medium', 'high']

function unusable(name: string, state: string): Fault {
  return new Fault('CONFIG_INVALID', {
    message: `Cannot define the tool "${String(name).slice(0, 128)}": ${state}`,
    hint: 'Correct the definition of the tool; docs/tools.md says what it may hold',
  })
}
