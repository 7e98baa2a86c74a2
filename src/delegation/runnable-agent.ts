/** An agent that a person starts by name: selected in its source and ready to run, or a Fault with every place that hinders. */
import { Fault } from '../core/index.ts'
import { parse, selectAgent } from '../dsl/index.ts'
import type { FoundSource } from './find-agent.ts'
import { placed } from './places.ts'
import type { DelegationTarget } from './target.ts'
import { judgeOf } from './usable-agent.ts'

const SHOWN_MAX = 3

/** Throws `SOURCE_INVALID`, `AGENT_AMBIGUOUS` or `AGENT_UNKNOWN`. */
export function runnableAgent({ file, text, selector }: FoundSource): DelegationTarget {
  const parsed = parse(text)
  const { agent, name } = selectAgent(parsed, selector, `"${file}"`)
  const judged = judgeOf(parsed, 'lenient')(agent)
  if (judged.kind === 'Usable') return judged.target
  const { problems } = judged
  const shown = problems.slice(0, SHOWN_MAX).map((problem) => placed(file, problem))
  const more = problems.length > SHOWN_MAX ? [`and ${problems.length - SHOWN_MAX} more`] : []
  throw new Fault('SOURCE_INVALID', {
    message: `Cannot run agent "${name}": ${[...shown, ...more].join('; ')}`,
    ...(problems[0].hint === null ? {} : { hint: problems[0].hint }),
  })
}
