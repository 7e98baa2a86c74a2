/**
 * A process that works for the runtime until it is killed. It takes one errand after the other: first the questions of those
 * who had asked a process before it, then work of its own, in which it ends itself at the write that it was told.
 */
import { openRuntime, type Runtime, type World } from '../../src/runtime/index.ts'
import { serve } from '../../src/runtime/serve.ts'
import { faultyWorld } from '../support/faulty-world.ts'
import { killingWorld } from '../support/killing-world.ts'
import type { Errand, FromChild, ToChild } from './messages.ts'
import { plannedModel } from './model.ts'
import { runLife } from './run-life.ts'
import { DOORS } from './scenarios.ts'
import { toolsLife } from './tools-life.ts'

export interface Life {
  readonly errand: Errand
  readonly world: World
  say(message: FromChild): void
  /** The next thing that the parent says. */
  heard(): Promise<ToChild>
}

const waiting: ((message: ToChild) => void)[] = []
const unheard: ToChild[] = []

function heard(): Promise<ToChild> {
  const next = unheard.shift()
  return next === undefined ? new Promise((resolve) => waiting.push(resolve)) : Promise.resolve(next)
}

function say(message: FromChild): void {
  process.send?.(message)
}

/** The worlds of a life: one that kills, one whose disk fails, and none but the real one afterwards. */
async function lead(errand: Errand): Promise<void> {
  const killing = killingWorld(errand.point, 'everything')
  const { failure } = errand
  const world = failure === null ? killing : faultyWorld(killing, [{ on: 'syncData', errno: 'EIO', ...failure }])
  const life: Life = { errand, world, say, heard }
  try {
    await { chat: chatLife, run: runLife, tools: toolsLife }[DOORS[errand.scenario]](life)
  } catch (error) {
    say({ failed: String(error) })
  }
  say({ ended: { writes: killing.done, syncs: killing.syncs, promised: killing.promised } })
}

/** A server, whose clients are in the other process. */
async function chatLife({ errand: { project, origin }, world, say, heard }: Life): Promise<void> {
  await using runtime: Runtime = await openRuntime({
    project,
    world,
    provider: plannedModel(origin),
    readyMade: { httpOrigins: [origin] },
  })
  const log = { write: () => undefined }
  await using service = await serve(runtime, { log, port: 0, rateLimit: null, legacyToken: 'child' })
  say({ serving: `${service.server.chatUrl}?token=child` })
  await heard()
  await service.close({ drainMs: 0 })
}

process.on('message', (message: ToChild) => {
  const next = waiting.shift()
  if (next === undefined) unheard.push(message)
  else next(message)
})
process.on('disconnect', () => process.exit(0))
for (;;) {
  const message = await heard()
  if ('errand' in message) await lead(message.errand)
}
