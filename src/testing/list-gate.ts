/**
 * A gate that answers from a list, for tests of what comes after a decision. It judges names only, and asks nobody: a tool
 * whose contract requires approval is denied, as it is by every gate without an approver.
 */
import { sourceOf } from '../calls/index.ts'
import { type Decision, deny, type Gate, type GateQuestion, withoutApprover } from '../policy/index.ts'

/** Names as journals show them: a tool's name, `respond`, `terminate`, or `delegate:<target>`. */
export type ListGateRule =
  /** These, and nothing else. */
  | { readonly allow: readonly string[] }
  /** Everything but these. */
  | { readonly deny: readonly string[] }

export interface ListGate extends Gate {
  /** What was asked so far, in order. */
  readonly asked: readonly { readonly name: string; readonly allowed: boolean }[]
}

export function listGate(rule: ListGateRule): ListGate {
  const asked: { name: string; allowed: boolean }[] = []
  const names = new Set('allow' in rule ? rule.allow : rule.deny)
  const decide = ({ call }: GateQuestion): Decision => {
    const name = sourceOf(call.action)
    const allowed = names.has(name) === 'allow' in rule
    asked.push({ name, allowed })
    return allowed ? { kind: 'Allow', policies: ['list-gate'] } : deny(`"${name}" is not allowed by the list`)
  }
  return {
    name: 'list',
    asked,
    approve: async (question) => withoutApprover(question),
    decide: async (question, signal) =>
      signal.aborted ? deny('the question was cancelled before the list answered') : decide(question),
  }
}
