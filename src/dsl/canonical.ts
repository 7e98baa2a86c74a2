/**
 * What an agent that others may hand work to can consist of (1.11): data that the runtime enforces, and nothing that it would
 * have to ignore. Everything else the grammar knows is refused here by name, with its place.
 *
 * Says nothing about syntax, about policies, about keys that stand twice and about values that no route takes: `checkSource`
 * and the compiler of inline policies do.
 */
import type { Diagnostic } from './diagnostic.ts'
import type { Parsed } from './parse.ts'
import { limited, type Problem, placedProblems } from './problems.ts'
import type { Agent, Capabilities, Expression, Item, Metadata, Property, Span, With } from './tree.ts'

const METADATA_KEYS = ['version', 'description', 'author', 'executor']
const WITH_KEYS = ['sandbox', 'timeout']
const EXECUTOR = 'orga'
/** Known to the language, and implemented by nothing. */
const HOSTED = 'e2b'

/** All of them, in the order of their places. Empty: the agent can be delegated to as far as its form goes. */
export function canonicalProblems(parsed: Parsed, agent: Agent): readonly Diagnostic[] {
  return limited([...fileProblems(parsed), ...placedProblems(agentProblems(agent), parsed.lines)])
}

const files = new WeakMap<Parsed, readonly Diagnostic[]>()

/** What all agents of a file share is looked for once, so that a file of a thousand agents costs no more than its length. */
function fileProblems(parsed: Parsed): readonly Diagnostic[] {
  const known = files.get(parsed)
  if (known !== undefined) return known
  const { items } = parsed.tree
  const found = [...items.flatMap(itemProblems), ...metadataProblems(items.filter((item) => item.kind === 'metadata'))]
  const problems = placedProblems(found, parsed.lines)
  files.set(parsed, problems)
  return problems
}

function itemProblems(item: Item): readonly Problem[] {
  if (item.kind === 'metadata' || item.kind === 'agent' || item.kind === 'policy') return []
  const what = `${item.kind} ${quoted(item.name.text)}`
  const span = { start: item.span.start, end: item.name.span.end }
  return [problem({ span }, `the file of an agent that is delegated to holds ${what}`, ITEMS_HINT)]
}

const ITEMS_HINT = 'Keep metadata, agents and policies in this file, and move everything else into another one'

function metadataProblems(blocks: readonly Metadata[]): readonly Problem[] {
  return blocks
    .flatMap(({ entries }) => entries)
    .flatMap((entry) => {
      const { key, value } = entry
      const name = key.text
      if (!METADATA_KEYS.includes(name)) {
        return [problem(key, `metadata ${quoted(name)} has no effect on an agent that is delegated to`, KEYS_HINT)]
      }
      if (value.kind === 'string') return executorProblems(entry)
      return [problem(value, `metadata ${quoted(name)} is no string`, `Write ${name}: "…"`)]
    })
}

export function executorProblems({ key, value }: Property): readonly Problem[] {
  if (key.text !== 'executor' || textOf(value) === EXECUTOR) return []
  return [problem(value, `there is no executor ${quoted(textOf(value) ?? 'of this kind')}`, EXECUTOR_HINT)]
}

const KEYS_HINT = `Keep ${METADATA_KEYS.join(', ')}; write anything else as a comment`
const EXECUTOR_HINT = `Write executor: "${EXECUTOR}", or leave it out`

function agentProblems({ parameters, returns, members }: Agent): readonly Problem[] {
  const first = parameters[0]
  const capabilities = members.filter((member) => member.kind === 'capabilities')
  return [
    ...(first === undefined ? [] : [problem(first, `the agent has a parameter ${quoted(first.name.text)}`, NO_INPUT)]),
    ...(returns === null
      ? []
      : [problem(returns, `the agent has a return type ${quoted(returns.name.text)}`, NO_INPUT)]),
    ...members
      .filter((member) => member.kind === 'function')
      .map(({ span, name }) => problem({ span }, `the agent has a function ${quoted(name.text)}`, NO_CODE)),
    ...capabilities.slice(1).map((again) => problem(again, 'the agent has a second list of capabilities', ONE_LIST)),
    ...capabilities.flatMap(capabilityProblems),
    ...members.filter((member) => member.kind === 'with').flatMap(withProblems),
  ]
}

const NO_INPUT = 'Write agent NAME {}; what it is asked to do comes as text with each task'
const NO_CODE = 'Code in an agent is not run; say in the description or in a comment what the agent should do'
const ONE_LIST = 'Write all of them in one list: capabilities = ["read", "write"]'

function capabilityProblems({ value }: Capabilities): readonly Problem[] {
  return value.items
    .filter(({ kind }) => kind !== 'string')
    .map((item) => problem(item, 'a capability is no string', 'Write capabilities = ["read", "write"]'))
}

function withProblems({ attributes, body }: With): readonly Problem[] {
  const code = body.statements[0] ?? body.value
  return [
    ...attributes.flatMap(attributeProblems),
    ...(code === null ? [] : [problem(code, 'the with-block holds code', `${NO_CODE}, and leave the block empty: {}`)]),
  ]
}

function attributeProblems({ key, value }: Property): readonly Problem[] {
  if (!WITH_KEYS.includes(key.text)) {
    return [problem(key, `the attribute ${quoted(key.text)} has no effect`, 'Only sandbox and timeout are enforced')]
  }
  return sandboxProblems({ key, value })
}

export function sandboxProblems({ key, value }: Pick<Property, 'key' | 'value'>): readonly Problem[] {
  if (key.text !== 'sandbox' || textOf(value)?.toLowerCase() !== HOSTED) return []
  return [problem(value, `the sandbox "${HOSTED}" does not exist here`, 'Choose "docker", "gvisor" or "firecracker"')]
}

function textOf(value: Expression): string | null {
  return value.kind === 'string' ? value.value : value.kind === 'name' ? value.text : null
}

function problem({ span }: { readonly span: Span }, message: string, hint: string): Problem {
  return { kind: 'unsupported', code: 'E180', span, message, hint, related: [] }
}

function quoted(text: string): string {
  return JSON.stringify(text.slice(0, 64))
}
