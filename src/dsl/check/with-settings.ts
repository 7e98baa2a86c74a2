/**
 * What the with-blocks of an agent ask for (1.6): one sandbox and one lifetime, because one run has one of each. An agent may
 * only choose among sandboxes that isolate; how each is made is up to the project.
 */
import type { Problem } from '../problems.ts'
import type { Agent, Expression, Property } from '../tree.ts'
import { conflict, quoted, refusal, textOf, warning } from './found.ts'
import { secondsMeant, TIMEOUT_SECONDS_MAX } from './timeouts.ts'

export type SandboxTier = 'tier1' | 'tier2' | 'tier3' | 'e2b'

export interface WithSettings {
  /** Null when the project decides. */
  readonly sandboxTier: SandboxTier | null
  /** 1 to 86 400. Null when the limit of the caller stands alone. */
  readonly timeoutSeconds: number | null
  /** What cannot be used, what contradicts itself, and what has no effect. */
  readonly problems: readonly Problem[]
}

export function withSettings(agent: Agent): WithSettings {
  const attributes = agent.members.flatMap((member) => (member.kind === 'with' ? member.attributes : []))
  const sandbox = settled(attributes, 'sandbox', sandboxOf)
  const timeout = settled(attributes, 'timeout', secondsOf)
  return {
    sandboxTier: sandbox.value,
    timeoutSeconds: timeout.value,
    problems: [...sandbox.problems, ...timeout.problems, ...attributes.flatMap(withoutEffect)],
  }
}

const TIERS: Readonly<Record<string, SandboxTier>> = {
  docker: 'tier1',
  tier1: 'tier1',
  gvisor: 'tier2',
  tier2: 'tier2',
  firecracker: 'tier3',
  tier3: 'tier3',
  e2b: 'e2b',
}

/** Whatever the case of the letters. Null for a sandbox that an agent cannot choose. */
export function sandboxTierOf(text: string): SandboxTier | null {
  const name = text.toLowerCase()
  return Object.hasOwn(TIERS, name) ? (TIERS[name] ?? null) : null
}

type Read<T> = { readonly value: T } | { readonly problem: Problem }

/** The one value that all the attributes of a name agree on. */
function settled<T>(
  attributes: readonly Property[],
  name: string,
  read: (value: Expression) => Read<T>,
): { readonly value: T | null; readonly problems: readonly Problem[] } {
  const problems: Problem[] = []
  let first: { readonly value: T; readonly attribute: Property } | null = null
  for (const attribute of attributes) {
    if (attribute.key.text !== name) continue
    const found = read(attribute.value)
    if ('problem' in found) problems.push(found.problem)
    else if (first === null) first = { value: found.value, attribute }
    else if (first.value !== found.value) {
      const message = `the agent asks for two different values of "${name}"`
      problems.push(
        conflict('E131', attribute, first.attribute, { message, hint: `Keep one: ${EXAMPLES[name] ?? name}` }),
      )
    }
  }
  return { value: first?.value ?? null, problems }
}

const EXAMPLES: Readonly<Record<string, string>> = {
  sandbox: 'with sandbox = "docker" {}',
  timeout: 'with timeout = 5.minutes {}',
}

function sandboxOf(value: Expression): Read<SandboxTier> {
  const text = textOf(value)
  const tier = text === null ? null : sandboxTierOf(text)
  if (tier !== null) return { value: tier }
  const message = text === null ? 'a sandbox is named by a text' : `no sandbox ${quoted(text)} can be chosen`
  const hint =
    'Choose "docker" (tier1), "gvisor" (tier2) or "firecracker" (tier3), or leave it out for what the project has set. ' +
    'Running without isolation is a setting of the project alone'
  return { problem: refusal('E130', value, message, hint) }
}

function secondsOf(value: Expression): Read<number> {
  const { seconds, why } = secondsMeant(value)
  if (seconds === null) return { problem: refusal('E130', value, why, TIMEOUT_HINT) }
  if (seconds >= 1 && seconds <= TIMEOUT_SECONDS_MAX) return { value: seconds }
  const message = `a timeout of ${seconds} seconds is not between 1 and ${TIMEOUT_SECONDS_MAX}`
  const thousandth = seconds / 1000
  const trap =
    value.kind === 'number' && Number.isInteger(thousandth) && thousandth >= 1 && thousandth <= TIMEOUT_SECONDS_MAX
      ? `A bare number is seconds, not milliseconds: write ${thousandth} or ${thousandth}.seconds. `
      : ''
  return { problem: refusal('E130', value, message, `${trap}${TIMEOUT_HINT}`) }
}

const TIMEOUT_HINT = 'Write timeout = 90.seconds, timeout = 5m, timeout = "1h 30m", or a bare number of seconds'

const ENFORCED = new Set(['sandbox', 'timeout'])

function withoutEffect({ key }: Property): readonly Problem[] {
  if (ENFORCED.has(key.text)) return []
  const message = `the attribute ${quoted(key.text)} has no effect`
  return [warning('W200', key, message, 'Only sandbox and timeout are enforced; remove it, or make it a comment')]
}
