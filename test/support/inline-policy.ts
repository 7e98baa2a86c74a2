/** Inline policies for tests, compiled from text as an author writes it. */
import {
  type Agent,
  compileInlinePolicy,
  type Diagnostic,
  type InlinePolicy,
  type Parsed,
  parse,
} from '../../src/dsl/index.ts'

/** The policy of the first agent of a source. Throws with what is wrong when it does not compile. */
export function policyIn(source: string): InlinePolicy {
  const { policy, diagnostics } = compiledIn(source)
  if (policy === null)
    throw new Error(`the source of the test does not compile: ${JSON.stringify(diagnostics, null, 1)}`)
  return policy
}

export function compiledIn(
  source: string,
  name?: string,
): { policy: InlinePolicy | null; diagnostics: readonly Diagnostic[] } {
  const parsed = parse(source)
  const { policy, diagnostics } = compileInlinePolicy(parsed, agentOf(parsed, name))
  return { policy, diagnostics: [...parsed.diagnostics, ...diagnostics] }
}

function agentOf({ tree }: Parsed, name?: string): Agent {
  const agent = tree.items.find(
    (item): item is Agent => item.kind === 'agent' && (name ?? item.name.text) === item.name.text,
  )
  if (agent === undefined) throw new Error('the source of the test declares no such agent')
  return agent
}
