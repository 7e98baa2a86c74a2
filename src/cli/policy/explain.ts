/**
 * `symbi policy explain`: what the inline policy of one agent says of one call, rule by rule, with the values that its
 * conditions saw. The call is prepared as it would be in a run; nothing is executed, and nobody else is asked.
 */
import { findAgentSource, runnableAgent } from '../../delegation/index.ts'
import { evaluateInline, questionOf, restrictedBy } from '../../policy/index.ts'
import type { Cli, CommonOptions } from '../cli.ts'
import { folderPaths } from '../project/project-paths.ts'
import { callInFile } from './call-file.ts'
import { namedCall } from './named-call.ts'
import { showExplanation } from './show-explanation.ts'
import { toolsFor } from './tools-for.ts'

export interface ExplainFlags {
  readonly agent: string
  readonly call: string
}

export async function explain(cli: Cli, options: ExplainFlags & CommonOptions): Promise<number> {
  const { root } = await folderPaths(cli.world, options.project)
  const found = await findAgentSource(cli.world, root, options.agent)
  const agent = runnableAgent(found)
  const named = namedCall(await callInFile(cli, options.call))
  const { box: tools, stranger, reason } = await toolsFor(cli.world, root, named.action)
  const box = restrictedBy(tools, agent.policy)
  const question = questionOf(box.prepare(named.action, box.definitions()), {
    agent_id: named.principal ?? agent.principal,
    trusted_context: { ...named.context, ...box.context() },
  })
  const ruling = evaluateInline(agent.policy, question)
  showExplanation(cli.console, { agent, file: found.file, question, stranger, reason, ruling }, options.json === true)
  return 0
}
