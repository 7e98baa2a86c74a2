/**
 * The arguments of a typed tool in their normal form, which is what policy judges: defaults are filled in, and an argument
 * that zod changes into other valid input (trimmed, in lower case, without what it drops) stands as what it becomes, as long as
 * zod makes the same of it again. So a rule about an argument cannot be passed by writing it differently.
 *
 * What zod turns into something that is no input (a number from a text, a Date) stands as it was given: policy judges the
 * text, and `run` gets what becomes of it.
 */
import { isDeepStrictEqual } from 'node:util'
import type * as z from 'zod'
import { checkArguments } from '../calls/index.ts'
import { canonical, cutText, Fault, isJsonObject, type Json, type JsonObject, messageOf } from '../core/index.ts'
import type { ToolDefinition } from '../events/index.ts'

export function settledInput(definition: ToolDefinition, input: z.ZodType, args: JsonObject): JsonObject {
  const given = withDefaults(definition.parameters, args) as JsonObject
  const output = parsed(definition, input, given)
  return isDeepStrictEqual(output, given) ? given : new Settling(definition, input, output, given).settled()
}

/** Nodes of arguments that trials may look at together: less than a second. */
const TRIED_NODES_MAX = 200_000
const TRIALS_MIN = 8

/**
 * Puts what became of an argument in its place, as much at once as zod makes the same of: all of it, or else member by member
 * and item by item, so that one that has no normal form keeps none of its neighbours from theirs.
 */
class Settling {
  readonly #definition: ToolDefinition
  readonly #input: z.ZodType
  readonly #output: unknown
  #settled: JsonObject
  #trialsLeft: number

  constructor(definition: ToolDefinition, input: z.ZodType, output: unknown, given: JsonObject) {
    this.#definition = definition
    this.#input = input
    this.#output = output
    this.#settled = given
    this.#trialsLeft = Math.max(TRIALS_MIN, Math.floor(TRIED_NODES_MAX / nodesIn(given)))
  }

  settled(): JsonObject {
    this.#settle([], this.#settled, this.#output)
    return this.#settled
  }

  #settle(path: Path, before: Json | undefined, after: unknown): void {
    const whole = after === undefined ? undefined : merged(before, after)
    if (isDeepStrictEqual(whole, before)) return
    const trial = placed(this.#settled, path, whole)
    if (isJsonObject(trial) && this.#isTheSame(trial)) this.#settled = trial
    else if (isJsonObject(before) && isPlain(after)) {
      for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
        this.#settle([...path, name], own(before, name), Object.hasOwn(after, name) ? after[name] : undefined)
      }
    } else if (Array.isArray(before) && Array.isArray(after) && before.length === after.length) {
      before.forEach((item: Json, at) => void this.#settle([...path, at], item, after[at]))
    }
  }

  /** Policy would judge an argument as it was written if trials just ended: so the call is refused instead. */
  #isTheSame(trial: JsonObject): boolean {
    if (this.#trialsLeft === 0) {
      throw new Fault('CALL_INVALID', {
        message: `Cannot prepare the call of "${this.#definition.name}": too many of its arguments become something else`,
        hint: 'Call the tool again with fewer arguments at once',
      })
    }
    this.#trialsLeft -= 1
    return isDeepStrictEqual(outputOf(this.#input, trial), this.#output) && isInput(this.#definition, trial)
  }
}

/** Undefined for what zod refuses, in whatever way. */
function outputOf(input: z.ZodType, trial: JsonObject): unknown {
  try {
    return input.safeParse(trial).data
  } catch {
    return undefined
  }
}

type Path = readonly (string | number)[]

/** `value` with another value at a place, or with none there. */
function placed(value: Json | undefined, [step, ...rest]: Path, next: Json | undefined): Json | undefined {
  if (step === undefined) return next
  if (Array.isArray(value))
    return value.map((item: Json, at) => (at === step ? (placed(item, rest, next) as Json) : item))
  const { [step]: before, ...others } = value as JsonObject
  const after = placed(before, rest, next)
  return after === undefined ? others : { ...others, [step]: after }
}

function nodesIn(value: Json): number {
  if (typeof value !== 'object' || value === null) return 1
  return Object.values(value).reduce<number>((sum, item) => sum + nodesIn(item), 1)
}

function own(value: JsonObject, name: string): Json | undefined {
  return Object.hasOwn(value, name) ? value[name] : undefined
}

/** What zod makes of the arguments. Throws `CALL_INVALID` that names the place and the rule. */
export function parsed<S extends z.ZodType>(definition: ToolDefinition, input: S, args: JsonObject): z.output<S> {
  const result = asked(definition, input, args)
  if (result.success) return result.data as z.output<S>
  const [issue] = result.error.issues
  const place = `#${(issue?.path ?? []).map((part) => `/${String(part)}`).join('')}`
  throw new Fault('CALL_INVALID', {
    message: `Cannot prepare the call of "${definition.name}": ${cutText(place, 200)} breaks the rule ${issue?.code}: ${cutText(issue?.message ?? '', 400)}`,
    hint: 'Call the tool again with arguments that fit its rules',
  })
}

function asked(definition: ToolDefinition, input: z.ZodType, args: JsonObject): z.ZodSafeParseResult<unknown> {
  try {
    return input.safeParse(args)
  } catch (cause) {
    throw new Fault('CALL_INVALID', {
      message: `Cannot prepare the call of "${definition.name}": a rule of its schema failed: ${cutText(messageOf(cause), 400)}`,
      hint: 'The rules and transforms of a typed tool must answer at once and throw nothing',
      cause,
    })
  }
}

/** Members that are missing and have a default, as far as members and items lead. */
function withDefaults(schema: Json | undefined, value: Json): Json {
  if (schema === undefined || !isJsonObject(schema)) return value
  if (Array.isArray(value)) return value.map((item) => withDefaults(schema.items, item as Json))
  const { properties } = schema
  if (!isJsonObject(value) || properties === undefined || !isJsonObject(properties)) return value
  const filled: Record<string, Json> = { ...value }
  for (const [name, member] of Object.entries(properties)) {
    const own = Object.hasOwn(filled, name) ? filled[name] : isJsonObject(member) ? member.default : undefined
    if (own !== undefined) filled[name] = withDefaults(member, own)
  }
  return filled
}

/** The output where it is JSON, and what was given where it is not. */
function merged(before: Json | undefined, after: unknown): Json | undefined {
  if (Array.isArray(after)) {
    const old = Array.isArray(before) && before.length === after.length ? before : null
    const items = after.map((item, at) => merged(old?.[at], item))
    return items.some((item) => item === undefined) ? before : (items as Json[])
  }
  if (isPlain(after)) {
    const old: JsonObject = before !== undefined && isJsonObject(before) ? before : {}
    const members = Object.entries(after).map(([name, member]) => {
      return [name, merged(Object.hasOwn(old, name) ? old[name] : undefined, member)] as const
    })
    return Object.fromEntries(members.filter((pair): pair is [string, Json] => pair[1] !== undefined))
  }
  return isScalar(after) && (before === undefined || typeof before === typeof after || before === null) ? after : before
}

function isPlain(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype
}

function isScalar(value: unknown): value is string | number | boolean | null {
  return value === null || typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value)
}

function isInput(definition: ToolDefinition, value: JsonObject): boolean {
  try {
    canonical(value)
    checkArguments(definition, value)
    return true
  } catch {
    return false
  }
}
