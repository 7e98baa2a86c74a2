/** `symbi policy`: what policy would say of one call, and what is wrong with the policies. Judges; runs nothing. */
import { Command, Option } from 'commander'
import { addCommand, type Cli, type ExitCode } from '../cli.ts'
import { type CheckOptions, check } from './check.ts'
import { type EvaluateFlags, evaluate } from './evaluate.ts'
import { type ExplainFlags, explain } from './explain.ts'
import { type ReplayFlags, replay } from './replay.ts'

export function register(program: Command, cli: Cli, exit: ExitCode): void {
  const policy = new Command('policy').description('try out and check policies')
  program.addCommand(policy)
  addCommand<EvaluateFlags>(policy, exit, {
    name: 'evaluate',
    summary: 'what policy decides about one call; exits 0 for any decision, 2 for bad input',
    options: [
      new Option('--input <file>', 'the call, as JSON: {"tool":"…","arguments":{}} or {"delegate":"…","task":"…"}'),
      new Option('--stdin', 'read the call from standard input'),
      new Option('--policies <dir>', 'the policy folder (default: policies of the project)'),
      new Option(
        '--surface <name>',
        'which surface asks, and so which folder is read beside the shared files: coordinator, run, mcp-server, or another folder',
      ).default('coordinator'),
      new Option('--allow-missing', 'allow when there is no policy at all'),
    ],
    action: (options) => evaluate(cli, options),
  })
  addCommand<ExplainFlags>(policy, exit, {
    name: 'explain',
    summary: 'which inline policy and rule of an agent decide about one call; exits 0 for any decision',
    options: [
      new Option('--agent <name>', 'a name in the folder "agents", or a path').makeOptionMandatory(),
      new Option(
        '--call <file>',
        'the call, as JSON: {"name":"…","arguments":{}} or {"agent":"…","task":"…"}',
      ).makeOptionMandatory(),
    ],
    action: (options) => explain(cli, options),
  })
  addCommand<ReplayFlags>(policy, exit, {
    name: 'replay',
    summary: 'which recorded decisions other policies would change; exits 3 when there are any',
    args: [['[journal...]', 'journals, or folders of journals (default: those of the project)']],
    options: [
      new Option('--policies <dir>', 'the candidate folder of policies (default: policies of the project)'),
      new Option('--surface <name>', 'judge every run as one of this surface (default: as its journal says)'),
      new Option('--public-key <hex>', "the key that was kept elsewhere (default: the project's own)"),
      new Option('--all', 'show also decisions that stay, and that other policies would make'),
    ],
    action: (options, journals) => replay(cli, options, journals),
  })
  addCommand<CheckOptions>(policy, exit, {
    name: 'check',
    summary: 'errors and warnings with their lines; exits 1 when a policy is not valid',
    args: [['[path...]', 'policy folders or files (default: policies of the project)']],
    action: (options, paths) => check(cli, options, paths),
  })
}
