/** What `symbi init` writes: the texts of a new project, and nothing about how they get to the disk. */
import { VERSION } from '../../core/index.ts'

export const SETTINGS_TEXT = `# Settings of this project, read once when "symbi up" starts. Flags and environment variables win over this file.
# What stands here commented out is the default, or an example. Secrets do not belong here: use the environment, or a private .env.
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

[approvals]
# Tools whose every call waits for a person ("symbi approvals"); delegate means delegations.
# tools = "none"
# How long a chat or a run waits. A client of /mcp is told at once, and its call stays open for 15 minutes.
# timeout_seconds = 120

[tools]
# Ready-made tools, off until they are told where they may go; each call needs a policy, too. docs/tools.md
# http_origins = ["https://api.example.org"]
# file_roots = { docs = "docs" }

# Tools of foreign MCP servers, by name: mcp__helpdesk__… here. Pinned at first use. docs/mcp-upstream.md
# [mcp.servers.helpdesk]
# command = "node"
# args = ["srv/helpdesk.mjs"]
# expose = ["notes_create", "notes_read"]
# approval = true

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

const MONITORING_ACTIONS = `action in [
    Action::"tool_call::list_agents",
    Action::"tool_call::agent_status",
    Action::"tool_call::query_metrics",
    Action::"tool_call::list_schedules",
    Action::"tool_call::scheduler_health",
    Action::"tool_call::system_health"
  ]`

export const MONITORING_POLICY = `// What the coordinator may look at: this runtime itself. These six tools only read.
permit (
  principal,
  ${MONITORING_ACTIONS},
  resource
);
`

export const RUN_POLICY = `// What an agent may look at that was started with "symbi run". Its own policies restrict it further.
permit (
  principal,
  ${MONITORING_ACTIONS},
  resource
);
`

export const TOOL_CLIENT_POLICY = `// What MCP clients may use that act as an agent, over "symbi mcp" and /mcp: to look at this runtime. The agent's own policies
// restrict it further. For one agent alone: when { context.agent_definition.name == "assistant" };
permit (
  principal,
  ${MONITORING_ACTIONS},
  resource
);
`

export const DELEGATION_POLICY = `// Whom the coordinator may hand a task to: agents of agents/, by the names that they declare. The agent then runs under a
// principal of its own, and its calls are judged by the files of this folder, too.
permit (
  principal,
  action in [
    Action::"delegate::operator",
    Action::"delegate::reviewer"
  ],
  resource
);
`

export const IGNORED = ['.symbiont/', '.env'] as const
