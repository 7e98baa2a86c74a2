/** Trees of told runs, written into folders and verified: what the tests of trees share. */
import {
  type RunNode,
  type RunTree,
  runsOf,
  type TreeOptions,
  type TreePlace,
  verifyTree,
} from '../../src/journal/index.ts'
import { parsePublicKey } from '../../src/keys/index.ts'
import { nodeWorld, type World } from '../../src/world/index.ts'
import { type Scratch, scratch } from '../support/scratch.ts'
import type { OneDelegation, ToldRun } from '../support/told-runs.ts'

/** Waits for nothing: between two tries the tests change what they want to. */
export const hasty: World = { ...nodeWorld(), clock: { ...nodeWorld().clock, sleep: async () => undefined } }

export interface ToldTrees {
  readonly disk: Scratch
  /** Writes the whole tale and verifies the tree of one run. */
  verified(asked: ToldRun, folder?: string, options?: TreeOptions): Promise<RunTree>
}

/** Each test file asks for its own: this module may be loaded once for several files, and a scratch is gone with its file. */
export function toldTrees(): ToldTrees {
  const disk = scratch()
  return {
    disk,
    verified: async (asked, folder = disk.folder(), options = {}) => {
      asked.tale.write(folder)
      return await verifyTree(hasty, placeOf(asked, folder), options)
    },
  }
}

export function placeOf(run: ToldRun, folder: string): TreePlace {
  const key = parsePublicKey(run.tale.key.publicHex)
  return { path: run.pathIn(folder), runId: run.runId, agentId: run.agentId, key }
}

export const told = (root: RunNode) => runsOf(root).map(({ node, depth }) => [depth, node.run_id, node.result])
export const results = (root: RunNode) => runsOf(root).map(({ node }) => node.result)

/** What the child says of the link, to be changed. */
export function delegationOf({ child }: OneDelegation): Record<string, unknown> {
  const context = child.find('Started').event.execution_context as unknown as Record<string, unknown>
  return context.delegation as Record<string, unknown>
}

/** Gives the child's journal another path, wherever one is recorded. */
export function renamed(made: OneDelegation, path: string): void {
  const audit = { ...made.child.audit, path }
  for (const { event } of made.parent.entries) {
    if (event.kind === 'DelegationStarted' || event.kind === 'DelegationFinished') Object.assign(event, { audit })
    const isChilds = event.kind === 'BudgetReservationStarted' && event.reservation.agent_id === made.child.agentId
    if (isChilds) Object.assign(event.reservation, { audit })
  }
  delegationOf(made).audit = audit
}

/** Another value for each member of a link, and of a reference to a journal. */
export const other: Readonly<Record<string, unknown>> = {
  run_key: 'another run',
  call_id: 'another call',
  call_fingerprint: `sha256:${'1'.repeat(64)}`,
  target: 'writer',
  child_agent_id: '7f0e2a0e-8a54-4d1c-9f5b-0a8d9c2b7e11',
  system_prompt_hash: '1'.repeat(64),
  message_hash: '2'.repeat(64),
  parent_agent_id: '7f0e2a0e-8a54-4d1c-9f5b-0a8d9c2b7e11',
}
export const otherReference: Readonly<Record<string, string>> = {
  run_id: '1d0a3f0e-3a3f-4b1a-9d1e-2f1c5a7b9e12',
  path: '/srv/elsewhere/journal.jsonl',
  public_key: '3'.repeat(64),
}
