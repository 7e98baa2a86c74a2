/**
 * `symbi mcp`: the tools of an agent for an MCP client, and the tool servers that a project uses. Without the name of a command
 * it serves one client on standard input and output.
 */
import { Command, Option } from 'commander'
import { addCommand, type Cli, type ExitCode } from '../cli.ts'
import { optionsFor } from '../settings/config.ts'
import { type PinOptions, pin } from './pin.ts'
import { type ServeOptions, serveMcp } from './serve.ts'
import { tools } from './tools.ts'

const WITHOUT_COMMAND = `
Without the name of a command, "symbi mcp --agent NAME" serves one client: --agent
is required, and "symbi mcp serve --help" shows every option.`

export function register(program: Command, cli: Cli, exit: ExitCode): void {
  const mcp = new Command('mcp').description(
    'serve governed tools to MCP clients, and look after the servers of others',
  )
  mcp.addHelpText('after', WITHOUT_COMMAND)
  program.addCommand(mcp)
  addCommand<ServeOptions>(mcp, exit, {
    name: 'serve',
    summary: 'serve one client on standard input and output; what "symbi mcp" does by itself',
    isDefault: true,
    options: [
      new Option(
        '--agent <name>',
        'whom the client acts as: a name in the folder "agents", or a path',
      ).makeOptionMandatory(),
      new Option('--tools <list>', 'names of the tools that are offered, comma-separated (default: all)'),
      new Option('--max-calls <number>', 'calls of the session, refused ones included').default('1000'),
      new Option('--timeout <seconds>', 'how long the session may last').default('28800'),
      new Option('--tool-timeout <seconds>', 'how long one call may take').default('30'),
      ...optionsFor('approvalTerminal', 'insecureAllowAll', 'logLevel'),
    ],
    action: (options) => serveMcp(cli, options),
  })
  addCommand<PinOptions>(mcp, exit, {
    name: 'pin',
    summary: 'show what changed in the tools of a server, and accept it; exits 1 when something is not accepted',
    args: [['[server]', 'the name of a configured server (default: all of them)']],
    options: [new Option('--yes', 'accept without asking')],
    action: (options, [server]) => pin(cli, options, server ?? null),
  })
  addCommand<object>(mcp, exit, {
    name: 'tools',
    summary:
      'list the configured servers, their tools and whether each can be used; changes nothing; exits 1 when one cannot',
    action: (options) => tools(cli, options),
  })
}
