/** Governed runs with real journals, judged by the policies of a real folder, to be judged again. */
import { dirname, join } from 'node:path'
import { defaultContract, type PreparedCall } from '../../src/calls/index.ts'
import { type JsonObject, newId, type RunId } from '../../src/core/index.ts'
import { DEFAULT_LOOP_CONFIG, type Entry, type EventOf } from '../../src/events/index.ts'
import { createJournal, verifyRun } from '../../src/journal/index.ts'
import { type PublicKey, parsePublicKey } from '../../src/keys/index.ts'
import { runLoop } from '../../src/loop/index.ts'
import { ApprovalQueue, type Gate, giveApproval, heldGate, loadPolicies, restrictedBy } from '../../src/policy/index.ts'
import { Candidates, type Replay, replayRun, Surfaces } from '../../src/replay/index.ts'
import { toolbox } from '../../src/tools/index.ts'
import { nodeWorld } from '../../src/world/index.ts'
import { policyIn } from '../support/inline-policy.ts'
import { modelOf } from '../support/scripted-model.ts'
import { toolOf } from '../support/tools.ts'

export const world = nodeWorld()
const never = new AbortController().signal

/** A call as the model proposes it; the arguments are its text. */
export interface Proposed {
  readonly id: string
  readonly name: string
  readonly arguments: string
}

export interface RunPlan {
  /** The governed folder, absolute. */
  readonly directory: string
  /** The policies that judge. */
  readonly policies: string
  /** The calls of each reply; the model then answers. */
  readonly replies: readonly (readonly Proposed[])[]
  readonly context?: JsonObject
  /** The rules of an inline policy. */
  readonly inline?: string
}

export interface Ran {
  readonly path: string
  readonly runId: RunId
  readonly key: PublicKey
  readonly entries: readonly Entry[]
  readonly decisions: readonly EventOf<'PolicyEvaluated'>[]
}

/** `pay` needs an approval. Every tool may be named by a policy. */
export const TOOLS = ['read', 'write', 'pay', 'fix'] as const

/** Runs the loop to its end over a journal of its own. */
export async function governedRun({ directory, policies, replies, context, inline }: RunPlan): Promise<Ran> {
  const principal = newId('agent', world.random)
  const journal = await createJournal(world, { directory, principal })
  const tools = TOOLS.map((name) => {
    const plain = toolOf(name)
    return toolOf(name, undefined, { ...defaultContract(plain.definition), requires_approval: name === 'pay' })
  })
  const open = toolbox({ tools }, world)
  const { gate } = await loadPolicies(world, { folder: policies, surface: 'coordinator' })
  await runLoop(
    {
      world,
      principal,
      provider: modelOf(...replies.map((calls) => ({ tool_calls: [...calls] })), { content: 'done' }),
      gate: asking(gate, join(dirname(directory), 'approvals')),
      toolbox: inline === undefined ? open : restrictedBy(open, policyIn(`agent fixture { ${inline} }`)),
      log: journal,
      config: { ...DEFAULT_LOOP_CONFIG, max_iterations: replies.length + 2 },
      messages: [{ role: 'user', content: 'begin' }],
      ...(context === undefined ? {} : { trustedContext: context }),
    },
    never,
  )
  await journal.close()
  const { path, run_id: runId, public_key } = journal.audit
  const key = parsePublicKey(public_key)
  const entries = await verifyRun(world, path, key, runId)
  const decisions = entries.flatMap(({ event }) => (event.kind === 'PolicyEvaluated' ? [event] : []))
  return { path, runId, key, entries, decisions }
}

/**
 * A gate with an approver: the argument `ask` says what it answers, whatever the tool. Calls of `fix` are changed once, and
 * then judged as they became.
 */
function asking(inner: Gate, queueFolder: string): Gate {
  return {
    name: 'asking',
    approve: async (question, signal) => {
      const { call, run, remainingMs } = question
      const ask = call.arguments?.ask
      if (ask === 'queue') {
        await using queue = await ApprovalQueue.open(world, queueFolder)
        return await heldGate(inner, queue).approve(question, signal)
      }
      if (ask === 'hold') {
        return { kind: 'Pending', reason: 'waits', approval_id: 'a1', expires_at: world.clock.wall() }
      }
      if (ask === 'refuse') return { kind: 'Refused', reason: 'nobody wants it' }
      if (ask !== 'approve') return { kind: 'NotNeeded' }
      const approver = { surface: 'terminal', id: 'ada', display: 'Ada' }
      const at = world.clock.wall()
      const resolution = { escalation_id: 'a1', agent_id: run.agent_id, decision: 'approve', approver, at } as const
      const parts = { id: 'a1', call, run, resolution, lifetimeMs: 60_000, remainingMs }
      return { kind: 'Approved', approval: giveApproval(parts, world.clock) }
    },
    decide: async (question, signal) => {
      const changed = fixed(question.call)
      if (changed !== null) return { kind: 'Modify', modified_action: changed, reason: 'made safe', policies: [] }
      return await inner.decide(question, signal)
    },
  }
}

function fixed({ action, arguments: value }: PreparedCall): PreparedCall['action'] | null {
  if (!('ToolCall' in action) || action.ToolCall.name !== 'fix' || value?.fixed === true) return null
  const changed = { ...value, fixed: true }
  return { ToolCall: { ...action.ToolCall, arguments: JSON.stringify(changed) } }
}

export async function replayOf(
  { path, runId, key }: Pick<Ran, 'path' | 'runId' | 'key'>,
  folder: string,
  surface: string | null = 'coordinator',
): Promise<Replay> {
  using candidates = new Candidates(world, { folder })
  return await replayRun({ world, key, candidates, surface: surface ?? new Surfaces(world, key) }, { path, runId })
}
