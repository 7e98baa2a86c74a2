/** `symbi mcp tools`: a table of what each configured server offers, and what may be used of it. */
import { exposedName } from '../../upstream/index.ts'
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
      oneLine(reason ?? '', REASON_COLUMNS_MAX),
    ])
    const table = fittedTable([['SERVER', 'TOOL', 'STATE', 'REASON'], ...cells], columnsOf(cli))
    for (const line of table) console.result(line)
  }
  return looked.every(({ state }) => state.kind === 'Answered') ? 0 : 1
}

const REASON_COLUMNS_MAX = 400

interface Row {
  readonly server: string
  /** The name under which policy knows it; for what is not exposed, the server's own. */
  readonly tool: string | null
  readonly state: string
  readonly reason: string | null
}

function rowsOf({ server, state }: Looked): readonly Row[] {
  const { name } = server
  if (state.kind === 'Silent') return [{ server: name, tool: null, state: 'unavailable', reason: state.reason }]
  return [
    ...state.tools.map(({ tool, state, reason }) => ({ server: name, tool: exposedName(name, tool), state, reason })),
    ...state.notExposed.map((tool) => ({ server: name, tool: oneLine(tool, 128), state: 'not exposed', reason: null })),
  ]
}
