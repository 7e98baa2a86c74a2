/**
 * The JSON Schema of a typed tool, from the input side of its zod schema: what a model is told, and what its arguments are
 * checked against before zod sees them.
 *
 * What zod would do silently becomes a rule: an object that would drop unknown members forbids them. What JSON Schema would
 * say differently is refused: flags of a pattern, a default that is no input. Where zod has no JSON Schema it says so itself.
 */
import type * as z from 'zod'
import { canonical, Fault, isJsonObject, type JsonObject, messageOf } from '../core/index.ts'

export function contractSchema(name: string, input: z.ZodType): JsonObject {
  // The schema's own method: it is from the author's copy of zod, and nothing here loads another.
  if (typeof input?.toJSONSchema !== 'function' || !('_zod' in input))
    throw refused(name, 'it is not a schema of zod 4')
  const problems: string[] = []
  let made: unknown
  try {
    made = input.toJSONSchema({
      io: 'input',
      target: 'draft-2020-12',
      override: ({ zodSchema, jsonSchema, path }) => {
        const problem = amend(zodSchema as unknown as z.core.$ZodTypes, jsonSchema as Record<string, unknown>)
        if (problem !== null) problems.push(`${placeOf(path)} ${problem}`)
      },
    })
  } catch (cause) {
    throw refused(name, messageOf(cause), cause)
  }
  const [problem] = problems
  if (problem !== undefined) throw refused(name, problem)
  const schema = plain(name, made)
  if (schema.type !== 'object') throw refused(name, 'it must be an object, because arguments have names')
  return schema
}

/** Completes what zod wrote about one schema, or says why it cannot be said. */
function amend({ _zod }: z.core.$ZodTypes, json: Record<string, unknown>): string | null {
  const { def } = _zod
  if (def.type === 'object' && def.catchall === undefined) json.additionalProperties = false
  if (def.type === 'default' && !('default' in json)) return 'has a default that is no input: give it with .prefault()'
  if (def.type === 'file') return 'is a file, and arguments are JSON'
  for (const pattern of patternsOf(def)) {
    if (/[imsy]/.test(pattern.flags))
      return `has a pattern with the flags "${pattern.flags}", which JSON Schema cannot say`
    if (!isUnicodePattern(pattern.source)) return 'has a pattern that JSON Schema cannot say'
  }
  const names = Object.keys(isJsonObject(json.properties as never) ? (json.properties as object) : {})
  const taken = names.find((own) => own === '__proto__' || own === 'constructor' || own === 'prototype')
  return taken === undefined ? null : `has a member "${taken}", which every object has`
}

function patternsOf(def: { readonly checks?: readonly z.core.$ZodCheck<never>[] | undefined }): readonly RegExp[] {
  const rules: readonly object[] = [def, ...(def.checks ?? []).map((check) => check._zod.def)]
  return rules.flatMap((rule) => ('pattern' in rule && rule.pattern instanceof RegExp ? [rule.pattern] : []))
}

function isUnicodePattern(source: string): boolean {
  try {
    return new RegExp(source, 'u').unicode
  } catch {
    return false
  }
}

/** A copy that holds JSON and nothing else. */
function plain(name: string, made: unknown): JsonObject {
  try {
    const copy: unknown = structuredClone(made)
    canonical(copy)
    if (isJsonObject(copy)) {
      const { $schema: _said, ...schema } = copy // every definition is of this one dialect
      return schema
    }
  } catch (cause) {
    throw refused(name, messageOf(cause), cause)
  }
  throw refused(name, 'it is described by a condition alone')
}

function placeOf(path: readonly (string | number)[]): string {
  return path.length === 0 ? '#' : `#/${path.join('/')}`
}

function refused(name: string, state: string, cause?: unknown): Fault {
  return new Fault('CONFIG_INVALID', {
    message: `Cannot define the tool "${String(name).slice(0, 128)}": its input cannot be used: ${state}`,
    hint: 'Describe the input with what JSON has; docs/tools.md says what a schema may hold',
    cause,
  })
}
