/**
 * Everything that is wrong with a source for every route: what the grammar says, what contradicts itself, and what nobody
 * here could enforce. What only a delegated agent may not hold is said by `canonicalProblems`, agent by agent.
 */
import { sandboxProblems } from './canonical.ts'
import { blockProblems, isBlock } from './check/blocks.ts'
import { metadataProblems } from './check/metadata.ts'
import { longNames, repeatedNames } from './check/names.ts'
import { withSettings } from './check/with-settings.ts'
import { inlinePolicyDiagnostics } from './compile-policy.ts'
import type { Diagnostic } from './diagnostic.ts'
import type { Parsed } from './parse.ts'
import { diagnosticsOf, limited, type Problem } from './problems.ts'
import type { Agent, Span } from './tree.ts'

/** In the order of their places, at most 100. Never throws. */
export function checkSource(parsed: Parsed): readonly Diagnostic[] {
  const { tree } = parsed
  const problems = [
    ...metadataProblems(tree),
    ...repeatedNames(tree),
    ...longNames(tree),
    ...tree.items.filter((item) => item.kind === 'agent').flatMap(agentProblems),
    ...tree.items.filter(isBlock).flatMap((block) => blockProblems(block, isHurt(parsed, block.span))),
  ]
  return limited([...parsed.diagnostics, ...diagnosticsOf(problems, parsed.lines), ...inlinePolicyDiagnostics(parsed)])
}

function agentProblems(agent: Agent): readonly Problem[] {
  const attributes = agent.members.flatMap((member) => (member.kind === 'with' ? member.attributes : []))
  return [...withSettings(agent).problems, ...attributes.flatMap(sandboxProblems)]
}

/** Whether something in there does not follow the grammar. */
function isHurt({ diagnostics, lines }: Parsed, span: Span): boolean {
  const [from, to] = [lines.positionAt(span.start).offset, lines.positionAt(span.end).offset]
  return diagnostics.some(({ start }) => start.offset >= from && start.offset < to)
}
