/**
 * The script that answers in a new project while no model is configured. It is no model and says so; what it asks for meets
 * policy like everything else.
 */

interface Rule {
  readonly when: { readonly agent?: string; readonly last_role?: 'user' | 'tool'; readonly contains?: string }
  readonly reply: {
    readonly content?: string
    readonly tool_calls?: readonly { readonly id: string; readonly name: string; readonly arguments: object }[]
  }
}

/** A question that holds the words, small or at the start of a sentence, is answered by asking the tool. */
function asks(words: string, tool: string, args: object = {}): readonly Rule[] {
  const spellings = [words, `${words.charAt(0).toUpperCase()}${words.slice(1)}`]
  return spellings.map((contains) => ({
    when: { last_role: 'user', contains },
    reply: { tool_calls: [{ id: `demo-${tool}`, name: tool, arguments: args }] },
  }))
}

/** One that the tool's answer is quoted in. The first that fits is used, so the particular ones stand first. */
function reports(contains: string | null, content: string): Rule {
  return { when: { last_role: 'tool', ...(contains === null ? {} : { contains }) }, reply: { content } }
}

/** The same, for the agent of this name alone. */
function only(agent: string, rules: readonly Rule[]): readonly Rule[] {
  return rules.map(({ when, reply }) => ({ when: { agent, ...when }, reply }))
}

const MONITORING: readonly Rule[] = [
  reports('[Policy denied]', 'Policy did not allow me to look, so nothing was done: {{last}}'),
  reports('"components"', 'This is the health of the system, as the runtime reports it:\n\n{{last}}'),
  reports(null, 'The runtime answered:\n\n{{last}}'),
  ...asks('scheduler', 'scheduler_health'),
  ...asks('schedule', 'list_schedules'),
  ...asks('metric', 'query_metrics'),
  ...asks('health', 'system_health'),
  ...asks('agent', 'list_agents'),
]

/** What a worker says begins with its name, so that the coordinator knows whose words it passes on. */
function worker(name: string): readonly Rule[] {
  return only(name, [
    reports('[Policy denied]', `The ${name} was not allowed to look, so nothing was done: {{last}}`),
    reports(null, `The ${name} found this:\n\n{{last}}`),
  ])
}

const DELEGATING: readonly Rule[] = [
  ...worker('operator'),
  ...worker('reviewer'),
  ...only('coordinator', [
    reports('The operator ', 'I asked the operator, in a run of its own:\n\n{{last}}'),
    reports('The reviewer ', 'I asked the reviewer, in a run of its own:\n\n{{last}}'),
    ...asks('reviewer list the schedules', 'delegate', { agent: 'reviewer', task: 'List the schedules' }),
    ...asks('review', 'delegate', { agent: 'reviewer', task: 'Inspect system health' }),
    ...asks('operator', 'delegate', { agent: 'operator', task: 'Is the scheduler well?' }),
  ]),
]

function introduces(known: string): Rule {
  const content =
    `I am a script, not a model, and I know these questions: ${known}. To talk to a model, set OPENAI_API_KEY, ` +
    'ANTHROPIC_API_KEY or OPENROUTER_API_KEY and start again, or start with --provider openai:MODEL.'
  return { when: {}, reply: { content } }
}

const QUESTIONS =
  '"Inspect system health", "Show the metrics", "List the agents", "List the schedules" and "Is the scheduler well?"'
/** What shows a new project hand over a task. */
export const DEMO_TASK = 'Let the reviewer inspect the system'
const TASKS = `"${DEMO_TASK}", "Ask the operator", and "Let the reviewer list the schedules", which policy denies it`

export const DEMO_MODEL_FILE = 'demo-model.json'
export const DEMO_MODEL_TEXT = script([...MONITORING, introduces(QUESTIONS)])
export const DEMO_MODEL_WITH_WORKERS_TEXT = script([
  ...DELEGATING,
  ...MONITORING,
  introduces(`${QUESTIONS}; and to hand over: ${TASKS}`),
])

function script(rules: readonly Rule[]): string {
  return `${JSON.stringify({ model: 'demo', rules }, null, 2)}\n`
}
