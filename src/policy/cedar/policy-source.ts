/**
 * One source of policy text: bounded, split, and parsed by Cedar, policy by policy, with every error at its line.
 *
 * The text is split here, because Cedar returns the parts of a text in the order of their ids as text (policy10 before
 * policy2) and without their places. Cedar's own count is the check that both mean the same policies.
 */
import { type Fault, isFault } from '../../core/index.ts'
import type { CedarEngine, CedarError, CedarPolicyJson } from './cedar-engine.ts'
import { type Part, readPolicyText } from './policy-text.ts'
import { indexOfByte, type Problem, Problems, problemAt } from './problems.ts'

export interface ParsedSource {
  readonly policies: readonly { readonly part: Part; readonly json: CedarPolicyJson }[]
  readonly problems: readonly Problem[]
}

export function parseSource(engine: CedarEngine, source: string): ParsedSource {
  const { parts, rest, problem } = readPolicyText(source)
  if (problem !== null) return failed([problem])
  if (source.startsWith('\ufeff'))
    return failed([problemAt(source, 0, 'error', 'the text begins with a byte order mark', 'Save it without one')])
  try {
    const whole = engine.split(source)
    if (whole.kind === 'Errors') {
      const problems = new Problems(source, 'error')
      addErrors(problems, { text: source, start: 0 }, whole.errors)
      return failed(problems.list())
    }
    if (rest.length > 0 || whole.value.policies + whole.value.templates !== parts.length) {
      const place = rest[0]?.start ?? 0
      return failed([problemAt(source, place, 'error', 'the text cannot be split into policies', 'End each with ";"')])
    }
    return parseParts(engine, source, parts)
  } catch (error) {
    if (!isFault(error, 'POLICY_ENGINE')) throw error
    return failed([engineProblem(source, error)])
  }
}

function parseParts(engine: CedarEngine, source: string, parts: readonly Part[]): ParsedSource {
  const policies: { part: Part; json: CedarPolicyJson }[] = []
  const problems = new Problems(source, 'error')
  for (const part of parts) {
    const parsed = engine.parse(part.text)
    if (parsed.kind === 'Parsed') policies.push({ part, json: parsed.value })
    else addErrors(problems, part, parsed.errors)
  }
  const found = problems.list()
  return found.length > 0 ? failed(found) : { policies, problems: [] }
}

/** Cedar's errors, each at its own place; those that it calls related are errors of the same text. */
function addErrors(problems: Problems, part: Pick<Part, 'text' | 'start'>, errors: readonly CedarError[]): void {
  for (const { message, help, sourceLocations, related } of errors) {
    const [place] = sourceLocations ?? []
    const index = (): number => part.start + (place === undefined ? 0 : indexOfByte(part.text, place.start))
    const label = place?.label ? `: ${place.label}` : ''
    const text = message.replace(/^failed to parse policy from string: /, '')
    problems.add(index, `${text}${label}`, help)
    addErrors(problems, part, related ?? [])
  }
}

function failed(problems: readonly Problem[]): ParsedSource {
  return { policies: [], problems }
}

function engineProblem(source: string, fault: Fault): Problem {
  return problemAt(
    source,
    0,
    'error',
    `Cedar failed while it read this text (${fault.message})`,
    'Make the policies simpler',
  )
}
