/**
 * What is killed: seven ways in which work reaches the runtime. Every effect is one HTTP request whose path names the project,
 * the piece of work and the step, so that whoever counts them knows each by name. Parent and child read the same table.
 */
import type { SCENARIOS } from './scenario-names.mjs'

export { SCENARIOS } from './scenario-names.mjs'

export type Scenario = (typeof SCENARIOS)[number]

/** Who talks to the runtime: a WebSocket client, somebody who runs an agent by hand, an MCP client on stdin and stdout. */
export type Door = 'chat' | 'run' | 'tools'

export const DOORS: Readonly<Record<Scenario, Door>> = {
  chat: 'chat',
  chats: 'chat',
  delegation: 'chat',
  delegations: 'chat',
  run: 'run',
  'tool client': 'tools',
  approval: 'tools',
}

export const AGENT = 'clerk'

/** What a model is told to do, round by round; it answers when there are no more. */
export interface Plan {
  readonly rounds: readonly (readonly Step[])[]
}
export type Step = { readonly path: string } | { readonly agent: string; readonly plan: Plan }

export interface Work {
  readonly id: string
  /** For chats and runs. */
  readonly plan: Plan
  /** For tool clients: the path of the one call. */
  readonly call: string
  /** What takes effect, each once, when it is done. */
  readonly paths: readonly string[]
}

/** The work of one life, the same whenever it is asked for again. */
export function workOf(scenario: Scenario, tag: string, ids: readonly string[]): readonly Work[] {
  return ids.map((id, index) => {
    // a call that was held is made under a new id, and is the same call
    const part = scenario === 'approval' ? 0 : index
    const [one, two] = [1, 2].map((step) => `/effect/${tag}/${part}/${step}`) as [string, string]
    const plan = planOf(scenario, one, two)
    const isHeld = scenario === 'approval' && index === 0
    return { id, plan, call: one, paths: isHeld ? [] : DOORS[scenario] === 'tools' ? [one] : pathsIn(plan) }
  })
}

export const idsNeeded = (scenario: Scenario): number =>
  scenario === 'chats' ? 3 : DOORS[scenario] === 'tools' ? 2 : 1

/** A call of a tool client under no id: nobody can ask for it again. */
export const plainPath = (tag: string): string => `/effect/${tag}/plain/1`

function planOf(scenario: Scenario, one: string, two: string): Plan {
  const alone = (path: string): Plan => ({ rounds: [[{ path }]] })
  switch (scenario) {
    case 'delegation':
      return { rounds: [[{ agent: 'reviewer', plan: alone(one) }]] }
    case 'delegations':
      return {
        rounds: [
          [
            { agent: 'reviewer', plan: alone(one) },
            { agent: 'auditor', plan: alone(two) },
          ],
        ],
      }
    case 'run':
      return { rounds: [[{ path: one }], [{ path: two }]] }
    default:
      return { rounds: [[{ path: one }, { path: two }]] }
  }
}

function pathsIn({ rounds }: Plan): readonly string[] {
  return rounds.flat().flatMap((step) => ('path' in step ? [step.path] : pathsIn(step.plan)))
}

/** Which effects a text says were confirmed, by the words of the witness. */
export function confirmedIn(texts: readonly string[]): string {
  const confirmed = texts.flatMap((text) => text.match(/counted \/effect\/[\w/-]+/g) ?? [])
  return [...new Set(confirmed)].sort().join(', ')
}
