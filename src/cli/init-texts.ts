/** What `symbi init` writes: the texts of a new project, and nothing about how they get to the disk. */
import { VERSION } from '../core/index.ts'

export const SETTINGS_TEXT = `# Settings of this project, read once when "symbi up" starts. Flags and environment variables win over this file.
# What stands here commented out is the default. Secrets do not belong here: use the environment, or a private .env.
# Made by symbi-runtime ${VERSION}; its docs/configuration.md describes every setting.

[runtime]
# debug, info, warn, error or silent. Without it: warn where stderr is a terminal, info elsewhere.
# log_level = "info"

[server]
# Any address but this machine's own can be reached by others, and needs an API key ("symbi keys add").
# host = "127.0.0.1"
# port = 8080
# Requests and upgrades of one address in a minute, and at once after a quiet time.
# rate_limit_per_minute = 100
# rate_limit_burst = 100

[model]
# Without a provider here, in --provider, or by an API key in the environment, demo-model.json answers: a script, no model.
# provider = "anthropic:claude-sonnet-4-5"
`

export const DEFAULT_POLICY = `// Replies to whoever asked, and the end of a run. This file permits nothing else, and what nothing permits is denied.
permit (
  principal,
  action in [Action::"respond", Action::"terminate"],
  resource
);
`

export const MONITORING_POLICY = `// What the coordinator may look at: this runtime itself. These six tools only read.
permit (
  principal,
  action in [
    Action::"tool_call::list_agents",
    Action::"tool_call::agent_status",
    Action::"tool_call::query_metrics",
    Action::"tool_call::list_schedules",
    Action::"tool_call::scheduler_health",
    Action::"tool_call::system_health"
  ],
  resource
);
`

export const IGNORED = ['.symbiont/', '.env'] as const

type Rule = {
  readonly when: { readonly last_role?: 'user' | 'tool'; readonly contains?: string }
  readonly reply: {
    readonly content?: string
    readonly tool_calls?: readonly { readonly id: string; readonly name: string; readonly arguments: object }[]
  }
}

/** A question that holds the word, small or at the start of a sentence, is answered by asking the tool. */
function asks(word: string, tool: string): readonly Rule[] {
  const spellings = [word, `${word.charAt(0).toUpperCase()}${word.slice(1)}`]
  return spellings.map((contains) => ({
    when: { last_role: 'user', contains },
    reply: { tool_calls: [{ id: `demo-${tool}`, name: tool, arguments: {} }] },
  }))
}

/** One that the tool's answer is quoted in. The first that fits is used, so the particular ones stand first. */
function reports(contains: string | null, content: string): Rule {
  return { when: { last_role: 'tool', ...(contains === null ? {} : { contains }) }, reply: { content } }
}

const RULES: readonly Rule[] = [
  reports('[Policy denied]', 'Policy did not allow me to look, so nothing was done: {{last}}'),
  reports('"components"', 'This is the health of the system, as the runtime reports it:\n\n{{last}}'),
  reports(null, 'The runtime answered:\n\n{{last}}'),
  ...asks('scheduler', 'scheduler_health'),
  ...asks('schedule', 'list_schedules'),
  ...asks('metric', 'query_metrics'),
  ...asks('health', 'system_health'),
  ...asks('agent', 'list_agents'),
  {
    when: {},
    reply: {
      content:
        'I am a script, not a model, and I know five questions: "Inspect system health", "Show the metrics", ' +
        '"List the agents", "List the schedules" and "Is the scheduler well?". To talk to a model, set OPENAI_API_KEY, ' +
        'ANTHROPIC_API_KEY or OPENROUTER_API_KEY and start again, or start with --provider openai:MODEL.',
    },
  },
]

export const DEMO_MODEL_FILE = 'demo-model.json'
export const DEMO_MODEL_TEXT = `${JSON.stringify({ model: 'demo', rules: RULES }, null, 2)}\n`
