/** A queue on real files in a World whose time the test moves, and questions that need an approval. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { type JsonObject, readJson } from '../../../src/core/index.ts'
import type { KeptEnd } from '../../../src/policy/approvals/held-action.ts'
import type { QueueOptions } from '../../../src/policy/approvals/queue-calls.ts'
import { ApprovalQueue, type Approver, type GateQuestion, type QueueChange } from '../../../src/policy/index.ts'
import { type TestWorld, testWorld } from '../../../src/testing/index.ts'
import type { World } from '../../../src/world/index.ts'
import { type ToolParts, toolQuestion } from '../support.ts'

export const OPERATOR: Approver = { surface: 'rest', id: 'ops', display: 'ops' }
export const APPROVE = { decision: 'approve' } as const
export const DENY = { decision: 'deny', reason: 'not today' } as const

export interface Desk {
  readonly world: TestWorld
  readonly folder: string
  readonly queue: ApprovalQueue
  readonly changes: QueueChange[]
  /** Resolves with the next action that is shown. */
  nextHeld(): Promise<QueueChange['action']>
}

export async function deskIn(folder: string, options: QueueOptions = {}, world: World = testWorld()): Promise<Desk> {
  const queue = await ApprovalQueue.open(world, folder, options)
  onTestFinished(() => queue[Symbol.asyncDispose]())
  const changes: QueueChange[] = []
  queue.subscribe((change) => changes.push(change))
  return {
    world: world as TestWorld,
    folder,
    queue,
    changes,
    nextHeld: () =>
      new Promise((resolve) => {
        const stop = queue.subscribe(({ kind, action }) => {
          if (kind !== 'held') return
          stop()
          resolve(action)
        })
      }),
  }
}

/** A call of a tool whose contract wants an approval. */
export function pay(args: JsonObject = { amount: 5 }, parts: ToolParts & Partial<GateQuestion> = {}): GateQuestion {
  const { remainingMs, presented, run, ...tool } = parts
  const question = toolQuestion('pay', { ...tool, arguments: args, contract: { requires_approval: true } })
  return {
    ...question,
    ...(run === undefined ? {} : { run }),
    remainingMs: remainingMs ?? 10 * 60_000,
    presented: presented ?? null,
  }
}

export function namesIn(folder: string, name: 'held' | 'settled'): readonly string[] {
  return readdirSync(join(folder, name)).sort()
}

export function settledIn(folder: string): readonly KeptEnd[] {
  return namesIn(folder, 'settled').map(
    (name) => readJson(readFileSync(join(folder, 'settled', name))) as unknown as KeptEnd,
  )
}
