/**
 * The command line: which commands exist, and how a failure looks. Each command loads when it is asked for, so that
 * `symbi up` loads no chat client. (`symbi --version` alone is answered at the door, in `bin/`.) Usage errors exit 64; a Fault exits as its row says.
 */
import type { Command } from 'commander'
import { CODES, Fault, VERSION } from '../core/index.ts'
import type { Cli, ExitCode } from './cli.ts'
import { oneLine } from './plain-text.ts'

type Register = (program: Command, cli: Cli, exit: ExitCode) => void
type Load = () => Promise<{ readonly register: Register }>
const COMMANDS: { readonly [name: string]: Load } = {
  init: () => import('./init/init.ts'),
  run: () => import('./run/run.ts'),
  up: () => import('./up/up.ts'),
  chat: () => import('./chat/chat.ts'),
  keys: () => import('./keys.ts'),
  approvals: () => import('./approvals/approvals.ts'),
  audit: () => import('./audit/audit.ts'),
  invocation: () => import('./invocation.ts'),
  policy: () => import('./policy/policy.ts'),
  mcp: () => import('./mcp/mcp.ts'),
  dsl: () => import('./dsl/dsl.ts'),
  fmt: () => import('./fmt/fmt.ts'),
  doctor: () => import('./doctor/doctor.ts'),
}

export async function run(argv: readonly string[], cli: Cli): Promise<number> {
  const json = argv.includes('--json')
  try {
    return await dispatch(argv, cli)
  } catch (error) {
    return report(error, cli, json)
  }
}

async function dispatch(argv: readonly string[], cli: Cli): Promise<number> {
  const { Command, CommanderError } = await import('commander')
  const program = new Command('symbi')
    .description('Runs tool-using agents under policy, with evidence that verifies.')
    .version(VERSION, '-V, --version', 'print the version')
    .exitOverride()
    .showSuggestionAfterError()
    .configureOutput({
      writeOut: (text) => cli.console.result(text.trimEnd()),
      writeErr: (text) => cli.console.note(text.trimEnd()),
      outputError: () => undefined, // a usage error is reported like every other failure, with its code
    })
  const exit: ExitCode = { code: 0 }
  const asked = COMMANDS[argv[0] ?? '']
  const rows = asked === undefined ? Object.values(COMMANDS) : [asked] // all of them for help and for a misspelt name
  for (const load of rows) (await load()).register(program, cli, exit)
  inherit(program)
  try {
    await program.parseAsync(['node', 'symbi', ...argv])
    return exit.code
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    if (error.code.startsWith('commander.help')) return error.exitCode === 0 ? 0 : CODES.USAGE.exit
    if (error.exitCode === 0) return 0
    throw usage(error.message)
  }
}

/** Commander says "error: unknown option '--prot'", and on a line of its own what was perhaps meant. */
function usage(text: string): Fault {
  const [reason = '', ...guesses] = text.replace(/^error: /, '').split('\n')
  const guess = guesses.join(' ').replace(/^\((.*)\)$/, '$1')
  return new Fault('USAGE', {
    message: `Cannot understand the command: ${reason}`,
    hint: guess === '' ? 'Add --help to see what the command takes' : guess,
  })
}

/** Commander's settings do not reach commands that were added whole. */
function inherit(command: Command): void {
  for (const child of command.commands) {
    child.copyInheritedSettings(command)
    inherit(child)
  }
}

function report(error: unknown, cli: Cli, json: boolean): number {
  const known = error instanceof Fault
  const code = known ? error.code : 'INTERNAL'
  const message = known ? error.message : CODES.INTERNAL.says
  const hint = known ? error.hint : 'Please report it with the lines below'
  if (json)
    cli.console.note(
      JSON.stringify({ error: message, code, details: { hint: hint ?? null, ...(known ? error.facts : {}) } }),
    )
  else {
    cli.console.note(`${code}: ${oneLine(message)}`) // what it quotes may come from a file or from a server
    if (hint !== undefined) cli.console.note(`hint: ${oneLine(hint)}`)
  }
  if (!known && error instanceof Error && error.stack !== undefined && !json) cli.console.note(error.stack)
  return CODES[code].exit
}
