/**
 * `symbi mcp`: the tool servers that a project uses. A command that serves tools itself can be added to the group as what it
 * does when none is named (`isDefault`).
 */
import { Command, Option } from 'commander'
import { addCommand, type Cli, type ExitCode } from '../cli.ts'
import { type PinOptions, pin } from './pin.ts'
import { tools } from './tools.ts'

export function register(program: Command, cli: Cli, exit: ExitCode): void {
  const mcp = new Command('mcp').description('look at the tool servers of the project, and accept their changes')
  program.addCommand(mcp)
  addCommand<PinOptions>(mcp, exit, {
    name: 'pin',
    summary: 'show what changed in the tools of a server, and accept it; exits 1 when something is not accepted',
    args: [['[server]', 'the name of a configured server (default: all of them)']],
    options: [new Option('--yes', 'accept without asking')],
    action: (options, [server]) => pin(cli, options, server ?? null),
  })
  addCommand<object>(mcp, exit, {
    name: 'tools',
    summary: 'list the configured servers, their tools and whether each can be used; changes nothing',
    action: (options) => tools(cli, options),
  })
}
