/**
 * The agents that `symbi init` writes. They are meant to be read and changed: each shows one thing more than the one before.
 * What is in the braces of an agent is also what its model is told, comments included.
 */

export const ASSISTANT_AGENT = `// Run it with: symbi run assistant -i "Inspect system health"
metadata {
    version: "1.0",
    description: "Answers questions about this runtime, and changes nothing",
}

agent assistant {
    // Answer in a few sentences, from what the tools told you. What no tool told you, you do not know.
    capabilities = ["monitoring"]

    // A policy in this file only restricts. The call must be permitted in policies/ as well.
    policy looks_only {
        allow: [
            "agent_status", "list_agents", "list_schedules", "query_metrics", "scheduler_health", "system_health"
        ]
    }
}
`

export const REVIEWER_AGENT = `// The coordinator hands it tasks. By hand: symbi run reviewer -i "Inspect system health"
metadata {
    version: "1.0",
    description: "Inspects the health and the metrics of this runtime",
}

agent reviewer {
    // Report what you found in a few sentences, and what you could not find out.
    capabilities = ["health", "metrics"]

    with timeout = 2.minutes {
    }

    // Schedules are the operator's: a call that no rule here allows is denied, whatever policies/ permits.
    policy looks_at_health {
        allow: ["agent_status", "list_agents", "query_metrics", "system_health"]
    }
}
`

export const OPERATOR_AGENT = `// The coordinator hands it tasks. By hand: symbi run operator -i "Is the scheduler well?"
metadata {
    version: "1.0",
    description: "Looks after schedules: which there are, and whether they run",
}

agent operator {
    // Name every schedule that is late or paused. Say so when there is none.
    capabilities = ["schedules"]

    with timeout = 2.minutes {
    }

    policy looks_at_schedules {
        allow: ["list_schedules", "scheduler_health"]
    }
}
`
