/**
 * `symbi dsl`: what a source says, item by item, in its own words, and what each agent comes to. With `--json` one object a
 * source, with its syntax tree, for editors and scripts. Findings go to stderr: `--check` is what judges.
 */
import type { Agent, Item, Member } from '../../dsl/index.ts'
import type { Cli } from '../cli.ts'
import { jsonLine, oneLine } from '../plain-text.ts'
import { type Examined, examine, type ResolvedAgent } from './examine.ts'
import { findingLines, findingRow } from './findings.ts'
import { namesFor } from './names-for.ts'
import type { SourceText } from './source-files.ts'

/** Exits 1 when a text does not follow the grammar, and 0 for whatever can be read, refused or not. */
export async function describeSources(
  cli: Cli,
  sources: AsyncIterable<SourceText>,
  { project, json }: { readonly project: string; readonly json: boolean },
): Promise<number> {
  const namesOf = namesFor(cli.world, project)
  let exit = 0
  for await (const source of sources) {
    const examined = await examine(cli.world, source, await namesOf(source.name))
    const { findings, parsed, agents } = examined
    if (findings.some(({ diagnostic }) => diagnostic.kind === 'syntax')) exit = 1
    if (json) {
      const diagnostics = findings.map(findingRow)
      cli.console.result(jsonLine({ file: source.name, diagnostics, tree: parsed?.tree ?? null, agents }))
    } else {
      for (const line of describe(examined)) cli.console.result(line)
      for (const line of findings.flatMap((finding) => findingLines(finding, examined, cli.console.paint))) {
        cli.console.note(line)
      }
    }
  }
  return exit
}

function describe({ name, text, parsed, agents }: Examined): readonly string[] {
  if (parsed === null) return [oneLine(name)]
  const words = (node: { readonly span: { readonly start: number; readonly end: number } }): string =>
    oneLine(text.slice(node.span.start, node.span.end), WORDS_MAX)
  const byName = new Map(agents.map((agent) => [agent.name, agent]))
  return [oneLine(name), ...parsed.tree.items.flatMap((item) => itemLines(item, words, byName))]
}

const WORDS_MAX = 100
type Words = (node: { readonly span: { readonly start: number; readonly end: number } }) => string

function itemLines(item: Item, words: Words, agents: ReadonlyMap<string, ResolvedAgent>): readonly string[] {
  switch (item.kind) {
    case 'metadata':
      return ['  metadata', ...item.entries.map((entry) => `    ${words(entry)}`)]
    case 'agent':
      return agentLines(item, words, agents.get(item.name.text))
    case 'policy':
      return [
        `  policy ${item.name.text}, for every agent of the file`,
        ...item.rules.map((rule) => `    ${words(rule)}`),
      ]
    case 'schedule':
      return [`  schedule ${item.name.text}`, ...item.entries.map((entry) => `    ${words(entry)}`)]
    case 'channel':
    case 'memory':
    case 'webhook':
      return [`  ${item.kind} ${item.name.text}`, ...item.members.map((member) => `    ${words(member)}`)]
    case 'type':
    case 'function':
      return [`  ${item.kind} ${item.name.text}, which is not run`]
  }
}

function agentLines(agent: Agent, words: Words, resolved: ResolvedAgent | undefined): readonly string[] {
  const members = agent.members.flatMap((member) => memberLines(member, words))
  return [`  agent ${agent.name.text}`, ...members, ...(resolved === undefined ? [] : [`    ${comesTo(resolved)}`])]
}

function memberLines(member: Member, words: Words): readonly string[] {
  switch (member.kind) {
    case 'capabilities':
      return [`    ${words(member)}`]
    case 'with':
      return [`    with ${member.attributes.map(words).join(', ')}`]
    case 'policy':
      return [`    policy ${member.name.text}`, ...member.rules.map((rule) => `      ${words(rule)}`)]
    case 'function':
      return [`    function ${member.name.text}, which is not run`]
  }
}

function comesTo({ sandbox_tier, timeout_seconds, governed, why_not }: ResolvedAgent): string {
  const limit = timeout_seconds === null ? 'the time of its caller' : `at most ${timeout_seconds} s`
  const delegation = governed ? 'can be delegated to' : `cannot be delegated to: ${oneLine(why_not ?? '', WORDS_MAX)}`
  return `= sandbox ${sandbox_tier ?? 'of the project'}, ${limit}; ${delegation}`
}
