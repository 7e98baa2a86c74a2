/** What people write instead of the language, and what they mean. Every entry shows a form that is accepted. */

/** Words at the top level. */
export const ITEM_MISSES: Readonly<Record<string, string>> = {
  with: 'It belongs into an agent: agent name { with sandbox = "docker", timeout = 5.minutes {} }',
  sandbox: 'It belongs into an agent: agent name { with sandbox = "docker" {} }',
  timeout: 'It belongs into an agent: agent name { with timeout = 5.minutes {} }',
  capabilities: 'It belongs into an agent: agent name { capabilities = ["read"] }',
  constraints:
    'Limits are a policy or a with-block: agent name { with timeout = 5.minutes {} policy limits { deny: ["tool"] } }',
  security: 'Isolation is a with-block: agent name { with sandbox = "docker" {} }',
  resources: 'Limits are a with-block: agent name { with timeout = 5.minutes {} }',
  policies: 'Write each on its own: policy name { allow: ["tool"] }',
  rules: 'Rules stand in a policy: policy name { allow: ["tool"] }',
  allow: 'Rules stand in a policy: policy name { allow: ["tool"] }',
  deny: 'Rules stand in a policy: policy name { deny: ["tool"] }',
  require: 'Rules stand in a policy: policy name { allow: ["tool"] }',
  audit: 'Rules stand in a policy: policy name { allow: ["tool"] }',
  version: 'It belongs into metadata { version = "1.0" }',
  author: 'It belongs into metadata { author = "name" }',
  description: 'It belongs into metadata { description = "text" }',
  behavior: 'Agents are described, not programmed: agent name { capabilities = ["read"] }',
  behaviour: 'Agents are described, not programmed: agent name { capabilities = ["read"] }',
  struct: 'Write type Name = { field: String }',
  fn: 'Write function name() { }',
  permit: 'Cedar stands in files of the folder policies; here write policy name { allow: ["tool"] }',
  forbid: 'Cedar stands in files of the folder policies; here write policy name { deny: ["tool"] }',
  tool: 'Tools are no part of this language; rules name them: policy name { allow: ["tool"] }',
  import: 'A file stands alone: copy what it needs',
}

/** Words in an agent. What is an item of its own moves out of the agent. */
export const MEMBER_MISSES: Readonly<Record<string, string>> = {
  agent: 'An agent stands at the top level, beside this one: agent other {}',
  metadata: 'It stands at the top level, once for the file: metadata { version = "1.0" }',
  memory: 'It stands at the top level: memory name { store markdown }',
  webhook: 'It stands at the top level: webhook name { path "/in" }',
  schedule: 'It stands at the top level: schedule name { cron: "0 0 8 * * *", agent: "name" }',
  channel: 'It stands at the top level: channel name { platform: "slack" }',
  type: 'It stands at the top level: type Name = { field: String }',
  constraints: 'Limits are a policy or a with-block: with timeout = 5.minutes {} and policy limits { deny: ["tool"] }',
  security: 'Isolation is a with-block: with sandbox = "docker" {}',
  resources: 'Limits are a with-block: with timeout = 5.minutes {}',
  sandbox: 'Write with sandbox = "docker" {}',
  timeout: 'Write with timeout = 5.minutes {}',
  policies: 'Write each on its own: policy name { allow: ["tool"] }',
  rules: 'Rules stand in a policy: policy name { allow: ["tool"] }',
  allow: 'Rules stand in a policy: policy name { allow: ["tool"] }',
  deny: 'Rules stand in a policy: policy name { deny: ["tool"] }',
  require: 'Rules stand in a policy: policy name { allow: ["tool"] }',
  audit: 'Rules stand in a policy: policy name { allow: ["tool"] }',
  capability: 'Write capabilities = ["read"]',
  tools: 'Rules name tools: policy name { allow: ["tool"] }',
  version: 'It belongs into metadata { version = "1.0" } at the top level',
  author: 'It belongs into metadata { author = "name" } at the top level',
  description: 'It belongs into metadata { description = "text" } at the top level',
  executor: 'It belongs into metadata { executor = "orga" } at the top level',
  name: 'The name stands behind the word agent: agent name { }',
}

const NO_SUCH_TEST =
  'Conditions compare with == != < <= > >= and in [ … ], and nothing else: if invocation.arguments.path in ["a.md", "b.md"]'

/** Words where a rule begins, or goes on: most are Cedar's. */
export const RULE_MISSES: Readonly<Record<string, string>> = {
  permit: 'Write allow: ["tool_a", "tool_b"]; Cedar stands in files of the folder policies',
  forbid: 'Write deny: ["tool_a", "tool_b"]; Cedar stands in files of the folder policies',
  when: 'A condition stands behind if: allow: "tool" if invocation.arguments.path == "a.md"',
  where: 'A condition stands behind if: allow: "tool" if invocation.arguments.path == "a.md"',
  unless: 'Write if and a negation: allow: "tool" if !(invocation.arguments.path == "a.md")',
  like: NO_SUCH_TEST,
  has: NO_SUCH_TEST,
  contains: NO_SUCH_TEST,
  matches: NO_SUCH_TEST,
  is: NO_SUCH_TEST,
  and: 'Write && between conditions: allow: "tool" if context.a == 1 && context.b == 2',
  or: 'Write || between conditions: allow: "tool" if context.a == 1 || context.b == 2',
}

/** The known word that a typing mistake turned into this one, or null. */
export function meant(word: string, known: readonly string[]): string | null {
  if (word.length > 24) return null
  const lower = word.toLowerCase()
  const close = known.map((candidate) => ({ candidate, distance: editDistance(lower, candidate) }))
  const best = close.toSorted((a, b) => a.distance - b.distance)[0]
  if (best === undefined || best.distance > (best.candidate.length <= 4 ? 1 : 2)) return null
  return best.candidate
}

/** Letters added, left out, exchanged, or swapped with their neighbour. */
function editDistance(from: string, to: string): number {
  let [older, old]: [readonly number[], readonly number[]] = [[], Array.from({ length: to.length + 1 }, (_, at) => at)]
  for (let row = 1; row <= from.length; row += 1) {
    const current = [row]
    for (let column = 1; column <= to.length; column += 1) {
      const same = from[row - 1] === to[column - 1] ? 0 : 1
      const swapped = row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1]
      current.push(
        Math.min(
          (old[column] ?? 0) + 1,
          (current[column - 1] ?? 0) + 1,
          (old[column - 1] ?? 0) + same,
          swapped ? (older[column - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY,
        ),
      )
    }
    ;[older, old] = [old, current]
  }
  return old[to.length] ?? 0
}
