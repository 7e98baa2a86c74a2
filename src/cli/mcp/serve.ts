/**
 * One client on standard input and output, as MCP clients start their servers: one governed session for the life of this
 * process. Stdout carries the protocol and nothing else; what a person should know goes to stderr.
 *
 * The client ends it by closing its end, which lets running calls finish; a signal interrupts them. Either way the end of the
 * session is recorded before the process leaves: 0 after a clean end, and what the fault says after another one.
 */
import { serveStdio } from '../../broker/index.ts'
import { CODES, Fault, isFault, messageOf } from '../../core/index.ts'
import type { ApprovalQueue } from '../../policy/index.ts'
import { openToolSession, openUpstreams, type ToolSession } from '../../runtime/index.ts'
import { type Log, stderrLog } from '../../server/index.ts'
import { unknownApprovalTools } from '../approvals/unknown-approval-tools.ts'
import type { Cli, CommonOptions } from '../cli.ts'
import { jsonLine, oneLine } from '../plain-text.ts'
import { logPolicies } from '../policy-news.ts'
import { projectPaths } from '../project/project-paths.ts'
import { readConfig } from '../settings/config.ts'
import { readyMadeOf } from '../settings/tool-settings.ts'
import { watchForTheEnd } from '../the-end.ts'
import { openGateBanner } from '../up/up-banner.ts'
import { logUpstreams } from '../upstream-news.ts'
import { openDesk } from './desk.ts'
import { toolServerVariables } from './variables.ts'

export interface ServeOptions {
  readonly agent: string
  readonly tools?: string
  readonly maxCalls: string
  readonly timeout: string
  readonly toolTimeout: string
}

export async function serveMcp(cli: Cli, options: ServeOptions & CommonOptions): Promise<number> {
  const { world, console } = cli
  const bounds = boundsOf(options)
  const project = await projectPaths(world, options.project)
  const { config, notes } = await readConfig(world, { root: project.root, flags: options, env: cli.env })
  for (const line of notes) console.note(line)
  await using log = await stderrLog(config.logLevel ?? 'warn', world)
  const stop = new AbortController()
  const stopping = watchForTheEnd(cli, log)
  let broken = false
  void stopping.first.then((end) => {
    broken = end === 'broken'
    stop.abort(new Fault('RUN_CANCELLED', { message: 'The session was ended before it began' }))
  })
  try {
    await using upstreams = await openUpstreams(world, project, {
      env: await toolServerVariables(cli, project.root),
      report: (news) => logUpstreams(log, news),
    })
    for (const { name, problem } of await unknownApprovalTools(world, project.root, config.approvalTools)) {
      log.write('warn', 'nothing is held for a name in approvals.tools', { name, problem })
    }
    await using desk = await openDesk(world, project, config.approvalTerminal, log)
    const session = await openToolSession(
      {
        world,
        project: project.root,
        agent: options.agent,
        ...bounds,
        tools: upstreams.tools(),
        readyMade: readyMadeOf(config, config.headerVariables),
        queue: desk.queue,
        approvalTools: config.approvalTools,
        client: { transport: 'stdio' },
        onPolicies: (news) => logPolicies(log, news),
        ...(config.insecureAllowAll ? { insecureAllowAll: openGate(cli, log) } : {}),
      },
      stop.signal,
    )
    const problem = await served(cli, { session, held: desk.queue, log, json: options.json === true }, stop.signal)
    return broken ? CODES.INTERNAL.exit : exitOf(cli, problem, session)
  } finally {
    stopping.forget()
  }
}

interface Serving {
  readonly session: ToolSession
  readonly held: ApprovalQueue | null
  readonly log: Log
  readonly json: boolean
}

async function served(cli: Cli, { session, held, log, json }: Serving, signal: AbortSignal): Promise<unknown> {
  await using _ = session // however this is left, its end is recorded
  return await serveStdio(
    {
      world: cli.world,
      session,
      held,
      report: (what, error) => log.write('warn', what, { problem: messageOf(error) }),
      ready: () => tell(cli, session, json),
    },
    cli.console.wire(),
    signal,
  )
}

function tell({ console }: Cli, { target, audit, definitions }: ToolSession, json: boolean): void {
  const tools = definitions.map(({ name }) => name)
  if (json) {
    console.note(jsonLine({ event: 'serving', agent: target.name, principal: target.principal, tools, audit }))
    return
  }
  console.note(
    `Agent: ${target.name}, with ${tools.length === 1 ? 'one tool' : `${tools.length} tools`}: ${tools.join(', ')}`,
  )
  console.note(`Audit run: ${audit.run_id}`)
  console.note(`Audit journal: ${oneLine(audit.path)}`)
  console.note(`Audit public key: ${audit.public_key}`)
}

function exitOf({ console }: Cli, problem: unknown, { audit, attempts }: ToolSession): number {
  console.note(
    `${attempts === 1 ? 'One call' : `${attempts} calls`}, session ${problem === null ? 'completed' : 'failed'}`,
  )
  if (problem === null) return 0
  if (!isFault(problem)) throw problem
  console.note(`${problem.code}: ${oneLine(problem.message)}`)
  console.note(`hint: Look at it with "symbi audit show ${audit.run_id}"`)
  return CODES[problem.code].exit
}

const SECONDS_MAX = 86_400

function boundsOf({ tools, maxCalls, timeout, toolTimeout }: ServeOptions): object {
  return {
    callsMax: whole('--max-calls', maxCalls, 1000),
    timeoutMs: 1000 * whole('--timeout', timeout, SECONDS_MAX),
    toolTimeoutMs: 1000 * whole('--tool-timeout', toolTimeout, SECONDS_MAX),
    ...(tools === undefined ? {} : { only: tools.split(',').map((name) => name.trim()) }),
  }
}

function whole(option: string, text: string, max: number): number {
  const count = /^\d{1,6}$/.test(text) ? Number(text) : 0
  if (count >= 1 && count <= max) return count
  throw new Fault('USAGE', {
    message: `Cannot use ${option} ${JSON.stringify(text.slice(0, 40))}: it is not a number from 1 to ${max}`,
    hint: 'Give a whole number',
  })
}

function openGate({ console }: Cli, log: Log): { readonly warn: (message: string) => void } {
  for (const line of openGateBanner()) console.note(line)
  return { warn: (message) => log.write('warn', 'policy is switched off', { message }) }
}
