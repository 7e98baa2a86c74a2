/** What `symbi up` says to a person when it is ready: what runs, what is allowed, who may connect, and what to type next. */
import { VERSION } from '../../core/index.ts'
import { type AgentRegistry, shownName } from '../../delegation/index.ts'
import type { PolicyNews } from '../../policy/index.ts'
import type { Project } from '../../runtime/index.ts'
import type { Console } from '../console.ts'
import { DEMO_TASK } from '../init/init-demo-model.ts'
import type { Model } from '../model.ts'
import { oneLine } from '../plain-text.ts'
import { filled } from '../text-table.ts'
import { near, typed } from '../typed.ts'
import type { Access } from './access.ts'

export interface BannerFacts {
  readonly url: string
  readonly chatUrl: string
  readonly project: Project
  /** Null where policy is switched off. */
  readonly policies: PolicyNews | null
  readonly agents: AgentRegistry
  readonly model: Model
  readonly access: Access
  readonly approvals: ApprovalFacts
  /** Of the terminal. */
  readonly columns: number
  readonly paint: Console['paint']
}

export interface ApprovalFacts {
  /** Names that the operator listed. */
  readonly tools: readonly string[]
  readonly onTerminal: boolean
}

type RowOf = (name: string, text: string) => string

const NAME_COLUMNS = 12

export function banner(facts: BannerFacts): readonly string[] {
  const { paint, project } = facts
  const place = near(project.root)
  const where = place === '.' ? [] : ['--project', place]
  const row: RowOf = (name, text) => {
    const lines = filled(oneLine(text), Math.max(40, facts.columns - NAME_COLUMNS))
    return `  ${paint('dim', name.padEnd(NAME_COLUMNS - 2))}${lines.join(`\n${' '.repeat(NAME_COLUMNS)}`)}`
  }
  return [
    paint('bold', `symbi-runtime ${VERSION} is running`),
    row('address', facts.url),
    row('chat', facts.chatUrl),
    row('MCP', mcpText(facts)),
    row('project', place),
    policyRow(facts, row),
    ...agentRows(facts, row),
    row('model', modelText(facts.model)),
    row('access', accessText(facts.access, near(project.chatTokenFile))),
    row('approvals', approvalText(facts.approvals)),
    '',
    'Chat with it, in a second terminal in this folder:',
    `  ${paint('cyan', typed('chat', 'Inspect system health', ...where))}`,
    ...(handsOver(facts)
      ? ['Have it hand a task to one of its agents:', `  ${paint('cyan', typed('chat', DEMO_TASK, ...where))}`]
      : []),
    'Verify what it did:',
    `  ${paint('cyan', typed('audit', 'verify', ...where))}`,
    'Ctrl-C stops it.',
  ]
}

function policyRow({ policies, paint }: BannerFacts, row: RowOf): string {
  if (policies === null) return paint('red', row('policies', 'SWITCHED OFF: every action is allowed'))
  switch (policies.kind) {
    case 'Loaded':
      return policies.policies === 0
        ? row('policies', 'none: replies are allowed, every tool call and delegation is denied')
        : row('policies', `${policies.policies} for chats, from ${policies.files.join(', ')}`)
    case 'Kept':
      return paint(
        'red',
        row(
          'policies',
          `the last good ones are in force; the changed ones cannot be used: ${policies.problem.message}`,
        ),
      )
    case 'Refused':
      return paint('red', row('policies', `UNUSABLE, so everything is denied: ${policies.problem.message}`))
    case 'Emptied':
      return paint('red', row('policies', 'all gone, so everything is denied'))
  }
}

const NAMES_MAX = 8

function agentRows({ agents, paint }: BannerFacts, row: RowOf): readonly string[] {
  const names = agents.targets.slice(0, NAMES_MAX).map(({ name }) => name)
  const more = agents.targets.length > NAMES_MAX ? ` and ${agents.targets.length - NAMES_MAX} more` : ''
  const lost = [...agents.unavailable.keys()].slice(0, NAMES_MAX).map(shownName).join(', ')
  const moreLost = agents.unavailable.size > NAMES_MAX ? ` and ${agents.unavailable.size - NAMES_MAX} more` : ''
  return [
    ...(names.length === 0 ? [] : [row('agents', `${names.join(', ')}${more}`)]),
    ...(lost === ''
      ? []
      : [paint('yellow', row('', `cannot be used: ${lost}${moreLost}; "symbi dsl --check" says why`))]),
    ...(agents.problem === null ? [] : [paint('yellow', row('', agents.problem.message))]),
  ]
}

function mcpText({ url, agents }: BannerFacts): string {
  const forWhom =
    agents.targets.length === 0
      ? 'when there is an agent to act as'
      : 'with a key for an agent ("symbi keys add --agent NAME")'
  return `${url}/mcp, ${forWhom}`
}

function approvalText({ tools, onTerminal }: ApprovalFacts): string {
  const names = tools.slice(0, NAMES_MAX).join(', ')
  const more = tools.length > NAMES_MAX ? ` and ${tools.length - NAMES_MAX} more` : ''
  const which = names === '' ? 'where a tool itself asks for one' : `for ${names}${more}, and where a tool itself asks`
  return `${which}: ${onTerminal ? 'on this terminal, or ' : ''}"symbi approvals list"`
}

/** Only the demo model of a project with workers is known to understand the task. */
function handsOver({ model, agents }: BannerFacts): boolean {
  return model.isDemo && agents.targets.some(({ name }) => name === 'reviewer')
}

function modelText({ provider, isDemo }: Model): string {
  if (isDemo) return 'demo-model.json, a script and no model: no provider is configured'
  return `${provider.defaultModel} by ${provider.name}`
}

function accessText({ keys, chatToken, legacyToken }: Access, tokenFile: string): string {
  if (legacyToken) return 'whoever holds SYMBIONT_API_TOKEN may connect'
  if (keys === 0) return 'nobody may connect: there is no key in force ("symbi keys add" makes one)'
  const who = keys === 1 ? 'one API key may connect' : `${keys} API keys may connect`
  return chatToken ? `${who}; a token for this machine is in ${tokenFile}` : who
}

const WIDTH = 78

/** Not to be overlooked. */
export function openGateBanner(): readonly string[] {
  const line = (text: string): string => `!! ${text.padEnd(WIDTH)} !!`
  const edge = '!'.repeat(WIDTH + 6)
  return [
    edge,
    line('POLICY IS SWITCHED OFF. Every action of every agent is allowed.'),
    line('Use this on a machine of your own, for development, and never with real tools.'),
    edge,
  ]
}
