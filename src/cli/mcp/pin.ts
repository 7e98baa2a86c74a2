/**
 * `symbi mcp pin`: what the tools of a server look like now, beside what was pinned, line by line; and the acceptance of it.
 * Nothing is accepted that was not shown: what is written is what was read for the page.
 */

import { exposedName, type ToolState, writePins } from '../../upstream/index.ts'
import type { Cli, CommonOptions } from '../cli.ts'
import { jsonLine, oneLine } from '../plain-text.ts'
import { type ProjectPaths, projectPaths } from '../project/project-paths.ts'
import { columnsOf } from '../terminal.ts'
import { broken, differences } from './differences.ts'
import { type Looked, look, pinFileOf } from './look.ts'

export interface PinOptions {
  readonly yes?: true
}

export async function pin(cli: Cli, options: PinOptions & CommonOptions, name: string | null): Promise<number> {
  const project = await projectPaths(cli.world, options.project)
  const looked = await look(cli, project, name)
  if (looked.length === 0) cli.console.note('No tool servers are configured: docs/mcp-upstream.md says how')
  let open = 0
  for (const one of looked) {
    const settled = await settle(cli, project, one, options)
    if (!settled) open += 1
  }
  return open === 0 ? 0 : 1
}

/** True when nothing of the server is left to accept. */
async function settle(
  cli: Cli,
  project: ProjectPaths,
  { server, state }: Looked,
  options: PinOptions & CommonOptions,
): Promise<boolean> {
  const { console } = cli
  if (state.kind === 'Silent') {
    if (options.json) console.result(jsonLine({ server: server.name, state: 'unavailable', reason: state.reason }))
    else console.note(oneLine(`Cannot look at "${server.name}": ${state.reason}`))
    return false
  }
  const changes = state.tools.filter((tool) => ['new', 'changed', 'gone'].includes(tool.state))
  const isAccepted =
    changes.length > 0 && (options.yes === true || (await isAgreed(cli, server.name, changes, options)))
  if (isAccepted) {
    if (options.yes === true && !options.json) show(cli, server.name, changes)
    const pin = changes.flatMap(({ state, now }) => (state !== 'gone' && now !== null ? [now] : []))
    const gone = changes.flatMap(({ state, tool }) => (state === 'gone' ? [tool] : []))
    await writePins(cli.world, pinFileOf(project), server.name, { pin, gone }, new AbortController().signal)
  }
  if (options.json) for (const tool of state.tools) console.result(jsonLine(asObject(server.name, tool, isAccepted)))
  else say(cli, server.name, state.tools, changes, isAccepted)
  return (isAccepted || changes.length === 0) && state.tools.every((tool) => tool.state !== 'unusable')
}

async function isAgreed(
  cli: Cli,
  server: string,
  changes: readonly ToolState[],
  { json }: CommonOptions,
): Promise<boolean> {
  if (json) return false
  show(cli, server, changes)
  if (!cli.console.typed) return false
  cli.console.note(
    `Accept ${changes.length === 1 ? 'this' : `these ${changes.length}`} of "${server}"? Type "yes" and press Enter`,
  )
  for await (const line of cli.console.lines()) return line.trim().toLowerCase() === 'yes'
  return false
}

const MARGIN = 4

function show(cli: Cli, server: string, changes: readonly ToolState[]): void {
  const { console } = cli
  for (const { tool, state, reason, before, now } of changes) {
    console.result(oneLine(`${exposedName(server, tool)}: ${state}${reason === null ? '' : `, ${reason}`}`))
    for (const { sign, text } of differences(before, state === 'gone' ? null : now)) {
      const style = sign === '-' ? 'red' : sign === '+' ? 'green' : 'dim'
      for (const line of broken(text, columnsOf(cli) - MARGIN))
        console.result(console.paint(style, `  ${sign} ${line}`))
    }
  }
}

function say(
  { console }: Cli,
  server: string,
  tools: readonly ToolState[],
  changes: readonly ToolState[],
  isAccepted: boolean,
): void {
  for (const { tool, state, reason } of tools) {
    if (state === 'unusable') console.note(oneLine(`Cannot use "${tool}" of "${server}": ${reason ?? ''}`))
  }
  if (changes.length === 0)
    console.note(`"${server}": ${tools.filter(({ state }) => state === 'pinned').length} tools are as they were pinned`)
  else if (isAccepted) console.note(`"${server}": accepted. A running server takes it at its next start`)
  else console.note(`"${server}": not accepted. Accept it with "symbi mcp pin ${server} --yes", or on a terminal`)
}

function asObject(server: string, tool: ToolState, isAccepted: boolean): object {
  return { server, name: exposedName(server, tool.tool), ...tool, accepted: isAccepted && tool.state !== 'unusable' }
}
