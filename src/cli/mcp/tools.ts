/**
 * `symbi mcp tools`: a table of what each configured server offers, and what may be used of it. Exits with 1 where a tool that is
 * exposed is left out, or a server does not answer.
 */
import { exposedName, type ToolState, type UpstreamServer } from '../../upstream/index.ts'
import type { Cli, CommonOptions } from '../cli.ts'
import { jsonLine, oneLine } from '../plain-text.ts'
import { projectPaths } from '../project/project-paths.ts'
import { columnsOf } from '../terminal.ts'
import { fittedTable } from '../text-table.ts'
import { type Looked, look } from './look.ts'

export async function tools(cli: Cli, options: CommonOptions): Promise<number> {
  const { console } = cli
  const looked = await look(cli, await projectPaths(cli.world, options.project), null)
  const rows = looked.flatMap(rowsOf)
  if (options.json) for (const row of rows) console.result(jsonLine(row))
  else if (rows.length === 0) console.note('No tool servers are configured: docs/mcp-upstream.md says how')
  else {
    const cells = rows.map(({ server, tool, state, reason }) => [
      server,
      oneLine(tool ?? '', 128),
      state,
      oneLine(reason ?? ''),
    ])
    const table = fittedTable([['SERVER', 'TOOL', 'STATE', 'REASON'], ...cells], columnsOf(cli))
    for (const line of table) console.result(line)
  }
  return looked.every(({ state }) => state.kind === 'Answered') && rows.every(({ usable }) => usable !== false) ? 0 : 1
}

interface Row {
  readonly server: string
  /** The name under which policy knows it; for what is not exposed, the server's own. */
  readonly tool: string | null
  readonly state: string
  readonly reason: string | null
  /** False where the configuration exposes it and it is left out; null where it does not. */
  readonly usable: boolean | null
}

function rowsOf({ server, state }: Looked): readonly Row[] {
  const { name } = server
  if (state.kind === 'Silent') {
    return [{ server: name, tool: null, state: 'unavailable', reason: state.reason, usable: false }]
  }
  const isKnown = state.tools.some(({ before }) => before !== null)
  return [
    ...state.tools.map((tool) => ({
      server: name,
      tool: exposedName(name, tool.tool),
      state: tool.state,
      ...standing(server, tool, isKnown),
    })),
    ...state.notExposed.map((tool) => {
      return { server: name, tool: oneLine(tool, 128), state: 'not exposed', reason: null, usable: null }
    }),
  ]
}

/** Whether a run that starts now has the tool, as the rules for pins say, and if not, why. */
function standing(
  { name, expose }: UpstreamServer,
  { tool, state, reason }: ToolState,
  isKnown: boolean,
): Pick<Row, 'reason' | 'usable'> {
  const pinning = `until it is accepted with "symbi mcp pin ${name}"`
  switch (state) {
    case 'pinned':
      return { reason, usable: true }
    case 'new':
      if (expose === '*' && isKnown)
        return { reason: `added after the others were pinned: left out ${pinning}`, usable: false }
      return { reason: 'pinned at its first use', usable: true }
    case 'changed':
      return { reason: `it is not as it was pinned: left out ${pinning}`, usable: false }
    case 'gone':
      return { reason, usable: expose === '*' || !expose.includes(tool) ? null : false }
    case 'unusable':
      return { reason, usable: false }
  }
}
