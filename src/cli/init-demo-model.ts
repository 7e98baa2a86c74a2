/**
 * The script that answers in a new project while no model is configured. It is no model and says so; what it asks for meets
 * policy like everything else.
 */

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
