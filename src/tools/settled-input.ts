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
  if (isDeepStrictEqual(output, given)) return given
  let settled = given
  const names = new Set([...Object.keys(given), ...(isPlain(output) ? Object.keys(output) : [])])
  for (const name of names) {
    const trial = withMember(settled, name, output)
    if (trial !== null && isInput(definition, trial) && isDeepStrictEqual(input.safeParse(trial).data, output)) {
      settled = trial
    }
  }
  return settled
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

/** `args` with one member as it is in the output, as far as that is JSON; null when it is the same. */
function withMember(args: JsonObject, name: string, output: unknown): JsonObject | null {
  const member = isPlain(output) && Object.hasOwn(output, name) ? output[name] : undefined
  const { [name]: before, ...others } = args
  if (member === undefined) return before === undefined ? null : others
  const after = merged(before, member)
  return after === undefined || isDeepStrictEqual(after, before) ? null : { ...others, [name]: after }
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
