/** What a new project holds beside its settings, by profile. Each one starts with no more than it can show. */
import { ASSISTANT_AGENT, OPERATOR_AGENT, REVIEWER_AGENT } from './init-agents.ts'
import { DEMO_MODEL_TEXT, DEMO_MODEL_WITH_WORKERS_TEXT, DEMO_TASK } from './init-demo-model.ts'
import { DEFAULT_POLICY, DELEGATION_POLICY, MONITORING_POLICY, RUN_POLICY, TOOL_CLIENT_POLICY } from './init-texts.ts'

/** Texts by their path in a folder. */
export type FolderTexts = Readonly<Record<string, string>>

export interface Profile {
  readonly agents: FolderTexts
  readonly policies: FolderTexts
  readonly demoModel: string
  /** A command that shows what the profile is for, beside `up`, and the words before it. */
  readonly tryOut: { readonly says: string; readonly words: readonly [string, ...string[]] } | null
}

const SHARED_POLICIES: FolderTexts = {
  'default.cedar': DEFAULT_POLICY,
  'coordinator/monitoring.cedar': MONITORING_POLICY,
  'mcp-server/monitoring.cedar': TOOL_CLIENT_POLICY,
}

export const PROFILES: ReadonlyMap<string, Profile> = new Map([
  [
    'minimal',
    {
      agents: { '.gitkeep': '' }, // keeps the folder in version control
      policies: SHARED_POLICIES,
      demoModel: DEMO_MODEL_TEXT,
      tryOut: null,
    },
  ],
  [
    'assistant',
    {
      agents: { 'assistant.symbi': ASSISTANT_AGENT },
      policies: { ...SHARED_POLICIES, 'run/monitoring.cedar': RUN_POLICY },
      demoModel: DEMO_MODEL_TEXT,
      tryOut: { says: 'Or run its agent', words: ['run', 'assistant', '-i', 'Inspect system health'] },
    },
  ],
  [
    'multi-agent',
    {
      agents: { 'operator.symbi': OPERATOR_AGENT, 'reviewer.symbi': REVIEWER_AGENT },
      policies: {
        ...SHARED_POLICIES,
        'coordinator/delegation.cedar': DELEGATION_POLICY,
        'run/monitoring.cedar': RUN_POLICY,
      },
      demoModel: DEMO_MODEL_WITH_WORKERS_TEXT,
      tryOut: { says: 'Then hand over a task', words: ['chat', DEMO_TASK] },
    },
  ],
])
