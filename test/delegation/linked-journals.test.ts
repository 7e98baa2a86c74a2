/** Runs that really delegate, with both journals on disk: what they leave at any moment is judged as a stranger would. */
import { cpSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { derivedId, digest, newId } from '../../src/core/index.ts'
import { type AgentRegistry, type DelegationTarget, openDelegation } from '../../src/delegation/index.ts'
import { DEFAULT_LOOP_CONFIG, type LoopConfig } from '../../src/events/index.ts'
import {
  createJournal,
  type Journal,
  parsePublicKey,
  type RunTree,
  runsOf,
  treeHolds,
  verifyTree,
} from '../../src/journal/index.ts'
import { runLoop } from '../../src/loop/index.ts'
import type { Provider } from '../../src/providers/index.ts'
import { toolbox } from '../../src/tools/index.ts'
import { nodeWorld, type World } from '../../src/world/index.ts'
import { allowAll } from '../support/gates.ts'
import { scratch } from '../support/scratch.ts'
import { callOf, modelOf, type Reply } from '../support/scripted-model.ts'
import { toolOf } from '../support/tools.ts'
import { watchedWorld } from '../support/watched-world.ts'

const disk = scratch()
const ask = (id: string) => callOf(id, 'delegate', { agent: 'reviewer', task: 'look at it' })
const forever = (signal: AbortSignal): Promise<never> =>
  new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))

interface Case {
  readonly parent: readonly Reply[]
  readonly child: readonly Reply[]
  readonly limits?: Partial<LoopConfig>
  /** Called once the child has asked its model. */
  readonly cancel?: boolean
}

interface Ran {
  readonly folder: string
  readonly journal: Journal
  readonly tree: RunTree
  /** Copies of the folder, one before every write to a journal of it. */
  readonly snapshots: readonly string[]
}

async function ran({ parent, child, limits = {}, cancel = false }: Case): Promise<Ran> {
  const folder = disk.folder()
  const snapshots: string[] = []
  const world = watchedWorld((operation, path) => {
    if (operation !== 'append' || !path.endsWith('.jsonl')) return
    const copy = disk.path('snapshot')
    cpSync(folder, copy, { recursive: true })
    snapshots.push(copy)
  })
  const principal = newId('agent', world.random)
  const journal = await createJournal(world, { directory: folder, principal })
  const cancelled = new AbortController()
  const entered: Reply = async (_conversation, signal) => {
    cancelled.abort(new Error('somebody left'))
    return await forever(signal)
  }
  const provider = byFirstMessage(modelOf(...parent), modelOf(...(cancel ? [entered] : child)))
  const box = toolbox({ tools: [toolOf('look')] }, world)
  const parts = { registry: registryOf(reviewer), toolbox: box, childToolbox: box, governedFolder: folder }
  const delegation = openDelegation(parts, world)
  await runLoop(
    {
      world,
      principal,
      provider,
      gate: allowAll,
      toolbox: delegation.toolbox,
      delegates: delegation.delegates,
      log: journal,
      config: { ...DEFAULT_LOOP_CONFIG, ...limits },
      messages: [{ role: 'user', content: 'go' }],
    },
    cancelled.signal,
  )
  await journal.close()
  return { folder, journal, tree: await treeOf(nodeWorld(), folder, journal), snapshots }
}

function treeOf(world: World, folder: string, { audit, principal }: Journal): Promise<RunTree> {
  const path = join(folder, `${principal}.${audit.run_id}.jsonl`)
  const key = parsePublicKey(audit.public_key)
  return verifyTree(world, { path, runId: audit.run_id, agentId: principal, key })
}

/** Every run that any journal of the folder is of, from its own end of its links. */
async function contradictions({ journal }: Ran, folder: string): Promise<readonly string[]> {
  const key = parsePublicKey(journal.audit.public_key)
  const found: string[] = []
  for (const name of readdirSync(folder).filter((name) => name.endsWith('.jsonl'))) {
    const runId = name.split('.')[1] as Journal['audit']['run_id']
    const { root, above } = await verifyTree(nodeWorld(), { path: join(folder, name), runId, key })
    for (const { node } of runsOf(root)) found.push(...node.problems)
    found.push(...(above?.problems ?? []))
  }
  return found
}

const results = ({ root }: RunTree) =>
  runsOf(root).map(({ node }) => [node.name, node.result, node.report?.terminal_reason ?? null])

describe('the journals of a run that delegates', () => {
  const cases: readonly (readonly [string, Case, readonly unknown[]])[] = [
    [
      'and completes',
      {
        parent: [ask('d1'), callOf('t', 'look'), ask('d2'), { content: 'done' }],
        child: [callOf('c', 'look'), { content: 'fine' }],
      },
      [
        [null, 'verified', 'Completed'],
        ['reviewer', 'verified', 'Completed'],
        ['reviewer', 'verified', 'Completed'],
      ],
    ],
    [
      'to one that fails',
      { parent: [ask('d1'), { content: 'never' }], child: [new Error('the provider is gone')] },
      [
        [null, 'verified', 'UnconfirmedEffects'],
        ['reviewer', 'verified', expect.objectContaining({ Error: expect.anything() })],
      ],
    ],
    [
      'and is cancelled',
      { parent: [ask('d1'), { content: 'never' }], child: [], cancel: true },
      [
        [null, 'verified', expect.objectContaining({ Error: expect.anything() })],
        ['reviewer', 'verified', expect.objectContaining({ Error: expect.anything() })],
      ],
    ],
    [
      'and has no tokens left for it',
      { parent: [ask('d1'), { content: 'never' }], child: [{ content: 'fine' }], limits: { max_total_tokens: 3000 } },
      [expect.arrayContaining(['verified']), expect.arrayContaining(['reviewer', 'verified'])],
    ],
  ]

  test.each(cases)(
    'prove each other when it ends, and contradict each other at no moment before: a run that delegates %s',
    async (_, given, expected) => {
      const trial = await ran(given)
      expect(results(trial.tree)).toEqual(expected)
      expect(await contradictions(trial, trial.folder)).toEqual([])
      expect(treeHolds(trial.tree)).toBe(true)
      expect(trial.snapshots.length).toBeGreaterThan(5)
      for (const snapshot of trial.snapshots) expect(await contradictions(trial, snapshot)).toEqual([])
    },
  )
})

const reviewer: DelegationTarget = {
  name: 'reviewer',
  principal: derivedId('agent', '9f1a4b2c-7d3e-4f50-8a6b-1c2d3e4f5061', 'reviewer'),
  description: 'reviews',
  declaration: 'agent reviewer {}',
  source_hash: digest('source'),
  declaration_hash: digest('declaration'),
  timeout_seconds: null,
  sandbox_tier: null,
  policy: {
    metadata: {
      semantics: 'inline_effect_policy_v1',
      source_hash: digest('source'),
      declaration_hash: digest('declaration'),
      agent_name: 'reviewer',
      policies: [],
    },
    blocks: [],
  },
}

function registryOf(target: DelegationTarget): AgentRegistry {
  return {
    targets: [target],
    unavailable: new Map(),
    problem: null,
    resolve: (name) => (name === target.name ? { kind: 'Target', target } : { kind: 'Unknown' }),
  }
}

/** A child is known by its first message. Each child begins its own conversation. */
function byFirstMessage(parent: Provider, child: Provider): Provider {
  return {
    ...parent,
    complete: (conversation, options, signal) =>
      (conversation.messages[0]?.content.startsWith('You are agent') === true ? child : parent).complete(
        conversation,
        options,
        signal,
      ),
  }
}
