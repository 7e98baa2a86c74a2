/**
 * `symbi run`: one governed run of one agent, from the terminal. Its id and its evidence are told before the model is asked
 * anything; the exit code says how it ended, and the same id again says it again without running anything.
 */
import { type Command, Option } from 'commander'
import { CODES, Fault, type InvocationId, idOrNull, newId } from '../../core/index.ts'
import { type DelegationTarget, findAgentSource, runnableAgent } from '../../delegation/index.ts'
import { type AgentRun, openUpstreams, type Project, runAgent, type Upstreams } from '../../runtime/index.ts'
import { openApprovalTerminal, terminalNotifier } from '../approvals/approval-terminal.ts'
import { unknownApprovalTools } from '../approvals/unknown-approval-tools.ts'
import { addCommand, type Cli, type CommonOptions, type ExitCode } from '../cli.ts'
import { toolServerVariables } from '../mcp/variables.ts'
import { chooseModel } from '../model.ts'
import { projectPaths } from '../project/project-paths.ts'
import { type Config, optionsFor, readConfig } from '../settings/config.ts'
import { readyMadeOf } from '../settings/tool-settings.ts'
import { inputText } from '../standard-input.ts'
import { openGateBanner } from '../up/up-banner.ts'
import { noteUpstreams } from '../upstream-news.ts'
import { RunTeller } from './run-teller.ts'

const ITERATIONS_MAX = 1000

interface RunOptions {
  readonly input: string
  readonly agent?: string
  readonly maxIterations: string
  readonly invocationId?: string
}

export function register(program: Command, cli: Cli, exit: ExitCode): void {
  addCommand<RunOptions>(program, exit, {
    name: 'run',
    summary: 'run one agent once, under policy, and say where the evidence lies',
    args: [['<agent>', 'a name in the folder "agents", or a path']],
    options: [
      new Option('-i, --input <text>', 'what the agent is asked; "-" reads it from standard input').default('{}'),
      new Option('--agent <name>', 'which agent of a file that declares several'),
      new Option('--max-iterations <number>', 'how often the model may be asked').default('10'),
      new Option('--invocation-id <uuid>', 'the id of this run; the same id and input again runs nothing'),
      ...optionsFor('provider', 'approvalTerminal', 'approvalSecondsMax', 'insecureAllowAll'),
    ],
    action: (options, [name = '']) => run(cli, options, name),
  })
}

async function run(cli: Cli, options: RunOptions & CommonOptions, name: string): Promise<number> {
  const { world, console } = cli
  const maxIterations = iterationsOf(options.maxIterations)
  const id = idOf(options.invocationId) ?? newId('invocation', world.random)
  const input = options.input === '-' ? await inputText(console, 'the input') : options.input
  const project = await projectPaths(world, options.project)
  const { config, notes } = await readConfig(world, { root: project.root, flags: options, env: cli.env })
  for (const line of notes) console.note(line)
  for (const { problem } of await unknownApprovalTools(world, project.root, config.approvalTools)) {
    console.note(`warning: ${problem}`)
  }
  const found = await findAgentSource(world, project.root, name)
  const target = runnableAgent(options.agent === undefined ? found : { ...found, selector: options.agent })
  const teller = new RunTeller(cli, { ...options, target, input, id })
  teller.begin()
  return await governed(cli, { project, config, target, input, id, maxIterations }, teller)
}

interface Ready {
  readonly project: Project
  readonly config: Config
  readonly target: DelegationTarget
  readonly input: string
  readonly id: InvocationId
  readonly maxIterations: number
}

async function governed(cli: Cli, { config, ...ready }: Ready, teller: RunTeller): Promise<number> {
  const { world, console } = cli
  const cancel = new AbortController()
  let upstreams: Upstreams | null = null
  const tools = async () => {
    const env = await toolServerVariables(cli, ready.project.root)
    upstreams = await openUpstreams(world, ready.project, { env, report: (news) => noteUpstreams(console, news) })
    return upstreams.tools()
  }
  const stopListening = console.onInterrupt(() => {
    if (cancel.signal.aborted) return
    teller.cancelling()
    cancel.abort(new Fault('RUN_CANCELLED', { message: 'The run was cancelled before it began' }))
  })
  try {
    await using terminal = config.approvalTerminal ? await openApprovalTerminal(world) : null
    const hush = (): (() => void) => teller.hush()
    const ran = await runAgent(
      {
        world,
        ...ready,
        readyMade: readyMadeOf(config, config.headerVariables),
        tools,
        approvals: {
          tools: config.approvalTools,
          timeoutMs: config.approvalSecondsMax * 1000,
          notifiers: terminal === null ? [] : [terminalNotifier({ terminal, uid: world.files.uid, alone: true, hush })],
        },
        provider: async () => (await chooseModel(world, ready.project, config)).provider,
        ...(config.insecureAllowAll ? { insecureAllowAll: openGate(cli) } : {}),
        onPolicies: (news) => teller.policies(news),
        onOpened: (audit) => teller.opened(audit),
        onEntry: (entry) => teller.entry(entry),
      },
      cancel.signal,
    )
    teller.end(ran, cancel.signal.aborted)
    return exitOf(ran, cancel.signal.aborted)
  } finally {
    stopListening()
    teller.stop()
    await (upstreams as Upstreams | null)?.close()
  }
}

function exitOf(ran: AgentRun, cancelled: boolean): number {
  if (ran.kind === 'Recorded' && ran.result.completed) return 0
  if (cancelled) return CODES.RUN_CANCELLED.exit
  switch (ran.kind) {
    case 'Recorded':
      return CODES.LOOP_ERROR.exit
    case 'InProgress':
      return CODES.INVOCATION_IN_PROGRESS.exit
    case 'Unresolved':
      return CODES.INVOCATION_UNRESOLVED.exit
    case 'Reconciled':
      return CODES.INVOCATION_RECONCILED.exit
  }
}

function openGate({ console }: Cli): { readonly warn: (message: string) => void } {
  for (const line of openGateBanner()) console.note(line)
  return { warn: (message) => console.note(`POLICY IS SWITCHED OFF: ${message}`) }
}

function idOf(text: string | undefined): InvocationId | null {
  if (text === undefined) return null
  const id = idOrNull('invocation', text)
  if (id !== null) return id
  throw new Fault('INVALID_INVOCATION_ID', {
    message: `Cannot use the id ${JSON.stringify(text.slice(0, 80))}: it is not a UUID of 36 characters, or it is nil`,
    hint: 'Give a hyphenated UUID, such as the one that an earlier "symbi run" printed',
  })
}

function iterationsOf(text: string): number {
  const count = /^\d{1,4}$/.test(text) ? Number(text) : 0
  if (count >= 1 && count <= ITERATIONS_MAX) return count
  throw new Fault('USAGE', {
    message: `Cannot use --max-iterations ${JSON.stringify(text.slice(0, 40))}: it is not a number from 1 to ${ITERATIONS_MAX}`,
    hint: 'Give a whole number such as 10',
  })
}
