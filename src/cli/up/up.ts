/**
 * `symbi up`: a project behind a port, until somebody asks it to stop.
 *
 * The first signal drains, the second cancels now; either way every run has recorded its end before the process leaves, and
 * the exit code is 0. A failure that nobody caught leaves the process in a state that nobody knows: it is logged, what runs
 * is cancelled, and the exit code is 70. With `--json` stdout holds one line, when the server is ready.
 */
import type { Command } from 'commander'
import { CODES } from '../../core/index.ts'
import { type AgentRegistry, shownName } from '../../delegation/index.ts'
import type { PolicyNews } from '../../policy/index.ts'
import { openRuntime, openUpstreams, type Service, serve } from '../../runtime/index.ts'
import { type Log, RATE_LIMIT, stderrLog } from '../../server/index.ts'
import type { World } from '../../world/index.ts'
import { openApprovalTerminal, terminalNotifier } from '../approvals/approval-terminal.ts'
import { addCommand, type Cli, type CommonOptions, type ExitCode } from '../cli.ts'
import { toolServerVariables } from '../mcp/variables.ts'
import { chooseModel } from '../model.ts'
import { logPolicies } from '../policy-news.ts'
import { projectPaths } from '../project/project-paths.ts'
import { type Config, optionsFor, readConfig, SETTING_NAMES } from '../settings/config.ts'
import { readyMadeOf } from '../settings/tool-settings.ts'
import { columnsOf } from '../terminal.ts'
import { type Stopping, watchForTheEnd } from '../the-end.ts'
import { logUpstreams } from '../upstream-news.ts'
import { accessOf } from './access.ts'
import { banner, openGateBanner } from './up-banner.ts'

export function register(program: Command, cli: Cli, exit: ExitCode): void {
  addCommand<object>(program, exit, {
    name: 'up',
    summary: 'serve the project: HTTP API and chat on one port',
    options: optionsFor(...SETTING_NAMES),
    action: (options) => up(cli, options),
  })
}

async function up(cli: Cli, options: CommonOptions): Promise<number> {
  const { world, console } = cli
  const project = await projectPaths(world, options.project)
  const { config, notes } = await readConfig(world, { root: project.root, flags: options, env: cli.env })
  for (const line of notes) console.note(line)
  const level = config.logLevel ?? (console.interactive ? 'warn' : 'info')
  await using log = await stderrLog(level, world)
  const stopping = watchForTheEnd(cli, log)
  try {
    const model = await chooseModel(world, project, config)
    await using terminal = config.approvalTerminal ? await openApprovalTerminal(world) : null
    let policies: PolicyNews | null = null
    await using upstreams = await openUpstreams(world, project, {
      env: await toolServerVariables(cli, project.root),
      report: (news) => logUpstreams(log, news),
    })
    if (config.approvalTools.length > 0) await logUnknownTools(log, world, project.root, config.approvalTools)
    const runtime = await openRuntime({
      world,
      project: project.root,
      provider: model.provider,
      readyMade: readyMadeOf(config, config.headerVariables),
      tools: upstreams.tools(),
      approvals: {
        tools: config.approvalTools,
        timeoutMs: config.approvalSecondsMax * 1000,
        notifiers: terminal === null ? [] : [terminalNotifier({ terminal, uid: world.files.uid, alone: false })],
      },
      onPolicies: (news) => {
        policies = news
        logPolicies(log, news)
      },
      report: (what, error) => log.write('error', what, { error }),
      ...(config.insecureAllowAll ? { insecureAllowAll: openGate(cli, log) } : {}),
    })
    logAgents(log, runtime.agents)
    try {
      const service = await serve(runtime, { ...serveOptions(config), log })
      try {
        const { url, chatUrl } = service.server
        const access = await accessOf(world, project, config)
        const facts = {
          url,
          chatUrl,
          project,
          policies,
          agents: runtime.agents,
          model,
          access,
          approvals: { tools: config.approvalTools, onTerminal: terminal !== null },
          columns: columnsOf(cli),
          paint: console.paint,
        }
        const lines = options.json ? [JSON.stringify({ event: 'listening', api: url, ws: chatUrl })] : banner(facts)
        for (const line of lines) console.result(line)
        return await untilTheEnd(service, stopping, cli, options.json === true, log)
      } finally {
        await service.cancelNow() // nothing is left of it unless something failed above
      }
    } finally {
      await runtime.close()
    }
  } finally {
    stopping.forget()
  }
}

async function logUnknownTools(log: Log, world: World, root: string, listed: readonly string[]): Promise<void> {
  const { unknownApprovalTools } = await import('../approvals/unknown-approval-tools.ts')
  for (const { name, problem } of await unknownApprovalTools(world, root, listed)) {
    log.write('warn', 'nothing is held for a name in approvals.tools', { name, problem })
  }
}

/** As many as somebody reads: thousands of files are one fault, and are not mended name by name. */
const AGENTS_LOGGED_MAX = 64

function logAgents(log: Log, { unavailable, problem }: AgentRegistry): void {
  if (problem !== null) {
    log.write('warn', 'the folder of agents exceeds a limit', { code: problem.code, problem: problem.message })
  }
  for (const [name, reason] of [...unavailable].slice(0, AGENTS_LOGGED_MAX)) {
    log.write('warn', 'agent cannot be used', { name: shownName(name), reason })
  }
  const more = unavailable.size - AGENTS_LOGGED_MAX
  if (more > 0) log.write('warn', 'more agents cannot be used', { count: more })
}

function serveOptions(config: Config): Omit<Parameters<typeof serve>[1], 'log'> {
  const { host, port, corsOrigins, trustedProxies, requestsPerMinuteMax, requestsAtOnceMax } = config
  return {
    host,
    port,
    corsOrigins,
    trustedProxies,
    rateLimit:
      requestsPerMinuteMax === null
        ? null
        : { perMinute: requestsPerMinuteMax, burst: requestsAtOnceMax, clientsMax: RATE_LIMIT.clientsMax },
    ...(config.apiKeysFile === null ? {} : { keyFile: config.apiKeysFile }),
    ...(config.legacyToken === null ? {} : { legacyToken: config.legacyToken }),
    refuseLegacyToken: config.refuseLegacyToken,
    rejectLegacyKeys: config.rejectLegacyKeys,
    production: config.environment === 'production',
  }
}

function openGate({ console }: Cli, log: Log): { readonly warn: (message: string) => void } {
  for (const line of openGateBanner()) console.note(line)
  return { warn: (message) => log.write('warn', 'policy is switched off', { message }) }
}

async function untilTheEnd(
  service: Service,
  { first, second }: Stopping,
  { console }: Cli,
  json: boolean,
  log: Log,
): Promise<number> {
  const end = await first
  if (end === 'broken') {
    await service.cancelNow()
    return CODES.INTERNAL.exit
  }
  log.write('info', 'stopping', { connections: service.server.connections })
  if (!json) console.note('Stopping: new work is refused, and what runs has 10 seconds. Again cancels it now')
  void second.then(() => service.cancelNow().catch(() => undefined)) // `close` below tells how it went
  await service.close()
  if (!json) console.note('Stopped')
  return 0
}
