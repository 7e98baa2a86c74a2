/** Stands in for two functions of `dsl` until they exist there: every diagnostic of a source, and the settings of an agent. */
import {
  type Agent,
  type Diagnostic,
  type DurationUnit,
  type Expression,
  inlinePolicyDiagnostics,
  type Parsed,
  type Property,
} from '../dsl/index.ts'

export const DIAGNOSTICS_MAX = 100

export function checkSource(parsed: Parsed): readonly Diagnostic[] {
  const settings = parsed.tree.items.flatMap((item) => (item.kind === 'agent' ? settingProblems(item, parsed) : []))
  return [...parsed.diagnostics, ...inlinePolicyDiagnostics(parsed), ...settings]
}

export interface Settings {
  readonly sandbox: string | null
  readonly timeoutSeconds: number | null
}

export function withSettings(agent: Agent): Settings {
  const [sandbox] = valuesOf(agent, 'sandbox', sandboxOf)
  const [timeout] = valuesOf(agent, 'timeout', secondsOf)
  return { sandbox: sandbox ?? null, timeoutSeconds: timeout ?? null }
}

function settingProblems(agent: Agent, { lines }: Parsed): readonly Diagnostic[] {
  const problem = (code: 'E130' | 'E131', { value }: Property, message: string): Diagnostic => {
    const [start, end] = [lines.positionAt(value.span.start), lines.positionAt(value.span.end)]
    return { kind: 'unsupported', code, message, hint: null, start, end, related: [] }
  }
  const attributes = attributesOf(agent)
  const wrong = attributes.flatMap((attribute) => {
    const { key, value } = attribute
    const read = key.text === 'sandbox' ? sandboxOf(value) : key.text === 'timeout' ? secondsOf(value) : ''
    return read === null ? [problem('E130', attribute, `the ${key.text} cannot be used`)] : []
  })
  const twice = (['sandbox', 'timeout'] as const).flatMap((name) => {
    const values = valuesOf<unknown>(agent, name, name === 'sandbox' ? sandboxOf : secondsOf)
    const last = attributes.findLast(({ key }) => key.text === name)
    return new Set(values).size > 1 && last !== undefined ? [problem('E131', last, `two values of ${name}`)] : []
  })
  return [...wrong, ...twice]
}

function valuesOf<T>(agent: Agent, name: string, read: (value: Expression) => T): readonly T[] {
  return attributesOf(agent).flatMap(({ key, value }) => (key.text === name ? [read(value)] : []))
}

function attributesOf({ members }: Agent): readonly Property[] {
  return members.flatMap((member) => (member.kind === 'with' ? member.attributes : []))
}

const TIERS = new Map(
  Object.entries({ docker: 'tier1', gvisor: 'tier2', firecracker: 'tier3' }).flatMap(([name, tier]) => [
    [name, tier],
    [tier, tier],
  ]),
)

function sandboxOf(value: Expression): string | null {
  if (value.kind !== 'string' && value.kind !== 'name') return null
  const text = (value.kind === 'string' ? value.value : value.text).toLowerCase()
  return text === 'e2b' ? text : (TIERS.get(text) ?? null)
}

const UNITS: { readonly [U in DurationUnit]?: number } = {
  seconds: 1,
  s: 1,
  minutes: 60,
  m: 60,
  hours: 3600,
  h: 3600,
  d: 86_400,
}

function secondsOf(value: Expression): number | null {
  const seconds =
    value.kind === 'duration'
      ? value.amount * (UNITS[value.unit] ?? Number.NaN)
      : value.kind === 'number' && /^\d+$/.test(value.text)
        ? Number(value.text)
        : value.kind === 'string'
          ? ofText(value.value)
          : Number.NaN
  return seconds >= 1 && seconds <= 86_400 ? seconds : null
}

function ofText(text: string): number {
  const parts = text.split(' ').map((part) => /^(\d{1,9})([smhd])$/.exec(part))
  return parts.reduce((sum, part) => sum + Number(part?.[1]) * (UNITS[part?.[2] as DurationUnit] ?? Number.NaN), 0)
}
