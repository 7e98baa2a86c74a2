/**
 * Arguments of a tool call: read once from the model's text, strictly, and checked against the tool's JSON Schema. A
 * fault here is a denial before policy; nothing has happened yet.
 */
import { format, type Schema, Validator } from '@cfworker/json-schema'
import { Fault, isJsonObject, type Json, type JsonObject, readJson } from '../core/index.ts'
import type { ToolDefinition } from '../events/index.ts'
import { checkInThread, type SchemaError, wasLate } from './schema-thread.ts'
import { isQuick } from './schema-work.ts'

/** The arguments as a value. Blank text stands for no arguments, because that is what models send for none. */
export function proposedArguments(name: string, text: string): JsonObject {
  let value: unknown
  try {
    value = readJson(text.trim() === '' ? '{}' : text, { depthMax: 64, bytesMax: 1024 * 1024 })
  } catch (cause) {
    throw invalid(name, cause instanceof Error ? cause.message : 'they cannot be read', cause)
  }
  if (!isJsonObject(value)) throw invalid(name, 'they must be a JSON object')
  return value
}

/** The library's own pattern for "url", a name of no standard, takes for ever on texts that a model may write. */
format.url = (text) => /^(?:https?|ftp):\/\//i.test(text) && URL.canParse(text)

const validators = new WeakMap<ToolDefinition, Validator>()

/** Throws `CALL_INVALID` that names the place and the rule when the arguments do not fit the tool's schema. */
export function checkArguments(definition: ToolDefinition, value: JsonObject): void {
  const taken = takenName(value, '#')
  if (taken !== null)
    throw invalid(definition.name, `${taken} has a name that every object has, and none is called so here`)
  const { properties } = definition.parameters
  if (isJsonObject(properties) && Object.keys(properties).length > 0) {
    const stranger = Object.keys(value).find((name) => !Object.hasOwn(properties, name))
    if (stranger !== undefined) throw invalid(definition.name, `"${stranger.slice(0, 64)}" is not one of its arguments`)
  }
  const errors = errorsIn(definition, value)
  const last = errors.at(-1)
  if (last === undefined) return
  // A member that may not be there at all is told last by a rule without a name; the one before it has the name.
  const worst = errors.findLast(({ keyword }) => keyword !== 'false') ?? last
  const reason = worst.error.replace(/\.$/, '') // the library writes sentences, and a message of ours ends without a full stop
  throw invalid(definition.name, `${last.instanceLocation} breaks the rule ${worst.keywordLocation}: ${reason}`)
}

export type SchemaCost = 'quick' | 'slow' | 'late'

/** What a check of no arguments costs. `late`: some check against it did not end in time, and none is tried again. */
export function schemaCost(schema: JsonObject): SchemaCost {
  return isQuick(schema, {}) ? 'quick' : wasLate(schema) ? 'late' : 'slow'
}

/** A schema that may be costly is somebody else's more often than not: it is not run where everybody waits. */
function errorsIn(definition: ToolDefinition, value: JsonObject): readonly SchemaError[] {
  if (isQuick(definition.parameters, value)) {
    try {
      const { valid, errors } = validatorOf(definition).validate(value)
      return valid ? [] : errors
    } catch (cause) {
      throw invalid(definition.name, 'its schema cannot be used', cause)
    }
  }
  const answer = checkInThread(definition.parameters, value)
  if (answer.kind === 'Checked') return answer.errors
  const reason = answer.kind === 'Late' ? 'a check against it does not end in time' : answer.message
  throw invalid(definition.name, 'its schema cannot be used', new Error(reason))
}

/**
 * Where a member is called `constructor` or `prototype`. In our own hands such a member is inert; code of a tool, or of a
 * library behind it, may read it for what the object inherits. `__proto__` never comes this far: the strict reader refuses it.
 */
function takenName(value: Json, place: string): string | null {
  if (typeof value !== 'object' || value === null) return null
  for (const [name, member] of Object.entries(value)) {
    const own = `${place}/${name.slice(0, 64)}`
    if (!Array.isArray(value) && TAKEN_NAMES.has(name)) return own.slice(-200)
    const found = takenName(member, own)
    if (found !== null) return found
  }
  return null
}
const TAKEN_NAMES = new Set(['__proto__', 'constructor', 'prototype'])

function validatorOf(definition: ToolDefinition): Validator {
  const known = validators.get(definition)
  if (known !== undefined) return known
  // A copy: the validator writes marks of its own into the schema, and definitions are frozen and hashed.
  const made = new Validator(structuredClone(definition.parameters) as Schema, '2020-12', true)
  validators.set(definition, made)
  return made
}

function invalid(name: string, reason: string, cause?: unknown): Fault {
  return new Fault('CALL_INVALID', {
    message: `Cannot prepare the call of "${name}": ${reason}`,
    hint: 'Call the tool again with arguments that fit its schema',
    cause,
  })
}
